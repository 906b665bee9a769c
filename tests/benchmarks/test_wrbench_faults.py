from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.wrbench_faults import (
    RIGHT,
    OracleInProcess,
    bound_metrics,
    fault_of,
    measure,
    render,
    right_outcomes,
    rollouts,
)
from lookaway.core import Case, Rollout
from lookaway.judges.oracle import Noise
from lookaway.perception.truth import TruePoses
from lookaway.reports.wrbench.attribution import OUTCOMES, WRONG_PLACE, WRONG_STATE
from lookaway.suites.wrbench.probes import GATE, RETURNED
from lookaway.world.faults import FAULTS
from lookaway.world.recipe import PERFECT, ClipRecipe


def rollout(model: str, level: str) -> Rollout:
    case = Case(id=f"playroom_yaw_left_60_000__{level}__yaw_LR__yaw60_LR", subset="yaw", scene="playroom")
    return Rollout(case=case, model=model, video=Path("clip.mp4"))


def test_every_fault_has_outcomes_that_are_right():
    assert RIGHT.keys() == {PERFECT, *FAULTS}
    assert set().union(*RIGHT.values()) <= set(OUTCOMES)


def test_an_event_that_is_undone_is_wrong_in_place_only_where_it_moved():
    assert right_outcomes(rollout("state_reset-1.00", "T2_div_a")) == {WRONG_STATE}
    assert right_outcomes(rollout("state_reset-1.00", "T2_div_b")) == {WRONG_STATE, WRONG_PLACE}
    assert right_outcomes(rollout("teleport-1.00", "T2_div_b")) == {WRONG_PLACE}


def test_the_fault_is_read_from_the_name_of_the_model():
    assert fault_of(rollout("state_reset-1.00", "T0")) == "state_reset"
    assert fault_of(rollout(PERFECT, "T0")) == PERFECT


@pytest.mark.render
@pytest.mark.nightly
def test_in_one_scene_every_fault_is_attributed_rightly_with_true_poses(tmp_path):
    form = ClipRecipe(
        family="playroom", event="in_place", camera="yaw_left_60", seed=0, width=224, height=128, fps=8, seconds=5.0
    )
    render("playroom", tmp_path / "world", form, ["in_place"])
    judge, bounds = OracleInProcess.of(tmp_path / "world", Noise()), bound_metrics(TruePoses())
    found = {
        each.model: (measure(each, bounds, judge), right_outcomes(each))
        for each in rollouts(tmp_path / "world", tmp_path / "export")
    }
    assert {model: own.outcome for model, (own, right) in found.items() if own.outcome not in right} == {}
    assert found["camera_never_moves-1.00"][0].scores.keys().isdisjoint(RETURNED)
    assert judge.calls == sum(7 + 4 * int(own.scores[GATE]) for own, _ in found.values())
