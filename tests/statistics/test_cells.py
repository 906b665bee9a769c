from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lookaway.core import Group
from lookaway.statistics.cells import mean_cells


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
