"""People's verdicts on pairs. Published ones are not at hand: all pairs here are made up, with known answers."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from lookaway.core import UserError
from lookaway.reports.wrbench.pairs import JudgedPair, pair_report, read_pairs
from tests.support.command import lookaway

QUICK = {"draws": 20, "shuffles": 2}
HEAD = ("pair", "dimension", "rater", "verdict", "left", "right", "scene")


def write(path, rows, head=HEAD):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def row(**changes):
    fields = dict(zip(HEAD, ("p1", "D3", "ann", "1", "a/c1/0", "b/c1/0", "s1"), strict=True))
    return tuple({**fields, **changes}.values())


def pair(number, verdicts, scores=None, *, scene=None, models=("a", "b")):
    return JudgedPair(
        id=f"p{number}",
        left=f"{models[0]}/c{number}/0",
        right=f"{models[1]}/c{number}/0",
        scene=scene or f"s{number % 25:02d}",
        verdicts=dict(zip(("ann", "bob", "cid"), verdicts, strict=False)),
        scores=scores,
    )


def judged(pairs, reversals):
    """Pairs that people decide; the metric says the opposite on some, and sees a tie on every tenth."""
    found = []
    for number in range(pairs):
        verdict = 1 if number % 2 else -1
        size = 0.01 if number % 10 == 0 else 0.3
        sign = -verdict if number % 10 and number % 16 == 1 and reversals else verdict
        reversals -= sign != verdict
        found.append(pair(number, (verdict, verdict), (0.5 + sign * size, 0.5)))
    return found


@pytest.mark.parametrize(("pairs", "reversals"), [(228, 0), (229, 0), (136, 1), (136, 8)])
def test_reversals_are_opposite_verdicts_outside_the_tie_region(pairs, reversals):
    report = pair_report("D3", judged(pairs, reversals), tie_threshold=0.05, **QUICK)
    accuracy = report.metric.accuracy
    assert (accuracy.pairs, accuracy.reversals, report.metric.held_out) == (pairs, reversals, 0)
    assert accuracy.false_ties == len(range(0, pairs, 10))
    assert report.metric.strict_accuracy.mean == pytest.approx(1 - (reversals + accuracy.false_ties) / pairs)
    assert report.metric.tie_accuracy is None


def test_the_tie_region_is_chosen_on_scenes_that_do_not_count():
    found = []
    for number in range(200):
        verdict = (1, 0, -1, 0)[number % 4]
        noise = 0.04 if number % 8 < 4 else -0.04
        found.append(pair(number, (verdict, verdict), (0.5 + 0.4 * verdict + noise, 0.5)))
    report = pair_report("D2", found, **QUICK)
    assert report.metric.held_out + report.metric.accuracy.pairs == 200
    assert 80 <= report.metric.held_out <= 120
    assert 0.04 < report.metric.accuracy.tie_threshold < 0.36
    assert report.metric.accuracy.accuracy.mean == 1.0
    assert report.metric.kappa.estimate.mean == pytest.approx(1.0)


def test_pairs_of_one_scene_need_a_given_tie_region():
    found = [pair(n, (1, 1), (0.9, 0.1), scene="kitchen") for n in range(6)]
    with pytest.raises(UserError, match="All pairs are of the scene 'kitchen'"):
        pair_report("D2", found, **QUICK)
    assert pair_report("D2", found, tie_threshold=0.1, **QUICK).metric.accuracy.pairs == 6


def test_a_metric_without_a_relation_has_a_high_p():
    random = np.random.default_rng(3)
    found = [pair(n, (int(random.integers(-1, 2)),) * 2, (float(random.random()), 0.5)) for n in range(136)]
    report = pair_report("D6", found, tie_threshold=0.05, **QUICK)
    assert report.metric.test.p > 0.05
    assert abs(report.metric.accuracy.spearman.mean) < 0.2


def test_the_test_of_few_scenes_is_exact():
    found = [pair(n, (1, 1), (0.9, 0.1), scene=f"s{n}") for n in range(6)]
    test = pair_report("D6", found, tie_threshold=0.0, **QUICK).metric.test
    assert (test.p, test.flips, test.seed) == (2 / 2**6, 2**6, None)


def test_the_ceiling_is_one_rater_against_the_others():
    same = [pair(n, ((-1, 0, 1)[n % 3],) * 3, (0.6, 0.5)) for n in range(60)]
    assert pair_report("D3", same, tie_threshold=0.0, **QUICK).metric.ceiling == pytest.approx(1.0)
    noisy = [pair(n, ((-1, 0, 1)[n % 3], (1, 0, -1)[n % 4 % 3], (-1, 1)[n % 2]), (0.6, 0.5)) for n in range(60)]
    assert pair_report("D3", noisy, tie_threshold=0.0, **QUICK).metric.ceiling < 0.7
    alone = [pair(n, (1,), (0.6, 0.5)) for n in range(10)]
    assert pair_report("D3", alone, tie_threshold=0.0, **QUICK).metric.ceiling is None


def test_three_verdicts_bound_the_correlation_of_a_metric_without_ties():
    found = [pair(n, ((-1, 0, 1)[n % 3],) * 2, ((n % 3) / 3 + 0.001 * n, 0.5)) for n in range(90)]
    report = pair_report("D3", found, tie_threshold=0.05, **QUICK)
    assert report.metric.max_spearman == pytest.approx(0.943, abs=1e-3)
    assert report.metric.accuracy.spearman.mean == pytest.approx(report.metric.max_spearman)


def test_agreement_has_all_coefficients_beside_each_other():
    rows = [(1, 1)] * 40 + [(0, 0)] * 20 + [(-1, -1)] * 20 + [(1, 0)] * 10 + [(1, -1)] * 10
    report = pair_report("D3", [pair(n, verdicts) for n, verdicts in enumerate(rows)], **QUICK)
    # Margins: 60/20/20 and 40/30/30.
    assert report.nominal.raw.estimate.mean == pytest.approx(0.8)
    assert report.nominal.kappa.estimate.mean == pytest.approx((0.8 - 0.36) / 0.64)
    assert report.nominal.ac1.estimate.mean == pytest.approx((0.8 - 0.3125) / 0.6875)
    assert report.nominal.weighted_kappa.estimate.mean == pytest.approx(1 - 0.15 / 0.45)
    assert report.ordinal.weighted_kappa.estimate.mean == pytest.approx(1 - 0.125 / 0.355)
    assert report.nominal.alpha.estimate.mean == pytest.approx(1 - 0.2 / (0.625 * 200 / 199), abs=1e-9)
    assert report.ordinal.alpha.estimate.mean > 0.5
    assert report.metric is None


def test_pairs_that_most_cannot_judge_have_no_verdict():
    open_pairs = [pair(n, (1, 1), (0.9, 0.1)) for n in range(20)]
    closed = [pair(n, (None, None)) for n in range(20, 30)]
    split = [pair(30, (1, None), (0.9, 0.1))]
    report = pair_report("D6", [*open_pairs, *closed, *split], tie_threshold=0.1, **QUICK)
    assert report.metric.accuracy.pairs == 20
    assert report.judgeability.specific["no"].estimate.mean == pytest.approx(20 / 21)
    assert report.metric.judgeable.mean == 1.0
    assert report.metric.not_judgeable.mean == pytest.approx(10 / 11)
    assert pair_report("D6", open_pairs, tie_threshold=0.1, **QUICK).judgeability is None


def test_models_are_ranked_by_people_and_by_the_metric():
    order = ("a", "b", "c", "d")
    found = []
    for number in range(60):
        one, other = (order[place] for place in ((0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3))[number % 6])
        found.append(pair(number, (1, 1), (0.9, 0.5), models=(one, other)))
    models = pair_report("D3", found, tie_threshold=0.0, **QUICK).metric.models
    assert (models.spearman.value, models.is_exact, models.orders) == (pytest.approx(1.0), True, 24)
    assert models.spearman.p == pytest.approx(2 / 24)


def test_a_table_is_read_by_declared_columns_and_words(tmp_path):
    head = ("pair_id", "axis", "annotator", "choice", "A", "B", "family", "ok")
    rows = [
        ("p1", "D5", "ann", "a", "m/c1/0", "n/c1/0", "kitchen", "yes"),
        ("p1", "D5", "bob", "same", "m/c1/0", "n/c1/0", "kitchen", "yes"),
        ("p2", "D5", "ann", "", "m/c2/0", "n/c2/0", "kitchen", "no"),
    ]
    columns = dict(
        zip(("pair", "dimension", "rater", "verdict", "left", "right", "scene", "judgeable"), head, strict=True)
    )
    found = read_pairs(write(tmp_path / "pairs.csv", rows, head), columns, {"A": 1, "B": -1, "same": 0})
    first, second = found["D5"]
    assert first.verdicts == {"ann": 1, "bob": 0}
    assert (first.verdict, second.verdict, first.scene) == (0, None, "kitchen")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(verdict="better")], "verdict is 'better', expected one of 1, 0, -1"),
        ([row(scene="")], "scene is empty"),
        ([row(), row()], "the rater 'ann' has judged the pair 'p1' already"),
        ([row(), row(rater="bob", left="x/c1/0")], "the pair 'p1' has other videos"),
    ],
)
def test_a_table_that_is_wrong_is_refused(tmp_path, rows, message):
    with pytest.raises(UserError, match=message):
        read_pairs(write(tmp_path / "pairs.csv", rows))


def test_missing_and_unknown_columns_are_refused(tmp_path):
    path = write(tmp_path / "pairs.csv", [row()])
    with pytest.raises(UserError, match=r"the columns pair_id \(pair\) are missing"):
        read_pairs(path, {"pair": "pair_id"})
    with pytest.raises(UserError, match="There is no field 'winner'"):
        read_pairs(path, {"winner": "verdict"})
    with pytest.raises(UserError, match=r"left_score \(left_score\) are missing"):
        read_pairs(path, {"left_score": "left_score"})


def test_the_command_prints_agreement_and_reversals(tmp_path):
    head = (*HEAD, "left_score", "right_score")
    rows = [
        (
            f"p{n}",
            "D3",
            rater,
            1 if n % 2 else -1,
            f"a/c{n}/0",
            f"b/c{n}/0",
            f"s{n % 7}",
            0.2 if n < 3 else 0.5,
            0.5 - 0.1 * (n % 2),
        )
        for n in range(30)
        for rater in ("ann", "bob")
    ]
    path = write(tmp_path / "pairs.csv", rows, head)
    result = lookaway("wrbench", "pairs", path, "--tie-threshold", "0.01")
    assert (result.code, "reversals" in result.out, "AC1" in result.out) == (0, True, True)
    (report,) = json.loads(lookaway("wrbench", "pairs", path, "--tie-threshold", "0.01", "--json").out)
    assert report["metric"]["accuracy"]["reversals"] == 1
    assert report["nominal"]["ac1"]["estimate"]["mean"] == 1.0
    wrong = lookaway("wrbench", "pairs", path, "--verdict", "A=up")
    assert (wrong.code, "a verdict is one of left, tie, right" in wrong.err) == (2, True)
