from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lookaway.statistics.agreement import Ratings, agreement
from lookaway.statistics.intervals import proportion
from lookaway.statistics.judge_confusion import judge_confusion
from tests.statistics.test_scene_replicates import draws

SHARES = ("accuracy", "precision", "recall", "specificity")
OTHERS = ("balanced_accuracy", "matthews", "f1", "kappa", "ac1")


def clips(both_yes: int, only_judge: int, only_people: int, both_no: int):
    counts = [both_yes, only_judge, only_people, both_no]
    judge, people = np.repeat([True, True, False, False], counts), np.repeat([True, False, True, False], counts)
    return judge, people, [f"{number:04d}" for number in range(len(judge))]


def test_every_number_is_what_the_reference_gives():
    found = judge_confusion(*clips(37, 9, 13, 41))
    assert (found.both_yes, found.only_judge, found.only_people, found.both_no) == (37, 9, 13, 41)
    assert [getattr(found, name).mean for name in SHARES] == pytest.approx([78 / 100, 37 / 46, 37 / 50, 41 / 50])
    # scikit-learn 1.9.1
    assert found.matthews.mean == pytest.approx(0.5618006477335895, abs=1e-12)
    assert found.f1.mean == pytest.approx(0.7708333333333334, abs=1e-12)
    assert found.balanced_accuracy.mean == pytest.approx(0.78, abs=1e-12)
    assert found.kappa.mean == pytest.approx(0.56, abs=1e-12)


def test_every_number_agrees_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn, which is compared with, is not installed")
    judge, people, scenes = clips(23, 31, 5, 88)
    found = judge_confusion(judge, people, scenes)
    theirs = {
        "accuracy": metrics.accuracy_score(people, judge),
        "precision": metrics.precision_score(people, judge),
        "recall": metrics.recall_score(people, judge),
        "specificity": metrics.recall_score(~people, ~judge),
        "balanced_accuracy": metrics.balanced_accuracy_score(people, judge),
        "matthews": metrics.matthews_corrcoef(people, judge),
        "f1": metrics.f1_score(people, judge),
        "kappa": metrics.cohen_kappa_score(people, judge),
    }
    for name, value in theirs.items():
        assert getattr(found, name).mean == pytest.approx(value, abs=1e-8), name


def test_kappa_and_ac1_are_those_of_the_table_of_ratings():
    judge, people, scenes = clips(23, 31, 5, 88)
    codes = np.stack([judge, people], axis=1).astype(np.int64)
    weights = draws(147, 200)
    other = agreement(
        Ratings(codes=codes, categories=("no", "yes"), scenes=scenes), seed=0, weights=weights, shuffles=1
    )
    found = judge_confusion(judge, people, scenes, weights)
    for name in ("kappa", "ac1"):
        ours, theirs = getattr(found, name), getattr(other, name).estimate
        assert [ours.mean, ours.low, ours.high] == pytest.approx([theirs.mean, theirs.low, theirs.high], abs=1e-12)


def test_shares_have_wilsons_interval_of_their_own_clips():
    found = judge_confusion(*clips(37, 9, 13, 41))
    for name, hits, of in [("recall", 37, 50), ("precision", 37, 46), ("specificity", 41, 50), ("accuracy", 78, 100)]:
        known, ours = proportion(hits, of), getattr(found, name)
        assert (ours.low, ours.high, ours.scored) == (pytest.approx(known.low), pytest.approx(known.high), of)


def test_the_others_have_intervals_where_scenes_are_resampled():
    judge, people, scenes = clips(37, 9, 13, 41)
    with_weights = judge_confusion(judge, people, scenes, draws(100, 400))
    without = judge_confusion(judge, people, scenes)
    for name in OTHERS:
        found = getattr(with_weights, name)
        assert found.low < found.mean < found.high
        assert (getattr(without, name).mean, getattr(without, name).low) == (found.mean, None)


def test_a_perfect_judge_has_ones_and_one_that_turns_everything_around_minus_ones():
    best, worst = judge_confusion(*clips(20, 0, 0, 30)), judge_confusion(*clips(0, 20, 30, 0))
    assert [getattr(best, name).mean for name in SHARES + OTHERS] == [1] * 9
    assert [getattr(worst, name).mean for name in SHARES] == [0] * 4
    assert worst.matthews.mean == -1
    assert (worst.f1.mean, worst.balanced_accuracy.mean) == (0, 0)


def test_a_judge_that_always_says_yes_has_full_recall_and_nothing_else():
    found = judge_confusion(*clips(10, 40, 0, 0))
    assert (found.recall.mean, found.specificity.mean, found.balanced_accuracy.mean) == (1, 0, 0.5)
    assert (found.kappa.mean, found.matthews) == (0, None)
    assert (found.sensitivity_counts.hits, found.sensitivity_counts.total) == (10, 10)
    assert (found.specificity_counts.hits, found.specificity_counts.total) == (0, 40)


def test_what_was_never_seen_is_not_known():
    found = judge_confusion(*clips(0, 0, 0, 12))
    assert (found.precision, found.recall, found.f1, found.kappa, found.balanced_accuracy) == (None,) * 5
    assert (found.specificity.mean, found.ac1.mean, found.sensitivity_counts) == (1, 1, None)
    nothing = judge_confusion(*clips(0, 0, 0, 0))
    assert all(getattr(nothing, name) is None for name in SHARES + OTHERS)


def test_the_order_of_clips_does_not_matter_and_judge_and_people_change_places_in_precision_and_recall():
    judge, people, scenes = clips(37, 9, 13, 41)
    order = np.random.default_rng(1).permutation(100)
    shuffled = judge_confusion(judge[order], people[order], scenes)
    plain, turned = judge_confusion(judge, people, scenes), judge_confusion(people, judge, scenes)
    for name in SHARES + OTHERS:
        assert getattr(shuffled, name).mean == pytest.approx(getattr(plain, name).mean)
    assert (turned.precision, turned.recall) == (plain.recall, plain.precision)
    assert turned.kappa.mean == pytest.approx(plain.kappa.mean)
    assert turned.matthews.mean == pytest.approx(plain.matthews.mean)
    renamed = judge_confusion(~judge, ~people, scenes)
    assert renamed.ac1.mean == pytest.approx(plain.ac1.mean)
    assert dataclasses.replace(renamed.recall) == plain.specificity


def test_clips_of_one_scene_do_not_narrow_the_intervals():
    judge, people, _ = clips(37, 9, 13, 41)
    own = [f"{number:04d}" for number in range(100)]
    often = judge_confusion(judge.repeat(5), people.repeat(5), np.repeat(own, 5).tolist(), draws(100, 2000))
    once = judge_confusion(judge, people, own, draws(100, 2000))
    for name in SHARES + OTHERS:
        assert getattr(often, name).low == pytest.approx(getattr(once, name).low, abs=7e-3)


def test_answers_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="found 2, 1 and 2"):
        judge_confusion(np.array([True, False]), np.array([True]), ["a", "b"])
