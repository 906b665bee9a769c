from __future__ import annotations

import csv
from itertools import product
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from lookaway.core import Abstention, Reason, Score, UserError
from lookaway.reports.charts.funnel import FULL, FunnelStep, funnel
from lookaway.reports.site.profile import attribution_funnels
from lookaway.reports.site.rendering import environment
from lookaway.reports.wrbench.attribution import (
    CAMERA,
    CORRECT,
    LOST,
    NEVER,
    OUTCOMES,
    RULES,
    UNKNOWN,
    UNREADABLE,
    WRONG_PLACE,
    WRONG_STATE,
    WRONG_WHILE_VISIBLE,
    attribute,
    attribution_notes,
    attributions,
    funnels,
    outcome_shares,
)
from lookaway.statistics.intervals import proportion
from tests.support.command import lookaway
from tests.support.wrbench_runs import attributed_run

FINE = {
    "wrbench.camera_alignment": 0.98,
    "wrbench.visual_integrity": 0.9,
    "wrbench.reobserved": 1.0,
    "wrbench.d3.visible_spatial": 0.95,
    "wrbench.d4.visible_state": 0.95,
    "wrbench.d5.returned_spatial": 0.95,
    "wrbench.d6.returned_state": 0.95,
}
RETURNED = ("wrbench.d5.returned_spatial", "wrbench.d6.returned_state")
CLOSED = dict.fromkeys(RETURNED, Reason.GATE_CLOSED.value)
BAD = {
    CAMERA: {"wrbench.camera_alignment": 0.03},
    UNREADABLE: {"wrbench.visual_integrity": 0.2},
    WRONG_WHILE_VISIBLE: {"wrbench.d4.visible_state": 0.1},
    NEVER: {"wrbench.reobserved": 0.0},
    WRONG_PLACE: {"wrbench.d5.returned_spatial": 0.1},
    WRONG_STATE: {"wrbench.d6.returned_state": 0.1},
    CORRECT: {},
}


def scores(*without: str, **changed):
    return {name: value for name, value in {**FINE, **changed}.items() if name not in without}


def never_back(**changed):
    return scores(*RETURNED, **{"wrbench.reobserved": 0.0}, **changed)


def test_every_outcome_but_correct_has_a_rule_and_rules_follow_those_they_exclude():
    assert {rule.category for rule in RULES} == set(OUTCOMES) - {CORRECT}
    order = [LOST, *dict.fromkeys(rule.category for rule in RULES)]
    for rule in RULES:
        assert all(order.index(other) < order.index(rule.category) for other in rule.unless)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_outcome_is_found_by_its_own_score(outcome):
    assert attribute(scores(**BAD[outcome]), {}).outcome == outcome


def test_of_several_failures_the_first_in_the_order_of_outcomes_counts():
    alone = [outcome for outcome in OUTCOMES if outcome not in (WRONG_WHILE_VISIBLE, CORRECT)]
    for first, second in product(alone, repeat=2):
        expected = min((first, second), key=list(OUTCOMES).index)
        assert attribute(scores(**{**BAD[first], **BAD[second]}), {}).outcome == expected


def test_a_wrong_return_explains_what_is_wrong_while_visible():
    for name in ("wrbench.d3.visible_spatial", "wrbench.d4.visible_state"):
        assert attribute(scores(**BAD[WRONG_PLACE], **{name: 0.1}), {}).outcome == WRONG_PLACE
        assert attribute(scores(**BAD[WRONG_STATE], **{name: 0.1}), {}).outcome == WRONG_STATE
        assert attribute(scores(**{name: 0.1}), {}).outcome == WRONG_WHILE_VISIBLE
        assert attribute(never_back(**{name: 0.1}), CLOSED, "no_oov").outcome == WRONG_WHILE_VISIBLE


def test_an_event_that_is_not_seen_to_its_end_because_nothing_comes_back_is_never_reobserved():
    for name in ("wrbench.d3.visible_spatial", "wrbench.d4.visible_state"):
        assert attribute(never_back(**{name: 0.1}), CLOSED, "no_return").outcome == NEVER


