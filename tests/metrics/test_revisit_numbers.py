from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Abstention, Feature, Reason, Score
from lookaway.metrics.aligned_similarity import AlignedSsim
from lookaway.metrics.revisit_numbers import (
    CarriedArea,
    ChangedArea,
    CopiedPoints,
    LightChange,
    LookChange,
    MovedPoints,
    Remembered,
    Undone,
)
from tests.support.watching import rollout_of

ROLLOUT = rollout_of(Path("clip.mp4"))


def found(camera="turns", **arrays):
    clean = {
        "pairs": np.array([[2, 20], [1, 21], [0, 22]]),
        "compared": np.array([40.0, 50.0, 60.0]),
        "changed_area": np.zeros(3),
        "set_aside": np.zeros(3),
        "stops": np.zeros((3, 3)),
        "look": np.full(3, 0.8),
        "ssim": np.full(3, 0.97),
        "moved": np.zeros(3, np.int64),
        "copied": np.zeros(3, np.int64),
        "carried": np.zeros(2),
        "undone": np.zeros(2),
    }
    changed = {name: np.array(value, float) for name, value in arrays.items()}
    detail = {"rule": "revisited by turning", "aligned_by": ["points"] * 3, "camera": camera, "skipped_pairs": []}
    return {"changes": Feature(clean | changed, detail)}


def test_a_view_that_came_back_as_it_was_is_remembered():
    outcome = Remembered().measure(ROLLOUT, found())
    assert (outcome.value, outcome.detail["flagged"]) == (1.0, [])


@pytest.mark.parametrize(
    ("arrays", "flagged"),
    [
        ({"changed_area": [3.0, 2.0, 0.0]}, ["changed_area"]),
        ({"stops": [[1, 1, 1]] * 3}, ["light"]),
        ({"stops": [[-1, -1, -1]] * 3}, ["light"]),
        ({"look": [20, 20, 20], "changed_area": [90, 90, 90]}, ["changed_area", "look"]),
    ],
)
def test_a_view_that_came_back_otherwise_is_not_and_says_in_what(arrays, flagged):
    outcome = Remembered().measure(ROLLOUT, found(**arrays))
    assert (outcome.value, outcome.detail["flagged"]) == (0.0, flagged)


def test_one_odd_pair_of_three_decides_nothing():
    assert Remembered().measure(ROLLOUT, found(changed_area=[0, 9, 0])).value == 1
    assert ChangedArea().measure(ROLLOUT, found(changed_area=[0, 9, 0])).value == 0


@pytest.mark.parametrize(
    ("metric", "arrays", "value"),
    [
        (ChangedArea(), {"changed_area": [1, 5, 3]}, 3),
        (LightChange(), {"stops": [[0.3, -0.3, 0]] * 3}, 0.2),
        (LookChange(), {"look": [1, 2, 7]}, 2),
        (AlignedSsim(), {"ssim": [0.5, 0.6, 0.1]}, 0.5),
        (MovedPoints(), {"moved": [0, 4, 6]}, 4),
        (CopiedPoints(), {"copied": [0, 4, 6]}, 4),
    ],
)
def test_a_number_is_the_median_over_pairs_and_each_pair_is_a_unit(metric, arrays, value):
    outcome = metric.measure(ROLLOUT, found(**arrays))
    assert outcome.value == pytest.approx(value)
    assert [unit.name for unit in outcome.units] == ["f2_f20", "f1_f21", "f0_f22"]


@pytest.mark.parametrize("metric", [ChangedArea(), Remembered()])
def test_a_view_of_which_more_than_half_moves_by_itself_has_no_verdict(metric):
    assert isinstance(metric.measure(ROLLOUT, found(set_aside=[50, 50, 90])), Score)
    outcome = metric.measure(ROLLOUT, found(set_aside=[51, 60, 0]))
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.NOT_APPLICABLE
    assert "51 % of the revisited view" in outcome.message


def test_the_changed_area_tells_what_was_set_aside():
    assert ChangedArea().measure(ROLLOUT, found(set_aside=[1, 2.04, 0])).detail["set_aside"] == [1.0, 2.0, 0.0]


def test_a_carried_thing_is_a_hint_only_where_the_camera_turns():
    assert CarriedArea().measure(ROLLOUT, found(carried=[4.0, 0.6])) == Score(4.0, detail={"follows": 0.6})
    outcome = CarriedArea().measure(ROLLOUT, found("moves", carried=[4.0, 0.6]))
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.NOT_APPLICABLE


@pytest.mark.parametrize(("before", "after", "value"), [(4, 4, 0), (4, 0, 1), (4, 3, 0.25), (4, 9, 0)])
def test_undone_is_the_part_of_what_had_changed_that_is_as_at_first_again(before, after, value):
    assert Undone().measure(ROLLOUT, found(undone=[before, after])).value == value


@pytest.mark.parametrize("undone", [[0.2, 0.0], []])
def test_where_nothing_had_changed_or_nothing_is_known_nothing_can_be_undone(undone):
    outcome = Undone().measure(ROLLOUT, found(undone=undone))
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.NOT_APPLICABLE
