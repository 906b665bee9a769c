from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from lookaway.core import Estimate
from lookaway.statistics import scene_bootstrap as scene_bootstrap_module
from lookaway.statistics.intervals import influence_estimate, mean_estimates, scene_mean
from lookaway.statistics.scene_bootstrap import (
    SceneSums,
    ValueColumns,
    named_scene_sums,
    poisson_weights,
    scene_bootstrap,
    scene_sums,
    scene_weights,
)

VALUES = np.array([0.31, 0.42, 0.77, 0.12, 0.93, 0.55, 0.48, 0.66, 0.29, 0.84])
SCENES = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 3])


def table(rows: int = 4_000, *, scenes: int = 60, seed: int = 0) -> ValueColumns:
    rng = np.random.default_rng(seed)
    places = rng.integers(scenes, size=rows)
    return ValueColumns(
        models=rng.integers(3, size=rows),
        metrics=rng.integers(2, size=rows),
        scenes=places,
        values=rng.gamma(2.0, 0.2, rows) + rng.normal(0, 0.2, scenes)[places],
    )


def one_series(values, scenes, **options) -> Estimate | None:
    return mean_estimates([named_scene_sums(np.asarray(values), [str(scene) for scene in scenes])], **options)[0]


def cells(sums: SceneSums) -> list[SceneSums]:
    return [sums.of(*place) for place in np.ndindex(sums.sums.shape[:-1])]


def by_hand(values, scenes) -> tuple[float, float]:
    """The t interval, scene by scene."""
    groups, residuals = sorted(set(scenes)), values - values.mean()
    meat = sum(residuals[np.asarray(scenes) == scene].sum() ** 2 for scene in groups)
    error = np.sqrt(len(groups) / (len(groups) - 1) * meat) / len(values)
    reach = stats.t.ppf(0.975, len(groups) - 1) * error
    return values.mean() - reach, values.mean() + reach


def test_sums_are_those_of_a_loop_over_rows():
    rows = table(200, scenes=5)
    sums = scene_sums(rows, (3, 2, 6))
    for model, metric, scene in np.ndindex(3, 2, 6):
        own = rows.values[(rows.models == model) & (rows.metrics == metric) & (rows.scenes == scene)]
        assert sums.counts[model, metric, scene] == len(own)
        assert sums.sums[model, metric, scene] == pytest.approx(own.sum(), abs=1e-12)
        expected = np.sum((own - own.mean()) ** 2) if len(own) else 0.0
        assert sums.squares[model, metric, scene] == pytest.approx(expected, abs=1e-12)
    assert sums.scenes.tolist() == [[5, 5]] * 3
    assert np.array_equal(sums.of(slice(None), 1).sums, sums.sums[:, 1])


def test_squares_of_large_numbers_that_hardly_differ_are_not_lost():
    sums = named_scene_sums(1e8 + np.array([0.0, 1.0, 2.0]), ["a", "a", "a"])
    assert sums.squares.tolist() == [pytest.approx(2.0)]


@pytest.mark.parametrize("column", ["models", "metrics", "scenes"])
@pytest.mark.parametrize("number", [-1, 6])
def test_a_number_of_no_model_metric_or_scene_is_refused(column, number):
    rows = table(10, scenes=5)
    codes = getattr(rows, column).copy()
    codes[3] = number
    with pytest.raises(ValueError, match=r"inside \(6, 6, 6\)"):
        scene_sums(replace(rows, **{column: codes}), (6, 6, 6))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="finite"):
        named_scene_sums(np.array([0.5, value]), ["a", "b"])


def test_with_few_scenes_every_cell_has_the_t_interval_of_its_residuals():
    rows = table(300, scenes=9)
    found = mean_estimates(cells(scene_sums(rows, (3, 2, 9))))
    for cell, (model, metric) in zip(found, np.ndindex(3, 2), strict=True):
        own = (rows.models == model) & (rows.metrics == metric)
        values, scenes = rows.values[own], rows.scenes[own]
        assert (cell.scored, cell.scenes) == (own.sum(), len(set(scenes)))
        assert cell.mean == pytest.approx(values.mean(), abs=1e-12)
        assert (cell.low, cell.high) == pytest.approx(by_hand(values, scenes), abs=1e-12)