def test_a_closed_gate_is_never_reobserved_and_not_an_unknown_return():
    assert attribute(never_back(), CLOSED).outcome == NEVER


def test_the_why_is_the_comparison_that_decided():
    assert attribute(scores(**BAD[WRONG_PLACE]), {}).why == "wrbench.d5.returned_spatial 0.100 < 0.5"


@pytest.mark.parametrize("reason", [Reason.UNDECODABLE, Reason.EMPTY_FILE, Reason.NOT_A_VIDEO])
def test_a_file_that_cannot_be_decoded_is_unreadable(reason):
    assert attribute({}, dict.fromkeys(FINE, reason.value)).outcome == UNREADABLE


def test_a_missing_video_is_not_a_failure_of_the_model():
    assert attribute({}, dict.fromkeys(FINE, Reason.MISSING_VIDEO.value)).outcome == UNKNOWN


@pytest.mark.parametrize("name", ["wrbench.camera_alignment", "wrbench.visual_integrity"])
def test_what_no_weights_or_no_request_measure_is_passed_over(name):
    for reasons in ({}, {name: Reason.MISSING_WEIGHTS.value}, {name: Reason.NOT_APPLICABLE.value}):
        assert attribute(scores(name), reasons).outcome == CORRECT
    assert attribute(scores(name), {name: Reason.POSE_FAILED.value}).outcome == UNKNOWN


@pytest.mark.parametrize(
    "name", [name for name in FINE if name not in ("wrbench.camera_alignment", "wrbench.visual_integrity")]
)
def test_nothing_is_correct_without_the_answers_of_a_judge(name):
    for reasons in ({}, {name: Reason.NO_JUDGE.value}, {name: Reason.JUDGE_FAILED.value}):
        found = attribute(scores(name), reasons)
        assert (found.outcome, name in found.why) == (UNKNOWN, True)


def outcomes(values, reasons=None):
    closed = {name: Abstention(Reason(reason), "no") for name, reason in (reasons or {}).items()}
    return {**{name: Score(value) for name, value in values.items()}, **closed}


def small_run(path):
    return attributed_run(
        path,
        {
            ("alpha", "bed__T0__none__yaw60_LR"): outcomes(scores()),
            ("alpha", "bed__T1__none__yaw60_LR"): outcomes(never_back(), CLOSED),
            ("alpha", "desk__T1__none__yaw60_LR"): outcomes(scores(**BAD[CAMERA])),
            ("alpha", "desk__T0__none__yaw60_LR"): outcomes(scores("wrbench.reobserved")),
            ("<b>&", "bed__T0__none__yaw60_LR"): outcomes(scores(**BAD[WRONG_STATE])),
        },
    )


def test_a_run_has_one_outcome_for_each_rollout_and_shares_of_those_that_are_known(tmp_path):
    rows = attributions(small_run(tmp_path))
    assert [row.outcome for row in rows if row.model == "alpha"] == [CORRECT, NEVER, UNKNOWN, CAMERA]
    shares = {(own.model, own.outcome): own for own in outcome_shares(rows)}
    for model in ("alpha", "<b>&"):
        assert sum(shares[model, outcome].share.share for outcome in OUTCOMES) == pytest.approx(1)
    assert shares["alpha", CORRECT].share == proportion(1, 3)
    assert [round(shares["alpha", outcome].left, 3) for outcome in (CAMERA, UNREADABLE, NEVER, CORRECT)] == [
        1.0,
        0.667,
        0.667,
        0.333,
    ]


