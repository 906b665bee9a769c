"""How Ray is started for the work, without starting it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lookaway.core import UserError
from lookaway.engine.on_ray import cluster


class SlowRay:
    """Ray on a machine so busy that it gives up on itself some times."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.calls: list[str] = []

    def is_initialized(self) -> bool:
        return False

    def init(self, **options: Any) -> SimpleNamespace:
        self.calls.append("init")
        if self.calls.count("init") <= self.failures:
            raise Exception("The current node timed out during startup.")  # a bare one, as Ray does
        return SimpleNamespace(dashboard_url=None)

    def shutdown(self) -> None:
        self.calls.append("shutdown")


def start(monkeypatch: pytest.MonkeyPatch, failures: int, address: str | None = None) -> SlowRay:
    ray = SlowRay(failures)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(cluster, "_load", lambda: ray)
    with cluster.connect(address, cores=1):
        ray.calls.append("work")
    return ray


def test_ray_that_gives_up_while_starting_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = start(monkeypatch, 2)
    assert ray.calls == ["init", "shutdown", "init", "shutdown", "init", "work", "shutdown"]


def test_ray_that_never_starts_is_an_error_that_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"Cannot connect to Ray on this machine: The current node timed out"):
        start(monkeypatch, cluster.STARTS)


def test_a_cluster_of_others_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="Cannot connect to the Ray cluster at there"):
        start(monkeypatch, 1, "there")
