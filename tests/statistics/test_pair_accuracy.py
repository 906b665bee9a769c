from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lookaway.statistics.intervals import proportion
from lookaway.statistics.pair_accuracy import choose_tie_threshold, pair_accuracy, predicted_verdicts
from tests.statistics.test_scene_replicates import draws


def simulated(seed: int, pairs: int = 120, scenes: int = 12, levels: int | None = None):
    rng = np.random.default_rng(seed)
    differences = rng.normal(size=pairs)
    noisy = differences + rng.normal(0, 0.8, pairs)
    verdicts = np.where(np.abs(noisy) < 0.4, 0, np.sign(noisy)).astype(np.int64)
    if levels:
        differences = np.round(differences * levels) / levels
    return differences, verdicts, [f"{number:02d}" for number in rng.integers(0, scenes, pairs)]


def test_pairs_are_counted_as_left_right_or_tie():
    differences = np.array([0.5, 0.5, 0.5, -0.5, -0.5, 0.1, -0.1, 0.0])
    verdicts = np.array([1, 0, -1, -1, 1, 0, 1, 0])
    found = pair_accuracy(differences, verdicts, list("abcdefgh"), tie_threshold=0.1)
    assert (found.accuracy.mean, found.accuracy.scored) == (4 / 8, 8)
    assert (found.decided_accuracy.mean, found.decided_accuracy.scored) == (2 / 4, 4)
    assert (found.reversals, found.missed_ties, found.false_ties, found.pairs) == (2, 1, 1, 8)
    assert found.tie_threshold == 0.1


def test_a_metric_that_says_what_people_say_is_always_right_and_its_opposite_always_reversed():
    verdicts = np.array([1, -1, 1, 0, -1])
    right, wrong = (
        pair_accuracy(sign * verdicts.astype(float), verdicts, list("abcde"), tie_threshold=0.5) for sign in (1, -1)
    )
    assert (right.accuracy.mean, right.reversals, right.spearman.mean, right.kendall.mean) == (1, 0, 1, 1)
    assert (wrong.accuracy.mean, wrong.reversals, wrong.spearman.mean, wrong.kendall.mean) == (0.2, 4, -1, -1)


@pytest.mark.parametrize("levels", [None, 2])
@pytest.mark.parametrize("seed", range(3))
def test_correlations_agree_with_scipy(seed, levels):
    differences, verdicts, scenes = simulated(seed, levels=levels)
    found = pair_accuracy(differences, verdicts, scenes, tie_threshold=0.2)
    assert found.spearman.mean == pytest.approx(stats.spearmanr(differences, verdicts).statistic, abs=1e-12)
    assert found.kendall.mean == pytest.approx(stats.kendalltau(differences, verdicts).statistic, abs=1e-12)


def test_a_replicate_is_what_its_scenes_give():
    differences, verdicts, scenes = simulated(3, scenes=5)
    drawn = np.array([[2, 0, 1, 1, 1], [0, 2, 1, 1, 1]])
    weights = np.repeat(drawn, 50, axis=0).astype(float)
    found = pair_accuracy(differences, verdicts, scenes, tie_threshold=0.2, weights=weights)
    direct = []
    for row in drawn:
        rows = np.repeat(np.arange(len(scenes)), row[np.array([int(name) for name in scenes])])
        own = [scenes[place] for place in rows]
        direct.append(pair_accuracy(differences[rows], verdicts[rows], own, tie_threshold=0.2))
    for name in ("spearman", "kendall"):
        low, high = sorted(getattr(one, name).mean for one in direct)
        assert getattr(found, name).low == pytest.approx(low, abs=1e-12), name
        assert getattr(found, name).high == pytest.approx(high, abs=1e-12), name


def test_shares_have_wilsons_interval_with_and_without_draws():
    verdicts, differences = np.ones(40, np.int64), np.where(np.arange(40) < 38, 1.0, -1.0)
    scenes = [f"{number:02d}" for number in range(40)]
    for weights in (None, draws(40, 50)):
        found = pair_accuracy(differences, verdicts, scenes, tie_threshold=0.5, weights=weights)
        known = proportion(38, 40)
        for share in (found.accuracy, found.decided_accuracy):
            assert (share.low, share.high) == (pytest.approx(known.low), pytest.approx(known.high))


