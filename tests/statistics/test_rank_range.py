from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lookaway.statistics.rank_range import RankRange, RankRanges, rank_ranges, tie_groups
from lookaway.statistics.scene_bootstrap import SceneSums, scene_weights


def sums_of(values, counts=None) -> SceneSums:
    """Models by scenes: the mean of each scene, and how many values it is of."""
    counts = np.ones(np.shape(values), np.int64) if counts is None else np.asarray(counts)
    means = np.asarray(values, np.float64)
    return SceneSums(sums=means * counts, counts=counts, squares=np.zeros_like(means))


def sample(means, *, scenes: int = 40, noise: float = 0.1, seed: int = 0) -> np.ndarray:
    """Scenes that are easy or hard for all models, and what each makes of them."""
    rng = np.random.default_rng(seed)
    return np.asarray(means)[:, None] + rng.normal(0, 0.3, scenes) + rng.normal(0, noise, (len(means), scenes))


def ranked(values, *, higher_is_better: bool = True, **options) -> RankRanges:
    return rank_ranges(sums_of(values), higher_is_better=higher_is_better, **options)


def bounds(found: RankRanges) -> list[tuple[int, int]]:
    return [(own.best, own.worst) for own in found.ranges]


def test_models_that_are_far_apart_have_one_rank_each():
    found = ranked(sample([0.1, 0.9, 0.5]))
    assert bounds(found) == [(3, 3), (1, 1), (2, 2)]
    assert found.order == (1, 2, 0)
    assert found.beats == (frozenset(), frozenset({0, 2}), frozenset({0}))
    assert tie_groups(found) == ((1,), (2,), (0,))


def test_models_that_do_not_differ_may_have_any_rank():
    found = ranked(sample([0.5, 0.5, 0.5, 0.5]))
    assert bounds(found) == [(1, 4)] * 4
    assert len(tie_groups(found)) == 1


def test_two_pairs_of_equals_share_two_ranks_each():
    found = ranked(sample([0.2, 0.8, 0.2, 0.8]))
    assert bounds(found) == [(3, 4), (1, 2), (3, 4), (1, 2)]
    assert [set(group) for group in tie_groups(found)] == [{1, 3}, {0, 2}]


def test_where_less_is_better_the_order_turns_over():
    values = sample([0.1, 0.9, 0.5])
    low_is_good = ranked(values, higher_is_better=False)
    assert bounds(low_is_good) == [(1, 1), (3, 3), (2, 2)]
    assert low_is_good == ranked(-values)


def test_how_hard_scenes_are_for_everybody_does_not_widen_ranges():
    values = sample([0.50, 0.56, 0.62], noise=0.05)
    harder = values + np.random.default_rng(4).normal(0, 5.0, 40)
    assert bounds(ranked(harder)) == bounds(ranked(values)) == [(3, 3), (2, 2), (1, 1)]


@pytest.mark.parametrize("change", [lambda v: v + 7.0, lambda v: 0.01 * v, lambda v: 1e5 * v])
def test_neither_unit_nor_zero_point_matters(change):
    values = sample([0.5, 0.55, 0.6, 0.62, 0.9], seed=3)
    assert ranked(change(values)) == ranked(values)


def test_another_order_of_models_changes_nothing_but_their_places():
    values = sample([0.5, 0.55, 0.6, 0.62, 0.9], seed=3)
    order = [3, 0, 4, 1, 2]
    plain, other = bounds(ranked(values)), bounds(ranked(values[order]))
    assert other == [plain[model] for model in order]


def naive_ranges(values, weights, level=0.95) -> list[tuple[int, int]]:
    """Pair by pair and draw by draw, of scenes with one value each."""
    models, scenes = values.shape
    largest = np.zeros(len(weights))
    for one in range(models):
        for two in range(one):
            own = values[one] - values[two]
            drawn = weights @ own / scenes - own.mean()
            largest = np.maximum(largest, np.abs(drawn) / (own.std() / np.sqrt(scenes)))
    tail = stats.norm.sf(np.quantile(largest, level))
    bar = stats.t.isf(tail, scenes - 1)
    differences = values[:, None] - values
    errors = differences.std(axis=-1, ddof=1) / np.sqrt(scenes) + np.eye(models)
    t = differences.mean(axis=-1) / errors
    return [(1 + int(np.sum(t[:, model] > bar)), models - int(np.sum(t[model] > bar))) for model in range(models)]


@pytest.mark.parametrize("seed", range(12))
def test_ranges_are_those_of_pair_by_pair_and_draw_by_draw(seed):
    values = sample(np.linspace(0.4, 0.6, 12), scenes=20, seed=seed)
    assert bounds(ranked(values, draws=400, seed=seed)) == naive_ranges(values, scene_weights(20, draws=400, seed=seed))


def test_more_models_raise_the_bar():
    chance = np.random.default_rng(0).normal(0, 1, 60)
    chance = (chance - chance.mean()) / chance.std(ddof=1)
    two_point_six_errors = 2.6 / np.sqrt(60) + chance
    values = np.vstack([np.zeros(60), two_point_six_errors])
    crowd = np.vstack([values, np.random.default_rng(1).normal(-20, 1, (20, 60))])
    assert bounds(ranked(values)) == [(2, 2), (1, 1)]
    assert bounds(ranked(crowd))[:2] == [(1, 2), (1, 2)]


