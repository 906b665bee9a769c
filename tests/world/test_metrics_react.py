"""What each fault says of the measurements that exist, held against what they say of it."""

from __future__ import annotations

import pytest

import lookaway
from lookaway.world.exports import export_world
from lookaway.world.faults import FAULTS
from lookaway.world.grid import Grid
from lookaway.world.recipe import ClipRecipe
from tests.support.rendered import copy_clips
from tests.support.runs import plain_means

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.render,  # all clips are measured before the first test
    pytest.mark.nightly,  # all faults; `test_revisit` and `test_gate_on_a_world` render some of them before a merge
]

MIN_REACTION, MAX_REACTION = 0.15, 0.06


@pytest.fixture(scope="module")
def scores(tmp_path_factory) -> dict[tuple[str, str], float]:
    """Score of each model, which is a fault at full severity, in each measurement."""
    root = tmp_path_factory.mktemp("reactions")
    grid = Grid(
        families=("playroom",), events=("none", "in_place"), cameras=("yaw_left_60",), seeds=(0,),
        faults=tuple(FAULTS), severities=(1.0,),
    )  # fmt: skip
    copy_clips(grid.recipes(ClipRecipe(family="", event="none", camera="", seed=0, fps=6)), root / "world")
    export_world(root / "world", "mbench-a", root / "dataset")
    run = lookaway.evaluate(root / "dataset", root / "run", protocol="corrected")
    return {
        (model.removesuffix("-1.00"), metric.rpartition(".")[2]): mean
        for (model, metric), mean in plain_means(run).items()
    }


@pytest.mark.parametrize(("fault", "metric"), [(f.name, metric) for f in FAULTS.values() for metric in f.moves])
def test_a_measurement_that_must_react_to_a_fault_does(fault, metric, scores):
    assert scores[fault, metric] < scores["perfect", metric] - MIN_REACTION


@pytest.mark.parametrize(("fault", "metric"), [(f.name, metric) for f in FAULTS.values() for metric in f.spares])
def test_a_measurement_that_must_not_react_to_a_fault_does_not(fault, metric, scores):
    assert abs(scores[fault, metric] - scores["perfect", metric]) < MAX_REACTION