def test_intervals_are_of_scenes_and_hold_the_estimate():
    found = pair_accuracy(*simulated(3), tie_threshold=0.2, weights=draws(12, 400))
    for one in (found.accuracy, found.decided_accuracy, found.spearman, found.kendall):
        assert one.low < one.mean < one.high
        assert one.scenes == 12


@pytest.mark.parametrize("shuffle", range(8))
def test_the_order_of_pairs_does_not_matter_where_many_differences_are_equal(shuffle):
    differences, verdicts, scenes = simulated(6, levels=1)
    constant = np.sign(differences) * 0.5
    order = np.random.default_rng(shuffle).permutation(len(verdicts))
    for values, threshold in [(differences, 1.0), (constant, 0.5), (constant, 0.4)]:
        plain = pair_accuracy(values, verdicts, scenes, tie_threshold=threshold, weights=draws(12, 50))
        other = pair_accuracy(
            values[order],
            verdicts[order],
            [scenes[row] for row in order],
            tie_threshold=threshold,
            weights=draws(12, 50),
        )
        for name in ("accuracy", "decided_accuracy", "spearman", "kendall"):
            one, two = getattr(plain, name), getattr(other, name)
            assert (one is None) == (two is None)
            if one:
                assert [two.mean, two.low, two.high] == pytest.approx([one.mean, one.low, one.high], abs=1e-12)
        assert (other.reversals, other.false_ties) == (plain.reversals, plain.false_ties)


def test_exchanging_left_and_right_changes_nothing():
    differences, verdicts, scenes = simulated(3)
    plain, other = (pair_accuracy(s * differences, s * verdicts, scenes, tie_threshold=0.2) for s in (1, -1))
    assert other.accuracy == plain.accuracy
    assert other.reversals == plain.reversals
    assert other.kendall.mean == pytest.approx(plain.kendall.mean)


def test_a_metric_that_never_decides_has_no_correlation():
    found = pair_accuracy(np.zeros(3), np.array([1, 0, -1]), list("abc"), tie_threshold=0.0)
    assert (found.accuracy.mean, found.decided_accuracy, found.spearman, found.kendall) == (1 / 3, None, None, None)
    nothing = pair_accuracy(np.zeros(0), np.zeros(0, int), [], tie_threshold=0.0)
    assert (nothing.pairs, nothing.accuracy, nothing.spearman) == (0, None, None)


def test_what_is_no_comparison_is_refused():
    for differences, verdicts, threshold in [
        (np.array([np.nan]), np.array([1]), 0.1),
        (np.array([0.1]), np.array([2]), 0.1),
        (np.array([0.1]), np.array([1]), -0.1),
    ]:
        with pytest.raises(ValueError, match="Expected finite differences"):
            pair_accuracy(differences, verdicts, ["a"], tie_threshold=threshold)
    with pytest.raises(ValueError, match="one of each per pair"):
        pair_accuracy(np.zeros(2), np.zeros(1, int), ["a"], tie_threshold=0)
    with pytest.raises(ValueError, match=r"\[replicates, 1 scenes\]"):
        pair_accuracy(np.array([1.0, 2.0]), np.array([1, 0]), ["a", "a"], tie_threshold=0, weights=np.ones((3, 2)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("levels", [None, 4])
def test_no_other_tie_threshold_agrees_with_people_on_more_pairs(seed, levels):
    differences, verdicts, _ = simulated(seed, levels=levels)
    chosen = choose_tie_threshold(differences, verdicts)

    def agreeing(threshold):
        return int(np.sum(predicted_verdicts(differences, threshold) == verdicts))

    others = [0.0, *np.abs(differences), *(np.abs(differences) + 1e-9)]
    assert agreeing(chosen) == max(map(agreeing, others))


def test_a_tie_threshold_is_0_where_people_never_tie_and_covers_all_where_they_always_do():
    differences = np.array([0.5, -0.2, 0.1, 0.0])
    assert choose_tie_threshold(differences, np.array([1, -1, 1, 0])) == 0.0
    everything = choose_tie_threshold(differences, np.zeros(4, np.int64))
    assert predicted_verdicts(differences, everything).tolist() == [0, 0, 0, 0]


def test_a_tie_threshold_needs_a_pair():
    with pytest.raises(ValueError, match="one verdict per difference, found 0 and 0"):
        choose_tie_threshold(np.array([]), np.array([], np.int64))