def test_a_higher_level_widens_ranges():
    values = sample([0.5, 0.53, 0.56, 0.58], seed=5)
    widths = [sum(own.worst - own.best for own in ranked(values, level=level).ranges) for level in (0.5, 0.95, 0.9999)]
    assert widths == sorted(widths)
    assert widths[0] < widths[2]


def test_a_difference_that_the_metric_cannot_show_is_not_significant():
    values = sample([0.1, 0.3, 0.9])
    assert bounds(ranked(values)) == [(3, 3), (2, 2), (1, 1)]
    blunt = ranked(values, tells_apart=lambda difference, scenes: scenes == 40 and abs(difference) > 0.4)
    assert bounds(blunt) == [(2, 3), (2, 3), (1, 1)]


def test_two_models_that_agree_in_every_scene_are_never_told_apart():
    values = sample([0.5, 0.9])
    found = ranked(np.vstack([values, values[1]]))
    assert bounds(found) == [(3, 3), (1, 2), (1, 2)]
    assert tie_groups(found) == ((1, 2), (0,))


def test_a_difference_that_is_the_same_in_every_scene_counts():
    assert bounds(ranked([[0.1] * 5, [0.3] * 5])) == [(2, 2), (1, 1)]


@pytest.mark.parametrize("values", [[[0.1], [0.9]], [[0.1]]])
def test_one_scene_tells_nobody_apart(values):
    found = ranked(values)
    assert bounds(found) == [(1, len(values))] * len(values)


def test_rounding_tells_nobody_apart():
    thirds = np.array([[0.1 + 0.2] * 6, [0.3] * 6])
    assert bounds(ranked(thirds)) == [(1, 2), (1, 2)]


def test_a_model_without_values_has_no_range_and_takes_no_rank():
    values = sample([0.1, 0.5, 0.9])
    counts = np.ones(values.shape, np.int64)
    counts[1] = 0
    found = rank_ranges(sums_of(values, counts), higher_is_better=True)
    assert found.ranges == (RankRange(best=2, worst=2), None, RankRange(best=1, worst=1))
    assert (found.order, found.beats[2]) == ((2, 0), frozenset({0}))
    assert tie_groups(found) == ((2,), (0,))


@pytest.mark.parametrize(("errors", "ranges"), [(4.29, [(1, 2), (1, 2)]), (4.31, [(2, 2), (1, 1)])])
def test_a_model_of_three_scenes_is_judged_by_the_t_of_two_degrees_which_is_4_303(errors, ranges):
    values, counts = np.zeros((2, 60)), np.ones((2, 60), np.int64)
    values[1, :3], counts[1, 3:] = errors / np.sqrt(3) + np.array([-1.0, 0.0, 1.0]), 0
    assert bounds(rank_ranges(sums_of(values, counts), higher_is_better=True)) == ranges


def test_scenes_with_more_values_weigh_more():
    values = np.array([[0.0] * 20 + [1.0] * 20, [0.5] * 40])
    counts = np.array([[1] * 20 + [9] * 20, [5] * 40])
    assert rank_ranges(sums_of(values, counts), higher_is_better=True).order == (0, 1)
    assert rank_ranges(sums_of(values, counts[:, ::-1]), higher_is_better=True).order == (1, 0)


def test_how_many_values_scenes_have_is_no_difference_between_them():
    counts = np.random.default_rng(0).integers(1, 10, (2, 30))
    values = np.array([[0.50] * 30, [0.51] * 30])
    assert bounds(rank_ranges(sums_of(values, counts), higher_is_better=True)) == [(2, 2), (1, 1)]


def test_no_model_has_no_ranking():
    found = rank_ranges(sums_of(np.zeros((0, 5))), higher_is_better=True)
    assert (found.ranges, found.order, tie_groups(found)) == ((), (), ())


def test_a_group_is_who_its_leader_does_not_beat_and_the_next_leader_is_the_best_of_the_others():
    everything = RankRange(best=1, worst=5)
    beats = (frozenset({3}), frozenset(), frozenset({1, 3, 4}), frozenset(), frozenset({3}))
    found = RankRanges(ranges=(everything,) * 5, order=(2, 0, 4, 1, 3), beats=beats, draws=1, seed=0)
    assert tie_groups(found) == ((2, 0), (4, 1), (3,))


def test_equal_means_keep_the_order_they_were_given():
    assert ranked([[0.5, 0.5], [0.5, 0.5], [0.7, 0.7]]).order == (2, 0, 1)


@pytest.mark.parametrize(
    ("means", "scenes"),
    [
        (np.linspace(0.4, 0.6, 10), 40),
        (np.full(10, 0.5) + 1e-6 * np.arange(10), 40),
        (np.linspace(0.4, 0.6, 10), 20),
        (np.full(10, 0.5) + 1e-6 * np.arange(10), 5),
    ],
    ids=["spread out", "hardly different", "twenty scenes", "five scenes"],
)
def test_the_true_order_lies_inside_the_ranges_as_often_as_they_say(means, scenes):
    runs = 200
    held = widths = first_is_first = 0
    for turn in range(runs):
        found = ranked(sample(means, scenes=scenes, seed=turn), draws=1_000, seed=turn)
        truth = len(means) - np.arange(len(means))
        held += all(own.best <= rank <= own.worst for own, rank in zip(found.ranges, truth.tolist(), strict=True))
        widths += np.mean([own.worst - own.best + 1 for own in found.ranges])
        first_is_first += found.order[0] == len(means) - 1
    print(
        f"held {held / runs:.3f}, mean width {widths / runs:.1f} of 10, best mean is best {first_is_first / runs:.2f}"
    )
    assert held / runs >= 0.95
