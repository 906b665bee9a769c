"""The judges that come with this package, as their settings name them."""

from __future__ import annotations

from lookaway.core import JudgeUnusable
from lookaway.judges.local.judge import LocalJudge
from lookaway.judges.server import ServerJudge
from lookaway.judges.settings import JudgeSettings


def open_server(settings: JudgeSettings) -> ServerJudge:
    """A judge behind a server."""
    return ServerJudge(settings.connection)


def open_local(settings: JudgeSettings) -> LocalJudge:
    """A judge in this process."""
    if settings.folder is None:
        raise JudgeUnusable("A judge in this process needs the folder of a model; name it with --judge-model.")
    return LocalJudge(settings.folder, settings.compute)
