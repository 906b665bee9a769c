from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lookaway.core import Group, Table
from lookaway.statistics.cells import counted_groups, gated_cells, mean_cells, with_untested


def group(metric="measure", values=(), rollouts=(), **changes):
    return Group(
        metric=metric,
        subset="human",
        values=np.array(values, np.float64),
        rollouts=tuple(rollouts),
        scenes=tuple(f"scene of {rollout}" for rollout in rollouts),
        **{
            "model": "m",
            "raw_values": 10 * np.array(values, np.float64),
            "has_raw": np.ones(len(values), np.bool_),
            "asked": 4,
            "failures": 0,
            "reasons": {},
            "is_consistency": True,
            **changes,
        },
    )


def gate(values=(), rollouts=(), **changes):
    return group("trigger", values, rollouts, is_gate=True, **changes)


def test_only_rollouts_that_were_put_to_the_test_count_and_the_others_are_told():
    groups = [group(values=[1.0, 0.5, 0.1, 0.2], rollouts="abcd"), gate([1, 1, 0, 0], "abcd")]
    (cell,) = gated_cells(groups, combines=True)
    assert cell.estimate.mean == 0.75
    assert cell.gated.label == "triggered"
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


@pytest.mark.parametrize(
    ("unanswered", "told"),
    [
        ({"reasons": {"judge_failed": 4}}, {"gate judge_failed": 4}),
        ({"reasons": {"judge_refused": 3, "judge_failed": 1}}, {"gate judge_refused": 3, "gate judge_failed": 1}),
        ({"failures": 4}, {"gate failed": 4}),
        ({"reasons": {"not_yet_measured": 4}}, {"gate not_yet_measured": 4}),
        ({"reasons": {"no_judge": 3, "judge_refused": 1}}, {"gate no_judge": 3, "gate judge_refused": 1}),
    ],
)
def test_where_the_judge_answered_nobody_there_is_no_estimate_and_the_cell_says_why(unanswered, told):
    (cell,) = gated_cells([group(values=[1.0, 0.5], rollouts="ab", reasons={"no_target": 2}), gate(**unanswered)])
    assert (cell.estimate, cell.raw_mean, cell.scored, cell.asked) == (None, None, 0, 4)
    assert (cell.gated.coverage, cell.gated.combined) == (None, None)
    assert cell.reasons == {"no_target": 2, **told}


def test_what_the_gate_could_not_say_is_listed_where_nothing_has_a_score_too():
    (cell,) = gated_cells(
        [group(reasons={"judge_failed": 4}), gate([1, 0], "ab", failures=1, reasons={"too_short": 1})]
    )
    assert cell.reasons == {"judge_failed": 4, "gate failed": 1, "gate too_short": 1}


def test_raw_values_are_those_of_rollouts_that_passed_whichever_have_one():
    has_raw = np.array([False, True, True, True])
    scored = group(
        values=[1.0, 0.5, 0.1, 0.3], rollouts="abcd", has_raw=has_raw, raw_values=np.array([50.0, 10.0, 30.0])
    )
    (cell,) = gated_cells([scored, gate([1, 1, 0, 1], "abcd")])
    assert (cell.raw_mean, cell.scored) == (40.0, 3)
    (cell,) = gated_cells([scored, gate([1, 0, 0, 0], "abcd")])
    assert (cell.raw_mean, cell.scored) == (None, 1)


def test_without_a_judge_cells_are_plain_means():
    groups = [group(values=[1.0, 0.5], rollouts="ab"), gate(reasons={"no_judge": 4})]
    assert gated_cells(groups) == mean_cells(groups)[:1]
    assert gated_cells(groups[:1]) == mean_cells(groups[:1])


def test_a_gate_of_another_model_or_subset_decides_nothing():
    groups = [group(values=[1.0, 0.5], rollouts="ab"), gate([0, 0], "ab", model="other")]
    assert gated_cells(groups)[0].estimate.mean == 0.75
    assert gated_cells(groups)[0].gated is None


def test_a_gate_that_is_no_trigger_has_a_share_of_tested_rollouts_and_no_combined_number():
    (cell,) = gated_cells([group(values=[1.0, 0.5, 0.1, 0.2], rollouts="abcd"), gate([1, 1, 0, 0], "abcd")])
    assert (cell.estimate.mean, cell.gated.coverage.mean) == (0.75, 0.5)
    assert (cell.gated.combined, cell.gated.label) == (None, "tested")


def test_what_is_no_consistency_is_a_mean_over_all():
    plain = group(values=[1.0, 0.5], rollouts="ab", is_consistency=False)
    (cell,) = gated_cells([plain, gate([0, 0], "ab")])
    assert cell == mean_cells([plain])[0]
    assert not cell.is_untested


