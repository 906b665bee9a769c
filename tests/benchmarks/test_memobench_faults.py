from __future__ import annotations

import numpy as np
import pytest

from benchmarks.memobench_faults import (
    SHOWS,
    failure_bounds,
    measure,
    precision_and_recall,
    render,
    rollouts,
)
from benchmarks.truth_fed import drawn_scores
from lookaway.reports.memobench.failures import CATEGORIES, judge_failures
from lookaway.world.faults import FAULTS
from lookaway.world.recipe import PERFECT, ClipRecipe


def scores(opacity, separation, seed=0):
    return drawn_scores(np.full(400, opacity), separation, 3, np.random.default_rng(seed))


def test_every_fault_is_an_example_of_a_category_and_every_category_has_one():
    assert SHOWS.keys() == FAULTS.keys()
    assert set(SHOWS.values()) == set(CATEGORIES)


def test_a_sure_detector_knows_the_target_from_other_things():
    there, gone = scores(1.0, 8.0), scores(0.0, 8.0)
    assert there[:, 0].min() > 0.9
    assert max(there[:, 1:].max(), gone.max()) < 0.1


def test_the_less_separate_scores_are_the_more_an_absent_target_scores():
    gone = [scores(0.0, separation).max(axis=1).mean() for separation in (4.0, 2.0, 1.0, 0.5)]
    assert gone == sorted(gone)
    assert all(0 < score < 1 for score in gone)


def test_a_target_that_is_half_transparent_scores_in_between():
    gone, half, there = (scores(opacity, 2.0)[:, 0].mean() for opacity in (0.0, 0.5, 1.0))
    assert gone < half < there


def test_the_same_detector_says_the_same_twice_and_another_one_differs():
    assert (scores(1.0, 1.0) == scores(1.0, 1.0)).all()
    assert (scores(1.0, 1.0) != scores(1.0, 1.0, seed=1)).any()


def test_errors_of_one_clip_are_alike():
    random = np.random.default_rng(0)
    clips = np.array([drawn_scores(np.ones(30), 1.0, 0, random)[:, 0] for _ in range(200)])
    assert clips.mean(axis=1).std() > 3 * clips.std(axis=1).mean() / np.sqrt(30)


def test_precision_and_recall_are_not_known_where_nothing_was_found_or_is_there():
    assert precision_and_recall([(False, False)]) == (None, None)
    assert precision_and_recall([(True, True), (False, True), (False, False)]) == (1.0, 0.5)
    assert precision_and_recall([(True, False)]) == (0.0, None)


@pytest.mark.render
@pytest.mark.nightly
def test_in_one_scene_every_fault_is_found_as_its_category_and_nothing_without_a_fault(tmp_path):
    form = ClipRecipe(
        family="playroom", event="in_place", camera="yaw_left_60", seed=0, width=224, height=128, fps=10, seconds=3.0
    )
    render("playroom", tmp_path / "world", form)
    bounds = failure_bounds(tmp_path / "world")
    found = {
        rollout.model: [
            category for category, verdict in judge_failures(measure(rollout, bounds)).items() if verdict.is_found
        ]
        for rollout in rollouts(tmp_path / "world", tmp_path / "export")
    }
    assert found[PERFECT] == []
    assert {fault: found[f"{fault}-1.00"] for fault in FAULTS} == {fault: [SHOWS[fault]] for fault in FAULTS}