def test_what_is_never_reobserved_has_the_reason_of_the_gate_and_a_camera_that_should_hold_still_is_noted(tmp_path):
    gate = {"wrbench.reobserved": Score(0.0, detail={"reason": "no_return", "hidden_seconds": [1, 2]})}
    run = attributed_run(
        tmp_path,
        {
            ("alpha", "bed__T0__none__yaw60_LR"): {**outcomes(never_back(), CLOSED), **gate},
            ("alpha", "bed__T0__none__static"): outcomes(never_back(), CLOSED),
        },
    )
    rows = attributions(run)
    assert [row.why for row in rows] == ["wrbench.reobserved 0.000 < 0.5", "wrbench.reobserved 0.000 < 0.5, no_return"]
    assert list(attribution_notes(rows)) == ["note: 1 of those never re-observed were asked to hold the camera still."]


def test_a_model_whose_outcomes_are_all_unknown_has_no_shares(tmp_path):
    run = attributed_run(
        tmp_path,
        {("alpha", "bed__T0__none__static"): outcomes({})}
        | {("alpha", "bed__T1__none__static"): {"wrbench.reobserved": Abstention(Reason.NO_JUDGE, "none")}},
    )
    assert outcome_shares(attributions(run)) == []
    assert funnels(attributions(run)) == []


def test_the_funnel_is_well_formed_and_no_name_becomes_markup(tmp_path):
    charts = funnels(attributions(small_run(tmp_path)))
    assert len(charts) == 2
    for chart in charts:
        root = ElementTree.fromstring(str(chart.svg))
        assert root.tag == "svg"
        assert not list(root.iter("b"))
        assert [row[0] for row in chart.rows] == list(OUTCOMES)
    assert charts[1].summary == "33 % of 3 are correct."


def test_bands_of_a_funnel_are_as_high_as_their_shares():
    steps = [FunnelStep(label=name, share=proportion(hits, 4)) for name, hits in (("a", 1), ("b", 0), ("c", 3))]
    root = ElementTree.fromstring(str(funnel("of four", steps).svg))
    falls = [shape for shape in root.iter("path") if "lost" in shape.attrib["class"]]
    bands = [shape for shape in root.iter("path") if "lost" not in shape.attrib["class"]]
    assert len(falls) == 1
    heights = [max(y for _, y in corners(band)) - min(y for _, y in corners(band)) for band in bands]
    assert heights == pytest.approx([0.75 * FULL] * len(steps))


def corners(shape) -> list[tuple[float, float]]:
    text = shape.attrib["d"].removeprefix("M").removesuffix("z")
    return [tuple(float(number) for number in point.split()) for point in text.split("L")]


def test_the_command_prints_shares_and_says_what_is_not_known(tmp_path):
    run = small_run(tmp_path / "run")
    result = lookaway("wrbench", "attribution", run.path, "-o", tmp_path / "rows.csv")
    assert result.code == 0
    assert "the outcome is not known for 1: needs wrbench.reobserved." in result.out
    with (tmp_path / "rows.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 5
    found = lookaway("wrbench", "attribution", run.path, "--json").json
    assert {row["outcome"] for row in found["rollouts"]} == {CORRECT, NEVER, UNKNOWN, CAMERA, WRONG_STATE}


def test_the_rules_are_printed_without_a_run():
    rules = lookaway("wrbench", "attribution", "--rules", "--json").json
    assert {rule["metric"] for rule in rules} == {rule.metric for rule in RULES}
    assert lookaway("wrbench", "attribution").code == 2


def test_a_run_of_another_suite_is_refused(tmp_path):
    run = attributed_run(tmp_path, {("alpha", "bed"): outcomes(scores())}, suite="mind")
    with pytest.raises(UserError, match="is a run of 'mind'"):
        attributions(run)


def test_the_report_has_a_funnel_for_each_model_and_says_what_is_not_known(tmp_path):
    sections = attribution_funnels([SimpleNamespace(run=small_run(tmp_path), name="one")])
    template = environment().get_template("index/attribution.html.j2")
    page = template.render(anchor="wrbench-attribution", suite={"attribution": sections}, styles={})
    assert page.count('class="chart funnel"') == 2
    assert "the outcome is not known for 1" in page
    assert "<b>&" not in page
    assert template.render(anchor="x", suite={"attribution": []}, styles={}).strip() == ""