def test_a_model_that_tested_nothing_has_no_mean_and_is_known_as_untested():
    (cell,) = gated_cells([group(values=[1.0, 0.9], rollouts="ab", asked=2), gate([0, 0], "ab", asked=2)])
    assert (cell.estimate, cell.gated.coverage.mean, cell.reasons) == (None, 0.0, {"gate_closed": 2})
    assert cell.is_untested


def test_a_model_whose_gate_abstained_everywhere_is_not_known_to_be_untested():
    unknown = gate(asked=2, reasons={"pose_failed": 2})
    (cell,) = gated_cells([group(values=[1.0, 0.9], rollouts="ab", asked=2), unknown])
    assert (cell.estimate, cell.reasons, cell.is_untested) == (None, {"gate pose_failed": 2}, False)


def test_where_triggers_are_ignored_the_means_are_of_all_and_the_untested_are_counted():
    groups = [
        group(values=[1.0, 0.5, 0.3], rollouts="abc"),
        group("plain", values=[0.4], rollouts="a", is_consistency=False),
        gate([1, 0], "ab", reasons={"pose_failed": 1}, protocol="both"),
    ]
    table = with_untested(Table(suite="s", cells=gated_cells(groups[:2])), groups)
    consistency, plain = table.cells
    assert (consistency.estimate.mean, consistency.untested) == (pytest.approx(0.6), 2)
    assert (plain.estimate.mean, plain.untested) == (0.4, 0)
    assert "untested" in table.notes[0]


def test_nothing_is_noted_where_all_tested_memory():
    groups = [group(values=[1.0, 0.5], rollouts="ab"), gate([1, 1], "ab", protocol="both")]
    table = Table(suite="s", cells=gated_cells(groups[:1]))
    assert with_untested(table, groups) == table


def test_a_mean_of_untested_rollouts_alone_is_known_as_untested():
    groups = [group(values=[1.0], rollouts="a"), gate([0], "a", protocol="both")]
    (cell,) = with_untested(Table(suite="s", cells=gated_cells(groups[:1])), groups).cells
    assert cell.is_untested


@pytest.mark.parametrize("protocol", ["published", "both"])
def test_our_gate_decides_nothing_about_a_published_number_and_says_what_it_would_make_of_it(protocol):
    groups = [group(values=[1.0, 0.5, 0.3], rollouts="abc", protocol=protocol), gate([1, 0, 1], "abc")]
    (cell,) = gated_cells(groups)
    assert (cell.estimate.mean, cell.gated, cell.reasons) == (pytest.approx(0.6), None, {})
    assert (cell.tested.share.mean, cell.tested.estimate.mean) == (pytest.approx(2 / 3), pytest.approx(0.65))
    assert (cell.untested, cell.is_untested) == (1, False)
    corrected = replace(groups[0], protocol="corrected")
    (cell,) = gated_cells([corrected, groups[1]])
    assert (cell.estimate.mean, cell.tested) == (pytest.approx(0.65), None)


def test_a_published_share_of_triggered_rollouts_is_of_all_samples():
    undecided = gate([1, 1, 0], "abc", protocol="both", reasons={"judge_failed": 1})
    scored = group(values=[1.0, 0.5, 0.1, 0.2], rollouts="abcd", protocol="both")
    (cell,) = gated_cells([scored, undecided], combines=True)
    assert (cell.estimate.mean, cell.gated.coverage.mean) == (0.75, pytest.approx(2 / 4))
    assert cell.gated.combined.mean == pytest.approx(2 * 0.75 * 0.5 / (0.75 + 0.5))
    (cell,) = gated_cells([replace(scored, protocol="corrected"), undecided], combines=True)
    assert cell.gated.coverage.mean == pytest.approx(2 / 3)


def test_a_trigger_decides_about_the_numbers_of_its_own_publication():
    groups = [
        group(values=[1.0, 0.5], rollouts="ab", protocol="published"),
        gate([1, 0], "ab", protocol="published", asked=2),
    ]
    (cell,) = gated_cells(groups)
    assert (cell.estimate.mean, cell.gated.coverage.mean, cell.tested) == (1.0, 0.5, None)
    (cell,) = gated_cells([replace(groups[0], protocol="corrected"), groups[1]])
    assert (cell.estimate.mean, cell.gated) == (0.75, None)


def test_values_that_count_are_those_of_tested_rollouts():
    groups = [
        group(values=[1.0, 0.5], rollouts="ab"),
        group("plain", values=[0.4, 0.2], rollouts="ab", is_consistency=False),
        gate([1, 0], "ab"),
    ]
    counted = {key.metric: found.rollouts for key, found in counted_groups(groups, gated_cells(groups)).items()}
    assert counted == {"measure": ("a",), "plain": ("a", "b"), "trigger": ("a", "b")}
