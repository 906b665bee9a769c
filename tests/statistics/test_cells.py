from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lookaway.core import Group
from lookaway.statistics.cells import branch_notes, mean_cells


def group(values, *, raw_values=(), scenes=None, **counts) -> Group:
    return Group(
        model="model",
        metric="spatial_epipolar",
        subset="environment",
        values=np.array(values, np.float64),
        rollouts=tuple(f"rollout {number}" for number in range(len(values))),
        scenes=tuple(scenes or (str(number) for number in range(len(values)))),
        raw_values=np.array(raw_values, np.float64),
        has_raw=np.arange(len(values)) < len(raw_values),
        **{"asked": len(values), "failures": 0, "reasons": {}, **counts},
    )


def test_a_cell_shows_mean_support_and_what_is_missing():
    (cell,) = mean_cells([group([0.2, 0.6], raw_values=[1.5, 0.5], asked=5, failures=1, reasons={"too_short": 2})])
    assert (cell.estimate.mean, cell.raw_mean) == (pytest.approx(0.4), pytest.approx(1.0))
    assert (cell.scored, cell.asked, cell.failures, cell.reasons) == (2, 5, 1, {"too_short": 2})


def test_a_cell_in_which_nothing_could_be_scored_has_no_number():
    (cell,) = mean_cells([group([], asked=3, reasons={"missing_video": 3})])
    assert (cell.estimate, cell.raw_mean, cell.scored, cell.asked) == (None, None, 0, 3)


def test_cells_keep_the_order_of_groups():
    cells = mean_cells([group([0.9]), group([0.1])])
    assert [cell.estimate.mean for cell in cells] == [0.9, 0.1]


def test_a_gate_that_always_opened_may_still_close():
    (cell,) = mean_cells([replace(group([1.0] * 40), is_gate=True)])
    assert (cell.estimate.low, cell.estimate.high) == (pytest.approx(0.912, abs=1e-3), 1.0)


def test_a_mean_of_values_that_were_measured_in_two_ways_has_a_note_that_counts_both():
    mixed = replace(group([0.2, 0.6, 0.7]), branches={"homography": 2, "epipolar": 1})
    assert branch_notes([mixed, replace(group([1.0]), metric="light", branches={"fold": 1})]) == (
        "spatial_epipolar of environment is measured in several ways whose values are not comparable: "
        "model homography 2, epipolar 1.",
    )


def test_models_that_were_measured_in_different_ways_have_a_note_too():
    one, other = (
        replace(group([0.2]), model=model, branches={branch: 1})
        for model, branch in (("steady", "homography"), ("forgetful", "epipolar"))
    )
    (note,) = branch_notes([one, other])
    assert "steady homography 1; forgetful epipolar 1" in note
    assert branch_notes([one, one]) == ()
