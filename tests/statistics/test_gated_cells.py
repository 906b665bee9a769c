from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Group
from lookaway.statistics.cells import gated_cells, mean_cells


def group(metric="measure", values=(), rollouts=(), *, asked=4, reasons=None, is_gate=False, model="m"):
    return Group(
        model=model,
        metric=metric,
        subset="human",
        values=np.array(values, np.float64),
        rollouts=tuple(rollouts),
        scenes=tuple(f"scene of {rollout}" for rollout in rollouts),
        raw_values=np.array(values, np.float64),
        asked=asked,
        failures=0,
        reasons=reasons or {},
        is_gate=is_gate,
    )


def gate(values=(), rollouts=(), **changes):
    return group("trigger", values, rollouts, is_gate=True, **changes)


def test_only_rollouts_that_were_put_to_the_test_count_and_the_others_are_told():
    (cell,) = gated_cells([group(values=[1.0, 0.5, 0.1, 0.2], rollouts="abcd"), gate([1, 1, 0, 0], "abcd")])
    assert cell.estimate.mean == 0.75
    assert cell.gated.coverage.mean == 0.5
    assert cell.gated.combined.mean == pytest.approx(0.6)
    assert cell.reasons == {"gate_closed": 2}
    assert cell.asked == 4


def test_a_judge_that_failed_is_no_closed_gate():
    judged = gate([1, 1, 0], "abc", reasons={"judge_failed": 1})
    (cell,) = gated_cells([group(values=[1.0, 0.5, 0.1, 0.2], rollouts="abcd"), judged])
    assert cell.gated.coverage.mean == pytest.approx(2 / 3)
    assert cell.estimate.mean == 0.75
    assert cell.reasons == {"gate_closed": 1, "gate judge_failed": 1}


def test_what_was_put_to_the_test_but_has_no_score_counts_in_the_coverage_and_is_listed():
    scored = group(values=[0.8], rollouts="a", asked=2, reasons={"no_target": 1})
    (cell,) = gated_cells([scored, gate([1, 1], "ab", asked=2)])
    assert cell.gated.coverage.mean == 1.0
    assert (cell.estimate.mean, cell.estimate.scored) == (0.8, 1)
    assert cell.reasons == {"no_target": 1}


def test_without_any_verdict_cells_are_plain_means():
    groups = [group(values=[1.0, 0.5], rollouts="ab"), gate(reasons={"no_judge": 4})]
    assert gated_cells(groups) == mean_cells(groups)[:1]
    assert gated_cells(groups[:1]) == mean_cells(groups[:1])


def test_a_gate_of_another_model_or_subset_decides_nothing():
    groups = [group(values=[1.0, 0.5], rollouts="ab"), gate([0, 0], "ab", model="other")]
    assert gated_cells(groups)[0].estimate.mean == 0.75
    assert gated_cells(groups)[0].gated is None
