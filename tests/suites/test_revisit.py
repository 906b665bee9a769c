"""The suite `revisit` on clips of the simulated world, from pixels and tracked poses; second tier, since it renders."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lookaway.core import Abstention, Feature, Reason, Score, Unmeasurable
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.engine.reading import load_suite, read
from lookaway.engine.worker import why_not_applicable
from lookaway.world.grid import Grid, with_fault
from tests.support.rendered import copy_clips
from tests.support.world import FORM

FAULTS = (
    "vanish",
    "identity_colour",
    "teleport",
    "lighting_shift",
    "camera_drift",
    "temporal_cut",
    "camera_never_moves",
)
SHAPE = replace(FORM, width=368, height=208, fps=10, seconds=3.0, wait=1.0)

pytestmark = pytest.mark.merge


def measured(rollout):
    """Every outcome of the suite on one rollout."""
    bounds = load_suite("revisit").metrics({})
    wanted = [bound for bound in bounds if why_not_applicable(bound, rollout) is None]
    recipes = [recipe for bound in wanted for recipe in bound.recipes.values()]
    features = FeatureJob(Extractors(None), rollout, "content", recipes).run()
    outcomes = {bound.name: why_not_applicable(bound, rollout) for bound in bounds}
    for bound in wanted:
        needed = {name: features[recipe] for name, recipe in bound.recipes.items()}
        missing = [feature for feature in needed.values() if not isinstance(feature, Feature)]
        if missing:
            assert isinstance(missing[0], Unmeasurable), missing[0]
            outcomes[bound.name] = Abstention(missing[0].reason, str(missing[0]))
        else:
            outcomes[bound.name] = bound.metric.measure(rollout, needed)
    return outcomes


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    grid = Grid(
        families=("kitchen",), events=("none",), cameras=("yaw_left_60",), seeds=(3,), faults=FAULTS, severities=(1.0,),
        actors=("frozen",),
    )  # fmt: skip
    root = tmp_path_factory.mktemp("world")
    clean, *others = grid.recipes(SHAPE)
    copy_clips([clean, *others, with_fault(clean, "style_shift", 0.5)], root)
    return {rollout.model: measured(rollout) for rollout in read(root, suite="revisit").rollouts}


def test_a_clean_return_is_remembered(outcomes):
    clean = outcomes["perfect"]
    assert clean["remembered"].value == 1
    assert clean["changed_area"].value == 0
    assert clean["return_error"].value < 0.5
    assert clean["reach_missing"].value < 5
    assert clean["cut"].value < 1.6
    assert clean["carried"].value == 0


@pytest.mark.parametrize(
    ("fault", "number", "limit"),
    [
        ("vanish-1.00", "changed_area", 0.5),
        ("identity_colour-1.00", "changed_area", 0.5),
        ("teleport-1.00", "changed_area", 0.5),
        ("lighting_shift-1.00", "light", 0.15),
        ("style_shift-0.50", "look", 5.0),
        ("camera_drift-1.00", "return_error", 0.5),
        ("temporal_cut-1.00", "cut", 1.6),
    ],
)
def test_a_fault_raises_the_number_that_is_there_to_find_it(outcomes, fault, number, limit):
    outcome = outcomes[fault][number]
    assert isinstance(outcome, Score), outcome
    assert outcome.value > limit


@pytest.mark.parametrize(
    "fault", ["vanish-1.00", "identity_colour-1.00", "teleport-1.00", "lighting_shift-1.00", "style_shift-0.50"]
)
def test_a_place_that_came_back_otherwise_is_not_remembered(outcomes, fault):
    assert outcomes[fault]["remembered"].value == 0


@pytest.mark.parametrize("model", ["frozen", "camera_never_moves-1.00"])
def test_a_video_whose_camera_never_leaves_has_no_memory_score(outcomes, model):
    for name in ("remembered", "changed_area", "light", "look", "aligned_ssim"):
        outcome = outcomes[model][name]
        assert isinstance(outcome, Abstention), (name, outcome)
        assert outcome.reason is Reason.GATE_CLOSED


def test_a_camera_that_never_moves_misses_the_whole_request(outcomes):
    assert outcomes["camera_never_moves-1.00"]["reach_missing"].value == pytest.approx(100, abs=1)
