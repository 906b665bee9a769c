"""The judges that come with this package, as their settings name them."""

from __future__ import annotations

from lookaway.judges.server import ServerJudge
from lookaway.judges.settings import JudgeSettings


def open_server(settings: JudgeSettings) -> ServerJudge:
    """A judge behind a server."""
    return ServerJudge(settings.connection)
