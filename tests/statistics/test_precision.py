from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lookaway.core import Estimate
from lookaway.statistics.intervals import effective_size
from lookaway.statistics.precision import Mark, Precision, precision
from lookaway.statistics.scene_bootstrap import ValueColumns, named_scene_sums, scene_sums


def estimate(half_width: float | None, scored: int = 100) -> Estimate:
    low, high = (None, None) if half_width is None else (0.5 - half_width, 0.5 + half_width)
    return Estimate(mean=0.5, low=low, high=high, scored=scored, scenes=20)


def size_of(values, scenes) -> tuple[float, float]:
    found = effective_size(named_scene_sums(np.asarray(values, np.float64), [str(scene) for scene in scenes]))
    return float(found.size), float(found.similarity)


@pytest.mark.parametrize(
    ("scored", "effective", "half_width", "mark"),
    [
        (100, 60.0, 0.05, Mark.NONE),
        (100, 60.0, 0.0999, Mark.NONE),
        (100, 60.0, 0.1001, Mark.IMPRECISE),
        (100, 30.0, 0.05, Mark.NONE),
        (100, 29.9, 0.05, Mark.IMPRECISE),
        (10, 60.0, 0.05, Mark.NONE),
        (10, 10.0, 0.05, Mark.IMPRECISE),
        (9, 60.0, 0.0, Mark.NOT_ESTIMABLE),
        (100, 60.0, None, Mark.IMPRECISE),
    ],
)
def test_marks_go_by_precision_and_not_by_a_share(scored, effective, half_width, mark):
    found = precision(estimate(half_width, scored), effective)
    assert found.mark is mark
    assert found.is_estimable is (mark is not Mark.NOT_ESTIMABLE)
    assert (found.scored, found.effective) == (scored, effective)
    assert found.half_width == (None if half_width is None else pytest.approx(half_width))


def test_nothing_is_not_estimable():
    expected = Precision(mark=Mark.NOT_ESTIMABLE, scored=0, effective=0.0, half_width=None)
    assert precision(None, 0.0) == expected


def test_a_metric_in_degrees_may_be_wider_and_one_without_ends_has_no_width_to_judge():
    wide = estimate(12.0)
    assert precision(wide, 60.0).mark is Mark.IMPRECISE
    assert precision(wide, 60.0, span=180.0).mark is Mark.NONE
    assert precision(wide, 60.0, span=100.0).mark is Mark.IMPRECISE
    assert precision(wide, 60.0, span=None).mark is Mark.NONE
    assert precision(wide, 20.0, span=None).mark is Mark.IMPRECISE


def test_the_marks_are_those_of_the_tables():
    assert [mark.value for mark in Mark] == ["", "†", "‡"]


def test_rollouts_that_say_the_same_in_each_scene_are_worth_one_a_scene():
    assert size_of([0.1, 0.1, 0.4, 0.4, 0.9, 0.9], "aabbcc") == pytest.approx((3.0, 1.0))


def test_one_rollout_a_scene_is_worth_itself():
    assert size_of([0.1, 0.4, 0.9], "abc") == (3.0, 0.0)


def test_scenes_that_do_not_differ_leave_all_rollouts_their_worth():
    assert size_of([0.1, 0.9, 0.9, 0.1, 0.1, 0.9], "aabbcc") == (6.0, 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_likeness_is_that_of_the_f_test_of_scipy_where_scenes_are_equal(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, (9, 4)) + rng.normal(0, 1, (9, 1))
    f = stats.f_oneway(*values).statistic
    similarity = (f - 1) / (f - 1 + 4)
    assert size_of(values.ravel(), np.repeat(np.arange(9), 4)) == pytest.approx(
        (36 / (1 + 3 * similarity), similarity), abs=1e-8
    )


def test_scenes_of_unequal_size_have_the_likeness_of_a_hand_computation():
    values, scenes = [1.0, 2.0, 3.0, 5.0, 6.0, 9.0], "aaabbc"
    between = (3 * (2 - 13 / 3) ** 2 + 2 * (5.5 - 13 / 3) ** 2 + (9 - 13 / 3) ** 2) / 2
    within = (1 + 0 + 1 + 0.25 + 0.25) / 3
    usual = (6 - (9 + 4 + 1) / 6) / 2
    similarity = (between - within) / (between + (usual - 1) * within)
    assert size_of(values, scenes) == pytest.approx((6 / (1 + (2 - 1) * similarity), similarity), abs=1e-12)


def test_the_size_is_that_which_gives_the_error_of_the_mean():
    rng = np.random.default_rng(1)
    scenes = np.repeat(np.arange(2_000), 5)
    values = rng.normal(0, 1, 10_000) + rng.normal(0, 1, 2_000)[scenes]
    size, similarity = size_of(values, scenes)
    assert similarity == pytest.approx(0.5, abs=0.03)
    assert size == pytest.approx(10_000 / 3, rel=0.03)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6])
def test_equal_values_are_no_more_alike_in_a_scene_than_elsewhere(constant):
    assert size_of([constant] * 7, "aaabbcc") == (7.0, 0.0)


def test_one_scene_is_worth_one_rollout_whatever_it_holds():
    assert size_of([0.1, 0.9, 0.3], "aaa") == (1.0, 1.0)
    assert size_of([0.4, 0.4], "aa") == (1.0, 1.0)
    assert size_of([0.4], "a") == (1.0, 0.0)


def test_nothing_is_worth_nothing():
    assert size_of([], "") == (0.0, 0.0)


@pytest.mark.parametrize("change", [lambda v: -v, lambda v: 3 * v, lambda v: v + 5])
def test_sign_unit_and_a_constant_do_not_matter(change):
    rng = np.random.default_rng(2)
    scenes = rng.integers(8, size=50)
    values = rng.normal(0, 1, 50) + rng.normal(0, 1, 8)[scenes]
    assert size_of(change(values), scenes) == pytest.approx(size_of(values, scenes), abs=1e-9)


def test_many_models_and_metrics_at_once_have_the_sizes_of_each_alone():
    rng = np.random.default_rng(5)
    rows = ValueColumns(
        models=rng.integers(2, size=300),
        metrics=rng.integers(3, size=300),
        scenes=rng.integers(12, size=300),
        values=rng.normal(0, 1, 300),
    )
    found = effective_size(scene_sums(rows, (3, 3, 12)))
    for model, metric in np.ndindex(2, 3):
        own = (rows.models == model) & (rows.metrics == metric)
        alone = size_of(rows.values[own], rows.scenes[own])
        assert (found.size[model, metric], found.similarity[model, metric]) == pytest.approx(alone, abs=1e-12)
    assert found.size[2].tolist() == [0.0] * 3
