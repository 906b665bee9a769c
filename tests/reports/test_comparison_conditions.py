from __future__ import annotations

from dataclasses import replace

import pytest

from lookaway.core import Estimate, UnknownName, UserError
from lookaway.reports.compare.comparison import Comparison, Dimension, NotCompared, Verdict
from lookaway.reports.compare.fail_conditions import check_conditions, parse_condition

APPEARANCE = Dimension(
    model="m",
    metric="bench.entity.appearance",
    subset="human",
    unit="score",
    higher_is_better=True,
    before=0.6,
    after=0.57,
    difference=Estimate(mean=-0.03, low=-0.05, high=-0.01, scored=40, scenes=20),
    p=0.01,
    q=0.02,
    detectable=0.02,
    pairs=40,
    only_before=0,
    only_after=0,
    verdict=Verdict.WORSE,
)
TEXTURE = replace(
    APPEARANCE,
    metric="bench.entity.texture",
    subset="object",
    difference=Estimate(mean=0.01, low=-0.03, high=0.05, scored=40, scenes=20),
    verdict=Verdict.NOT_SIGNIFICANT,
)
COMPARISON = Comparison(
    before="a",
    after="b",
    dimensions=(APPEARANCE, TEXTURE),
    worst=(),
    got_worse=0,
    not_compared=(),
    family=2,
    seed=0,
    notes=(),
)


def checked(text, comparison=COMPARISON):
    (check,) = check_conditions([parse_condition(text)], comparison)
    return check


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("entity < -0.02", ["bench.entity.appearance"]),
        ("entity < -0.03", []),
        ("entity <= -0.03", ["bench.entity.appearance"]),
        ("entity.low < -0.02", ["bench.entity.appearance", "bench.entity.texture"]),
        ("entity.high < 0", ["bench.entity.appearance"]),
        ("texture > 0", ["bench.entity.texture"]),
        ("texture >= 0.02", []),
        ("texture >= 0.01", ["bench.entity.texture"]),
        ("texture > 0.01", []),
        ("bench.entity.appearance<-2e-2", ["bench.entity.appearance"]),
        ("  human   <  0 ", ["bench.entity.appearance"]),
        ("object < 0", []),
        ("bench < 0", ["bench.entity.appearance"]),
    ],
)
def test_a_condition_is_met_by_exactly_these(text, met):
    check = checked(text)
    assert [entry.metric for entry in check.met] == met
    assert check.undecided == ()
    assert check.failed == bool(met)


def test_a_whole_name_is_meant_before_a_part_of_others():
    inner = replace(TEXTURE, metric="texture")
    check = checked("texture > 0", replace(COMPARISON, dimensions=(TEXTURE, inner)))
    assert [entry.metric for entry in check.met] == ["texture"]


def test_a_last_part_is_meant_before_a_group():
    inner = replace(TEXTURE, metric="bench.texture.fine")
    check = checked("texture > 0", replace(COMPARISON, dimensions=(TEXTURE, inner)))
    assert [entry.metric for entry in check.met] == ["bench.entity.texture"]


@pytest.mark.parametrize("dimension", [replace(APPEARANCE, difference=None), APPEARANCE])
def test_what_is_not_estimable_has_not_passed(dimension):
    blind = replace(dimension, verdict=Verdict.NOT_ESTIMABLE, why="3 cases have a score in both, fewer than 10")
    check = checked("appearance < -0.9", replace(COMPARISON, dimensions=(blind,)))
    assert (check.met, check.failed) == ((), True)
    assert check.undecided == ("bench.entity.appearance of human (m): 3 cases have a score in both, fewer than 10",)


def test_a_metric_whose_locks_differ_has_not_passed():
    left = NotCompared(metric="bench.entity.shape", why="the locks differ")
    check = checked("entity < -0.9", replace(COMPARISON, not_compared=(left,)))
    assert (check.failed, check.undecided) == (True, ("bench.entity.shape: the locks differ",))
    assert not checked("texture < -0.9", replace(COMPARISON, not_compared=(left,))).failed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "entity",
        "entity < ",
        "< 0.1",
        ".low < 0.1",
        "entity = 0.1",
        "entity == 0.1",
        "entity < 2%",
        "entity < nan",
        "entity < inf",
        "entity < 0.1 < 0.2",
        "entity < 0.1 or texture < 0.1",
        "entity << 0.1",
    ],
)
def test_what_is_no_condition_is_an_error_that_shows_it(text):
    with pytest.raises(UserError) as caught:
        parse_condition(text)
    assert repr(text) in str(caught.value)


def test_a_name_that_means_nothing_here_is_an_error_and_not_a_pass():
    with pytest.raises(UnknownName, match="Did you mean 'entity'"):
        checked("entty < -0.02")


@pytest.mark.parametrize(("change", "met"), [(0.0, False), (-0.03, True)])
def test_scenes_that_all_changed_by_the_same_amount_decide_without_an_interval(change, met):
    same = Estimate(mean=change, low=None, high=None, scored=40, scenes=20, scene_means=(change,))
    check = checked("texture.low < -0.02", replace(COMPARISON, dimensions=(replace(TEXTURE, difference=same),)))
    assert (check.failed, len(check.met), check.undecided) == (met, int(met), ())
    few = replace(TEXTURE, difference=replace(same, scenes=4))
    assert checked("texture.low < -0.02", replace(COMPARISON, dimensions=(few,))).undecided
