from __future__ import annotations

import csv

import pytest

from lookaway.core import Score, Unit, UserError
from lookaway.reports.memobench.failures import CATEGORIES, RULES, failures, judge_failures
from tests.support.command import lookaway
from tests.support.memobench_runs import memobench_run

FINE = {
    "memobench.revisited": 1.0,
    "memobench.corrected.camera_controllability": 0.99,
    "memobench.corrected.ors": 0.8,
    "further.object_texture": 0.98,
    "memobench.corrected.vqa.continuity_of_memory": 1.0,
    "memobench.corrected.reappeared.ssim": 0.97,
}
PROBES = {
    "hidden_state.progress": 1.0,
    "visible_space.position_relation": 1.0,
    "visible_space.static_anchors": 1.0,
}
BAD = {
    "vanish": {"memobench.corrected.ors": 0.1},
    "identity": {"further.object_texture": 0.7},
    "state": {"probe_support/hidden_state.progress": 0.0},
    "teleport": {"probe_support/visible_space.position_relation": 0.1},
    "background": {"memobench.corrected.reappeared.ssim": 0.6},
    "camera": {"memobench.corrected.camera_controllability": 0.7},
}


def values(**changed):
    return {**FINE, **{f"probe_support/{name}": value for name, value in PROBES.items()}, **changed}


def found(scores):
    return {category for category, verdict in judge_failures(scores).items() if verdict.is_found}


def outcomes(scores):
    """Of one rollout, with the probes as units of one metric."""
    plain = {name: Score(value) for name, value in scores.items() if "/" not in name}
    units = tuple(Unit(name.partition("/")[2], Score(value)) for name, value in scores.items() if "/" in name)
    return {**plain, "probe_support": Score(0.5, units=units)} if units else plain


def test_every_category_has_a_rule_and_comes_after_those_that_it_excludes():
    assert {rule.category for rule in RULES} == set(CATEGORIES)
    order = list(dict.fromkeys(rule.category for rule in RULES))
    for rule in RULES:
        assert all(order.index(other) < order.index(rule.category) for other in rule.unless)


def test_a_video_without_a_bad_score_shows_no_failure():
    verdicts = judge_failures(values())
    assert {verdict.is_found for verdict in verdicts.values()} == {False}
    assert verdicts["vanish"].why == "memobench.corrected.ors 0.800 >= 0.3"


@pytest.mark.parametrize("category", CATEGORIES)
def test_each_category_is_found_by_its_own_score(category):
    assert found(values(**BAD[category])) == {category}


def test_a_video_may_show_several_failures():
    assert found(values(**BAD["identity"], **BAD["teleport"], **BAD["camera"])) == {"identity", "teleport", "camera"}


def test_a_target_that_is_gone_is_neither_another_one_nor_elsewhere():
    scores = values(**{name: value for category in CATEGORIES for name, value in BAD[category].items()})
    assert found(scores) == {"vanish", "camera"}


def test_moved_surroundings_are_found_beside_any_other_failure():
    assert found(values(**BAD["vanish"], **{"probe_support/visible_space.static_anchors": 0.0})) == {
        "vanish",
        "background",
    }


def test_a_category_without_a_score_is_not_known_and_names_what_it_needs():
    verdicts = judge_failures({"memobench.corrected.camera_controllability": 0.5})
    assert verdicts["camera"].is_found
    assert (verdicts["vanish"].is_found, verdicts["vanish"].why) == (None, "needs memobench.corrected.ors")


def test_a_bad_score_whose_other_explanation_is_not_known_decides_nothing():
    scores = values(**BAD["identity"])
    del scores["memobench.corrected.ors"]
    assert judge_failures(scores)["identity"].is_found is None


def test_a_video_that_never_looks_away_is_judged_by_its_camera_alone():
    scores = values(**BAD["camera"], **BAD["identity"], **{"memobench.revisited": 0.0})
    verdicts = judge_failures(scores)
    assert found(scores) == {"camera"}
    assert verdicts["vanish"].why == "never looked away"


def test_a_run_has_a_row_for_each_rollout_and_category(tmp_path):
    run = memobench_run(
        tmp_path,
        {
            ("alpha", "real/001"): outcomes(values(**BAD["state"])),
            ("alpha", "real/002"): outcomes(values()),
            ("beta", "real/001"): outcomes(values(**BAD["vanish"])),
        },
    )
    rows = failures(run)
    assert len(rows) == 3 * len(CATEGORIES)
    assert [(row.model, row.case, row.category) for row in rows if row.is_found] == [
        ("alpha", "real/001", "state"),
        ("beta", "real/001", "vanish"),
    ]


def test_the_command_counts_failures_of_each_model_and_names_missing_metrics(tmp_path):
    lacking = {name: value for name, value in values().items() if name != "further.object_texture"}
    run = memobench_run(
        tmp_path / "run",
        {("alpha", "real/001"): outcomes(lacking), ("alpha", "real/002"): outcomes({**lacking, **BAD["vanish"]})},
    )
    result = lookaway("memobench", "failures", run.path, "-o", tmp_path / "rows.csv")
    assert result.code == 0
    assert "1 of 2" in result.out
    assert "identity is not known for 2: needs further.object_texture." in result.out
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(CATEGORIES)
    assert {row["is_found"] for row in rows if row["category"] == "identity"} == {""}


def test_the_rules_are_printed_without_a_run():
    rules = lookaway("memobench", "failures", "--rules", "--json").json
    assert [rule["metric"] for rule in rules] == [rule.metric for rule in RULES]
    assert lookaway("memobench", "failures").code == 2


def test_a_run_of_another_suite_is_refused(tmp_path):
    run = memobench_run(tmp_path, {("alpha", "real/001"): outcomes(values())}, suite="mind")
    with pytest.raises(UserError, match="is a run of 'mind'"):
        failures(run)