def test_the_t_interval_is_the_clustered_one_of_statsmodels():
    # OLS on a constant with cov_type="cluster", statsmodels 0.15.0, for four scenes; t with 3 degrees of freedom
    influences = np.array([np.sum(VALUES[scene == SCENES] - VALUES.mean()) for scene in range(4)]) / len(VALUES)
    reach = (0.5984357775658548 - 0.47556422243414515) / 2
    assert np.sqrt(4 / 3 * np.sum(influences**2)) * 3.182446305284263 == pytest.approx(reach, abs=1e-10)
    twice = influence_estimate(VALUES.mean(), np.tile(influences, 2) / 2, scored=20)
    assert twice.high - twice.mean == pytest.approx(reach * np.sqrt(3 / 7) * 2.364624251592784 / 3.182446305284263)


def test_statsmodels_still_says_so():
    models = pytest.importorskip("statsmodels.api", reason="statsmodels, a library to compare with, is not installed")
    rng = np.random.default_rng(4)
    scenes = rng.integers(12, size=90)
    values = rng.normal(0.5, 0.1, 90) + rng.normal(0, 0.2, 12)[scenes]
    fit = models.OLS(values, np.ones(90)).fit(cov_type="cluster", cov_kwds={"groups": scenes}, use_t=True)
    estimate = one_series(values, scenes)
    assert [estimate.low, estimate.high] == pytest.approx(fit.conf_int()[0].tolist(), abs=1e-8)


@pytest.mark.parametrize(("scenes", "is_drawn"), [(39, False), (40, True)])
def test_from_forty_scenes_on_intervals_are_drawn(scenes, is_drawn):
    values = np.random.default_rng(1).exponential(1.0, scenes)
    estimate = one_series(values, [f"{scene:03}" for scene in range(scenes)])
    low, high = by_hand(values, np.arange(scenes))
    assert (estimate.high == pytest.approx(high, abs=1e-12)) is not is_drawn
    assert (estimate.low == pytest.approx(low, abs=1e-12)) is not is_drawn
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.3 * (high - low))


def test_the_mean_of_a_series_and_the_cell_of_a_table_are_one_number():
    values, scenes = np.random.default_rng(1).exponential(1.0, 90), [f"{place % 45:02}" for place in range(90)]
    assert scene_mean(values, scenes) == one_series(values, scenes)
    other = scene_mean(values, scenes, level=0.8)
    assert other == one_series(values, scenes, level=0.8)
    assert other.high < scene_mean(values, scenes).high


def test_draws_are_the_same_whoever_asks_and_the_seed_decides_which():
    values, scenes = np.random.default_rng(1).exponential(1.0, 50), [f"{place:02}" for place in range(50)]
    assert one_series(values, scenes) == one_series(values, scenes, seed=0, draws=2_000)
    assert one_series(values, scenes).high != one_series(values, scenes, seed=1).high


def naive_interval(values, counts, weights, level) -> tuple[float, float]:
    """BCa, draw by draw and scene by scene, with the quantiles of t instead of the normal distribution."""
    scenes = np.count_nonzero(counts)
    mean = sum(values) / sum(counts)
    drawn = np.array([np.dot(own, values) / np.dot(own, counts) for own in weights])
    bias = special.ndtri((np.mean(drawn < mean) + np.mean(drawn <= mean)) / 2)
    left = np.array([(sum(values) - v) / (sum(counts) - c) for v, c in zip(values, counts, strict=True)])
    acceleration = np.sum((left.mean() - left) ** 3) / (6 * np.sum((left.mean() - left) ** 2) ** 1.5)
    ends = []
    for share in ((1 - level) / 2, (1 + level) / 2):
        moved = bias + stats.t.ppf(share, scenes - 1) * np.sqrt(scenes / (scenes - 1))
        ends.append(np.quantile(drawn, stats.norm.cdf(bias + moved / (1 - acceleration * moved))))
    return tuple(ends)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_one_matrix_product_gives_what_draw_by_draw_gives(level):
    rows = table()
    seen = (rows.models != 1) | (rows.scenes < 42)
    rows = ValueColumns(
        models=rows.models[seen], metrics=rows.metrics[seen], scenes=rows.scenes[seen], values=rows.values[seen]
    )
    sums = scene_sums(rows, (3, 2, 60))
    assert sums.scenes.tolist() == [[60, 60], [42, 42], [60, 60]]
    found = mean_estimates(cells(sums), level=level, draws=500, seed=3)
    weights = np.concatenate(list(poisson_weights(60, draws=500, seed=3))).T
    for cell, own in zip(found, cells(sums), strict=True):
        known = own.counts > 0
        expected = naive_interval(own.sums[known], own.counts[known], weights[:, known], level)
        assert (cell.low, cell.high) == pytest.approx(expected, abs=1e-10)


