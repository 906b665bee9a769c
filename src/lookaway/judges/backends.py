"""The built-in judge backends, as the settings name them."""

from __future__ import annotations

from lookaway.core import JudgeUnusable
from lookaway.judges.local.judge import LocalJudge
from lookaway.judges.server import DEFAULT_URL, ServerJudge
from lookaway.judges.settings import JudgeSettings


def open_server(settings: JudgeSettings) -> ServerJudge:
    """A judge behind a server."""
    connection = settings.connection
    if connection.url == DEFAULT_URL and not connection.key:
        raise JudgeUnusable(
            f"No key for the judge {settings.model.model!r} at {DEFAULT_URL}, which needs one. Set "
            "LOOKAWAY_JUDGE_KEY, or name another server with --judge-url."
        )
    return ServerJudge(connection)


def open_local(settings: JudgeSettings) -> LocalJudge:
    """A model in this process."""
    if settings.folder is None:
        raise JudgeUnusable("A local judge needs the folder of a model. Name it with --judge-model.")
    return LocalJudge(settings.folder, settings.compute)
