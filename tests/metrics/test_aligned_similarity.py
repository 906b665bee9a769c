from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Abstention, Feature, Reason, Score
from lookaway.metrics.aligned_similarity import AlignedDino, AlignedLpips, DinoLift, LpipsLift, SsimLift
from tests.support.watching import rollout_of

ROLLOUT = rollout_of(Path("clip.mp4"))
LIFTS = [
    (SsimLift(), "changes", ("ssim", "control_ssim"), 0.2, 0.9),
    (LpipsLift(), "revisit_lpips", ("distances", "control_distances"), 0.6, 0.1),
    (DinoLift(), "revisit_tokens", ("distances", "control_distances"), 0.4, 0.05),
]


def found(values, controls, names=("distances", "control_distances"), rows=(0, 1, 2)):
    return Feature(
        {
            "pairs": np.array([[2, 20], [1, 21], [0, 22]]),
            "compared": np.array([40.0, 50.0, 60.0]),
            names[0]: np.array(values, float),
            names[1]: np.array(controls, float).reshape(-1, 2),
            "controls": np.array([[row, 9, 3] for row in rows], np.int64).reshape(-1, 3),
        },
        {"rule": "revisited by turning", "aligned_by": ["points"] * 3, "skipped_pairs": []},
    )


def measured(metric, feature):
    return metric.measure(ROLLOUT, {metric.needs[0]: feature})


@pytest.mark.parametrize(("metric", "feature", "names", "floor", "ceiling"), LIFTS)
@pytest.mark.parametrize("share", [0.0, 0.25, 1.0, 1.1])
def test_lift_is_where_a_pair_lies_between_floor_and_ceiling(metric, feature, names, floor, ceiling, share):
    value = floor + share * (ceiling - floor)
    outcome = metric.measure(ROLLOUT, {feature: found([value] * 3, [[floor, ceiling]] * 3, names)})
    assert outcome.value == pytest.approx(share)
    assert outcome.units[0].outcome.detail == {"floor": floor, "ceiling": ceiling}


def test_lift_does_not_change_with_the_scale_of_all_distances():
    plain = measured(LpipsLift(), found([0.3, 0.4, 0.5], [[0.6, 0.1]] * 3))
    blurred = measured(LpipsLift(), found([0.15, 0.2, 0.25], [[0.3, 0.05]] * 3))
    assert plain.value == pytest.approx(blurred.value) == pytest.approx(0.4)


def test_a_pair_without_controls_is_a_unit_without_a_score():
    outcome = measured(LpipsLift(), found([0.1, 0.35, 0.6], [[0.6, 0.1]] * 2, rows=(0, 1)))
    assert outcome.value == pytest.approx(0.75)
    assert [type(unit.outcome) for unit in outcome.units] == [Score, Score, Abstention]


@pytest.mark.parametrize(
    ("controls", "rows", "said"),
    [([[0.6, 0.57]] * 3, (0, 1, 2), "floor 0.600"), ([[0.1, 0.6]] * 3, (0, 1, 2), "floor 0.100"), ([], (), "no frame")],
)
def test_where_similarity_tells_nothing_there_is_no_lift(controls, rows, said):
    outcome = measured(LpipsLift(), found([0.3] * 3, controls, rows=rows))
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.NOT_APPLICABLE
    assert said in outcome.message


def test_distances_are_medians_over_pairs():
    assert measured(AlignedLpips(), found([0.1, 0.4, 0.3], [], rows=())).value == pytest.approx(0.3)
    assert measured(AlignedDino(), found([0.1, 0.4, 0.3], [], rows=())).value == pytest.approx(0.7)