def test_with_many_scenes_the_drawn_interval_is_near_that_of_scipy():
    values = np.random.default_rng(2).exponential(1.0, 800)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=4_000, method="BCa", rng=1).confidence_interval
    ours = one_series(values, [f"{scene:03}" for scene in range(800)], draws=4_000)
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.05 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.05 * width)


def test_every_draw_takes_as_many_scenes_as_there_are_and_the_seed_decides_which():
    weights = scene_weights(30, draws=4_000, seed=1)
    assert weights.shape == (4_000, 30)
    assert (weights.sum(axis=1) == 30).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(30), abs=0.08)
    assert weights.var() == pytest.approx(1 - 1 / 30, abs=0.03)
    assert np.array_equal(weights, scene_weights(30, draws=4_000, seed=1))
    assert not np.array_equal(weights, scene_weights(30, draws=4_000, seed=2))


def test_a_scene_is_drawn_by_itself_as_often_as_poisson_has_it(monkeypatch):
    weights = np.concatenate(list(poisson_weights(30, draws=4_000, seed=1)))
    assert weights.shape == (30, 4_000)
    for times in range(6):
        assert np.mean(weights == times) == pytest.approx(stats.poisson.pmf(times, 1.0), abs=3e-3)
    assert abs(np.corrcoef(weights)[np.triu_indices(30, 1)]).max() < 0.08
    monkeypatch.setattr(scene_bootstrap_module, "SCENES_AT_ONCE", 7)
    assert np.array_equal(weights[:20], np.concatenate(list(poisson_weights(20, draws=4_000, seed=1))))


def test_a_cell_is_what_it_is_alone_whatever_stands_beside_it():
    sums = scene_sums(table(), (3, 2, 60))
    longer = named_scene_sums(np.random.default_rng(1).random(200), [f"{place:03}" for place in range(200)])
    together = mean_estimates([longer, *cells(sums)])
    for cell, own in zip(together[1:], cells(sums), strict=True):
        (alone,) = mean_estimates([own])
        assert (cell.low, cell.high) == pytest.approx((alone.low, alone.high), abs=1e-12)


def test_cells_in_several_turns_are_those_of_one(monkeypatch):
    own = cells(scene_sums(table(), (3, 2, 60)))
    at_once = mean_estimates(own)
    monkeypatch.setattr("lookaway.statistics.intervals.VALUES_AT_ONCE", 4_000)
    for one, two in zip(at_once, mean_estimates(own), strict=True):
        assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=1e-12)


def test_means_that_differ_in_their_last_digits_are_drawn_as_equal():
    values = np.tile([0.1, 0.2, 0.3, 0.7], 12)
    scenes = [f"{place:02}" for place in range(48)]
    plain, moved = one_series(values, scenes), one_series(values * 3 / 3 + 1e-15, scenes)
    assert (moved.low, moved.high) == pytest.approx((plain.low, plain.high), abs=1e-9)


def test_the_order_of_rows_does_not_matter():
    rows = table()
    order = np.random.default_rng(9).permutation(len(rows.values))
    shuffled = ValueColumns(
        models=rows.models[order], metrics=rows.metrics[order], scenes=rows.scenes[order], values=rows.values[order]
    )
    first, second = (mean_estimates(cells(scene_sums(data, (3, 2, 60)))) for data in (rows, shuffled))
    for one, two in zip(first, second, strict=True):
        assert (one.mean, one.low, one.high) == pytest.approx((two.mean, two.low, two.high), abs=1e-12)


@pytest.mark.parametrize("scenes", [12, 60])
def test_intervals_move_and_stretch_with_the_values_and_turn_over_with_their_sign(scenes):
    values = np.random.default_rng(6).exponential(1.0, 3 * scenes)
    names = [f"{place % scenes:03}" for place in range(3 * scenes)]
    plain = one_series(values, names)
    moved, flipped = one_series(2.5 * values + 4.0, names), one_series(-values, names)
    assert (moved.low, moved.high) == pytest.approx((2.5 * plain.low + 4.0, 2.5 * plain.high + 4.0), abs=1e-9)
    assert (-flipped.high, -flipped.low) == pytest.approx((plain.low, plain.high), abs=1e-9)


