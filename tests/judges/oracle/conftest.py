from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lookaway.core import Rollout
from lookaway.judges.oracle import OracleServer
from lookaway.suites.folder.layout import world_rollouts
from lookaway.world.grid import Grid
from tests.support.rendered import copy_clips
from tests.support.world import FORM

CASE: dict[str, Any] = {"families": ("playroom",), "events": ("both",), "seeds": (0,)}
FAULTS = ("vanish", "frozen_while_unseen", "camera_never_moves")


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One case, remembered and with three faults, and one case whose camera stands still."""
    root = tmp_path_factory.mktemp("oracle_world")
    faulty = Grid(**CASE, cameras=("yaw_right_60",), faults=FAULTS, severities=(1.0,))
    for grid in (faulty, Grid(**CASE, cameras=("static",))):
        copy_clips(grid.recipes(replace(FORM, width=128, height=74)), root)
    return root


@pytest.fixture(scope="session")
def rollouts(world: Path) -> dict[str, Rollout]:
    """By what was done wrong; the camera that was asked to stand still is `static`."""
    found, problems = world_rollouts(world)
    assert not problems
    return {"static" if "static" in each.case.id else each.model.partition("-")[0]: each for each in found}


@pytest.fixture(scope="session")
def oracle(world: Path) -> Iterator[OracleServer]:
    """An oracle of that world that makes no mistakes."""
    with OracleServer(world) as server:
        yield server