def test_another_name_of_a_model_changes_nothing_but_its_place():
    rows = table()
    swapped = replace(rows, models=2 - rows.models)
    first, second = (mean_estimates(cells(scene_sums(data, (3, 2, 60)))) for data in (rows, swapped))
    for one, two in zip(first, [*second[4:], *second[2:4], *second[:2]], strict=True):
        assert (one.mean, one.low, one.high) == pytest.approx((two.mean, two.low, two.high), abs=1e-12)


def test_a_model_with_few_scenes_in_a_table_of_many_has_a_t_interval_and_disturbs_nobody():
    rows = table()
    few = (rows.models != 1) | (rows.scenes < 7)
    thinned = ValueColumns(
        models=rows.models[few], metrics=rows.metrics[few], scenes=rows.scenes[few], values=rows.values[few]
    )
    before, after = (mean_estimates(cells(scene_sums(data, (3, 2, 60)))) for data in (rows, thinned))
    assert (after[0].low, after[0].high) == pytest.approx((before[0].low, before[0].high), abs=1e-12)
    own = (thinned.models == 1) & (thinned.metrics == 0)
    low, high = by_hand(thinned.values[own], thinned.scenes[own])
    assert (after[2].low, after[2].high) == pytest.approx((low, high), abs=1e-12)


def test_one_scene_has_a_mean_and_no_interval_and_no_value_has_no_estimate():
    rows = ValueColumns(
        models=np.array([0, 0]), metrics=np.array([1, 1]), scenes=np.array([2, 2]), values=np.array([0.2, 0.6])
    )
    nothing, one_scene = mean_estimates(cells(scene_sums(rows, (1, 2, 4))))
    assert nothing is None
    assert one_scene == Estimate(
        mean=pytest.approx(0.4), low=None, high=None, scored=2, scenes=1, scene_means=(pytest.approx(0.4),)
    )
    assert mean_estimates([]) == ()


@pytest.mark.parametrize("value_range", [(None, None), (0.0, None)])
@pytest.mark.parametrize("scenes", [5, 50])
def test_values_without_limits_that_are_all_equal_have_no_interval(scenes, value_range):
    names = [f"{scene:02}" for scene in range(scenes)]
    estimate = scene_mean(np.repeat(0.1, 3 * scenes), np.repeat(names, 3).tolist(), value_range)
    assert (estimate.low, estimate.high) == (None, None)
    assert (estimate.scenes, estimate.scene_means) == (scenes, (pytest.approx(0.1),))


def test_a_rare_success_still_has_finite_ends():
    values = np.zeros(60)
    values[0] = 1.0
    estimate = one_series(values, [f"{scene:02}" for scene in range(60)])
    assert 0.0 <= estimate.low <= estimate.mean < estimate.high < 0.2


def share(parts):
    return parts[0] / parts[1]


def test_a_number_that_does_not_exist_without_one_scene_has_no_interval():
    totals = np.array([[[1.0, 2.0, 3.0]], [[0.0, 4.0, 0.0]]])
    assert scene_weights(3, draws=1, seed=0)[0, 1] > 0
    assert scene_bootstrap(totals, share, [scene_weights(3).T]) == (None,)
    assert scene_bootstrap(totals, share, [scene_weights(3, draws=1, seed=0).T]) == (None,)


def test_draws_of_fewer_scenes_than_there_are_are_refused():
    with pytest.raises(ValueError, match="3 scenes, found 2"):
        scene_bootstrap(np.ones((2, 1, 3)), share, [scene_weights(2).T])


def test_however_sure_one_wants_to_be_skewed_scenes_reach_no_further_than_the_draws_do():
    totals = np.array([[[0.0, 0.0, 1.0]], [[1.0, 1.0, 1.0]]])
    (drawn,) = scene_bootstrap(totals, share, [scene_weights(3).T], level=0.999)
    assert (drawn.low, drawn.high) == (0.0, 1.0)


def test_a_number_that_does_not_exist_in_some_draw_has_no_interval():
    totals = np.array([[[1.0, 1.0, 1.0, 1.0]], [[1.0, -1.0, 3.0, 3.0]]])
    assert scene_bootstrap(totals, share, [scene_weights(4).T]) == (None,)


def test_a_total_of_one_scene_alone_has_no_interval():
    totals = np.array([[[0.0, 4.0, 0.0]]])
    assert scene_bootstrap(totals, lambda parts: parts[0], [scene_weights(3).T]) == (None,)
