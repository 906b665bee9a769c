from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookaway.io.clip_card import ClipCard, write_clip_arrays
from lookaway.io.world_clips import ARRAYS, WorldClip
from lookaway.judges.oracle.clip_index import KnownClip, index_clips
from lookaway.judges.oracle.parsed_question import CannotAnswer
from lookaway.judges.oracle.true_answers import TRUE_ANSWERS
from lookaway.judges.oracle.truth import (
    ON_EVENT_OR_TARGET,
    are_anchors_in_place,
    correctness_rating,
    has_gone_on_unseen,
    has_happened,
    is_in_place_at_the_end,
    is_in_place_while_seen,
    poses_event_test,
    poses_place_test,
    poses_target_test,
    progress_rating,
    progress_share,
)
from lookaway.world.faults import FAULTS
from lookaway.world.faults.event import EVENT_FAULTS
from lookaway.world.faults.target import TARGET_FAULTS
from tests.support.world_clip import FRAMES, card_fields, clip_arrays

HALFWAY = [[0.0, 0.0], [0.2, 0.2], [0.4, 0.4], [0.6, 0.6], [0.8, 0.8], [1.0, 1.0]]


def write(folder: Path, card: dict[str, Any] | None = None, **arrays: Any) -> WorldClip:
    """A clip of six frames, the third and fourth of which do not show the target, with some truths said otherwise."""
    area = clip_arrays().visible_area.copy()
    area[2:4, 0] = 0
    position = np.tile([[0.0, 0.0, 5.0], [1.0, 0.0, 5.0], [0.0, 1.0, 5.0]], (FRAMES, 1, 1))
    truth = {"visible_area": area, "position": position, "progress": np.array(HALFWAY), **arrays}
    write_clip_arrays(folder / ARRAYS, replace(clip_arrays(), **truth))
    fields = {**card_fields(), "injections": [], "event": "both", **(card or {})}
    return WorldClip(folder=folder, card=ClipCard.model_validate(fields))


def known(folder: Path, card: dict[str, Any] | None = None, **arrays: Any) -> KnownClip:
    """A clip beside one without faults."""
    clean, clip = write(folder / "clean"), write(folder / "clip", card, **arrays)
    return KnownClip(clip, clean)


def areas(*seen: int) -> np.ndarray:
    area = np.zeros((FRAMES, 3), np.int64)
    area[list(seen), 0] = 50
    return area


def path(degrees: list[float], metres: list[float] | None = None) -> np.ndarray:
    """A camera that turns about the vertical, and goes to the right."""
    poses = np.tile(np.eye(4), (FRAMES, 1, 1))
    for pose, angle, way in zip(poses, np.radians(degrees), metres or [0.0] * FRAMES, strict=True):
        pose[:3, :3] = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
        pose[0, 3] = way
    return poses


@pytest.mark.parametrize(
    ("seen", "poses_it"),
    [
        ((0, 1, 4, 5), True),
        ((2, 5), True),
        ((0, 1, 2, 3, 4, 5), False),
        ((0, 1, 2), False),
        ((3, 4, 5), False),
        ((), False),
    ],
)
def test_a_target_poses_a_test_when_it_is_seen_lost_and_seen_again(
    tmp_path: Path, seen: tuple[int, ...], poses_it: bool
) -> None:
    assert poses_target_test(known(tmp_path, visible_area=areas(*seen))) is poses_it


def test_a_target_that_is_gone_when_the_camera_is_back_poses_a_test(tmp_path: Path) -> None:
    gone = np.ones((FRAMES, 3))
    gone[3:, 0] = 0.0
    away = path([0, 0, 60, 60, 0, 0])
    clip = known(tmp_path, visible_area=areas(0, 1), opacity=gone, camera_to_world=away)
    assert poses_target_test(clip)
    assert poses_event_test(clip)


@pytest.mark.parametrize(
    ("degrees", "gone_from"),
    [([0, 0, 60, 60, 60, 60], 3), ([0, 0, 180, 180, 180, 180], 3), ([0, 0, 60, 60, 60, 60], 2), ([0] * 6, 2)],
)
def test_a_target_that_is_gone_poses_no_test_where_its_place_is_not_left_and_found(
    tmp_path: Path, degrees: list[float], gone_from: int
) -> None:
    gone = np.ones((FRAMES, 3))
    gone[gone_from:, 0] = 0.0
    clip = known(tmp_path, visible_area=areas(0, 1), opacity=gone, camera_to_world=path(degrees))
    assert not poses_target_test(clip)


@pytest.mark.parametrize(
    ("degrees", "metres", "poses_it"),
    [
        ([0, 30, 60, 60, 30, 0], None, True),
        ([0, 90, 180, 180, 270, 360], None, True),
        ([0, 30, 60, 60, 30, 14], None, True),
        ([0] * 6, [0, 1, 2, 2, 1, 0], True),
        ([0] * 6, None, False),
        ([0, 30, 60, 60, 60, 60], None, False),
        ([0, 5, 10, 10, 5, 0], None, False),
        ([0] * 6, [0, 1, 2, 2, 2, 2], False),
        ([0] * 6, [0, 0.2, 0.4, 0.4, 0.2, 0], False),
    ],
)
def test_a_place_poses_a_test_when_the_camera_leaves_it_and_comes_back(
    tmp_path: Path, degrees: list[float], metres: list[float] | None, poses_it: bool
) -> None:
    assert poses_place_test(known(tmp_path, camera_to_world=path(degrees, metres))) is poses_it


def test_what_was_asked_of_the_camera_poses_no_test(tmp_path: Path) -> None:
    asked = path([0, 30, 60, 60, 30, 0])
    assert not poses_place_test(known(tmp_path, requested_camera_to_world=asked))


@pytest.mark.parametrize(
    ("event", "seen", "degrees", "triggered"),
    [
        ("both", range(6), [0, 30, 60, 60, 30, 0], {"trigger_environment"}),
        ("both", (0, 5), [0] * 6, {"trigger_human", "trigger_object", "trigger_causal"}),
        ("none", (0, 5), [0] * 6, {"trigger_human", "trigger_object"}),
    ],
)
def test_each_question_asks_for_its_own_test(
    tmp_path: Path, event: str, seen: Sequence[int], degrees: list[float], triggered: set[str]
) -> None:
    clip = known(tmp_path, {"event": event}, visible_area=areas(*seen), camera_to_world=path(degrees))
    answers = {name: TRUE_ANSWERS[name](clip, {}, ()) for name in TRUE_ANSWERS if name.startswith("trigger_")}
    assert {name for name, answer in answers.items() if answer.triggered} == triggered


def test_nothing_poses_no_test_of_an_event(tmp_path: Path) -> None:
    assert poses_event_test(known(tmp_path / "both"))
    assert not poses_event_test(known(tmp_path / "none", {"event": "none"}))


@pytest.mark.parametrize(
    ("event", "progress", "share"),
    [
        ("both", (1.0, 1.0), 1.0),
        ("both", (1.0, 0.0), 0.0),
        ("both", (0.5, 1.0), 0.5),
        ("spatial", (1.0, 0.0), 1.0),
        ("spatial", (0.3, 1.0), 0.3),
        ("in_place", (0.0, 0.8), 0.8),
        ("in_place", (0.0, 1.0), 1.0),
        ("none", (0.0, 0.0), 1.0),
    ],
)
def test_progress_is_that_of_the_clock_that_lags_max_among_those_that_run(
    tmp_path: Path, event: str, progress: tuple[float, float], share: float
) -> None:
    clocks = np.array(HALFWAY)
    clocks[-1] = progress
    assert progress_share(known(tmp_path, {"event": event}, progress=clocks)) == pytest.approx(share)


def test_progress_is_compared_with_what_it_should_be(tmp_path: Path) -> None:
    half, quarter = np.array(HALFWAY) / 2, np.array(HALFWAY) / 4
    should, clip = write(tmp_path / "clean", progress=half), write(tmp_path / "clip", progress=quarter)
    assert progress_share(KnownClip(clip, should)) == pytest.approx(0.5)
    assert progress_share(KnownClip(clip, None)) == pytest.approx(0.25)
    assert progress_share(KnownClip(write(tmp_path / "ahead"), should)) == 1.0


def test_a_target_that_is_not_there_shows_no_progress(tmp_path: Path) -> None:
    gone = np.ones((FRAMES, 3))
    gone[-1, 0] = 0.4
    assert progress_share(known(tmp_path, opacity=gone)) == 0.0


@pytest.mark.parametrize(("at_the_return", "rating"), [(0.8, 5), (0.65, 4), (0.5, 3), (0.35, 2), (0.2, 1), (0.0, 1)])
def test_progress_is_rated_by_what_went_on_out_of_sight_and_not_by_what_was_made_up_for_later(
    tmp_path: Path, at_the_return: float, rating: int
) -> None:
    clocks = np.array(HALFWAY)
    clocks[2:5] = at_the_return
    assert progress_rating(known(tmp_path / "late", progress=clocks)) == rating
    gone = np.ones((FRAMES, 3))
    gone[4, 0] = 0.0
    assert progress_rating(known(tmp_path / "gone", progress=clocks, opacity=gone)) == 1


def test_progress_is_rated_at_the_end_where_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    assert progress_rating(KnownClip(write(tmp_path, progress=np.array(HALFWAY) / 2), None)) == 3


@pytest.mark.parametrize(
    ("injections", "rating"),
    [
        ({}, 5),
        ({"vanish": 1.0}, 1),
        ({"teleport": 0.5}, 3),
        ({"teleport": 0.25, "duplicate": 0.75}, 2),
        ({"lighting_shift": 1.0, "camera_drift": 1.0, "layout_change": 1.0}, 5),
        ({"lighting_shift": 1.0, "identity_shape": 0.2}, 4),
    ],
)
def test_correctness_falls_with_the_worst_fault_of_event_or_target(
    tmp_path: Path, injections: dict[str, float], rating: int
) -> None:
    cards = [
        {"fault": fault, "severity": severity, "dose": 9.0, "dose_unit": "x"} for fault, severity in injections.items()
    ]
    assert correctness_rating(known(tmp_path, {"injections": cards})) == rating


def test_a_clip_without_a_fault_whose_event_stands_still_is_rated_incorrect(tmp_path: Path) -> None:
    assert correctness_rating(known(tmp_path)) == 5
    still = known(tmp_path / "still", {"model": "perfect+frozen"}, progress=np.zeros((FRAMES, 2)))
    assert correctness_rating(still) == 1


def test_the_faults_that_count_are_those_of_the_world() -> None:
    assert {fault.name for fault in (*EVENT_FAULTS, *TARGET_FAULTS)} | {"dragged_along"} == ON_EVENT_OR_TARGET
    assert set(FAULTS) > ON_EVENT_OR_TARGET


def moved(thing: int, frames: slice, metres: float) -> np.ndarray:
    position = np.tile([[0.0, 0.0, 5.0], [1.0, 0.0, 5.0], [0.0, 1.0, 5.0]], (FRAMES, 1, 1))
    position[frames, thing, 0] += metres
    return position


def test_a_target_elsewhere_is_out_of_place_while_it_is_seen(tmp_path: Path) -> None:
    assert is_in_place_while_seen(known(tmp_path / "here"))
    assert is_in_place_while_seen(known(tmp_path / "a little", position=moved(0, slice(4, 6), 0.2)))
    assert is_in_place_while_seen(known(tmp_path / "unseen", position=moved(0, slice(2, 4), 3.0)))
    assert not is_in_place_while_seen(known(tmp_path / "first", position=moved(0, slice(0, 1), 0.3)))


def test_a_target_is_out_of_place_at_the_end_where_it_is_elsewhere_or_gone(tmp_path: Path) -> None:
    gone = np.ones((FRAMES, 3))
    gone[-1, 0] = 0.0
    assert is_in_place_at_the_end(known(tmp_path / "before", position=moved(0, slice(0, 5), 3.0)))
    assert not is_in_place_at_the_end(known(tmp_path / "elsewhere", position=moved(0, slice(5, 6), 0.3)))
    assert not is_in_place_at_the_end(known(tmp_path / "gone", opacity=gone))


def test_anchors_are_what_does_not_move(tmp_path: Path) -> None:
    assert are_anchors_in_place(known(tmp_path / "target", position=moved(0, slice(4, 6), 3.0)))
    assert not are_anchors_in_place(known(tmp_path / "prop", position=moved(2, slice(5, 6), 0.3)))


def test_an_event_that_stood_still_unseen_has_not_gone_on_though_it_may_happen_later(tmp_path: Path) -> None:
    paused = np.array([[0, 0], [0.2, 0.2], [0.2, 0.2], [0.2, 0.2], [0.2, 0.2], [1, 1]], np.float64)
    clip = known(tmp_path / "paused", progress=paused)
    assert has_happened(clip)
    assert not has_gone_on_unseen(clip)
    slow = paused.copy()
    slow[4] = 0.52
    assert has_gone_on_unseen(known(tmp_path / "slow", progress=slow))
    assert has_gone_on_unseen(known(tmp_path / "still", {"event": "none"}, progress=paused))


def test_a_target_that_is_gone_at_the_return_has_not_gone_on(tmp_path: Path) -> None:
    gone = np.ones((FRAMES, 3))
    gone[4:, 0] = 0.0
    assert has_gone_on_unseen(known(tmp_path / "there"))
    assert not has_gone_on_unseen(known(tmp_path / "gone", opacity=gone))


def test_half_of_an_event_has_not_happened(tmp_path: Path) -> None:
    assert has_happened(known(tmp_path / "whole"))
    assert not has_happened(known(tmp_path / "half", progress=np.array(HALFWAY) / 2))


def test_what_needs_the_remembered_clip_says_so_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(CannotAnswer, match="Render the model `perfect` too"):
        is_in_place_at_the_end(KnownClip(write(tmp_path / "clip")))


def test_clips_are_known_beside_those_of_their_case_without_faults(tmp_path: Path) -> None:
    fault = [{"fault": "vanish", "severity": 1.0, "dose": 1.0, "dose_unit": "x"}]
    clips = [
        write(tmp_path / "a", {"case": "one"}),
        write(tmp_path / "b", {"case": "one", "model": "vanish", "injections": fault}),
        write(tmp_path / "c", {"case": "two", "model": "vanish", "injections": fault}),
        write(tmp_path / "d", {"case": "one", "model": "perfect+frozen"}),
    ]
    found = {
        (clip.card.case, clip.card.model): clip.remembered and clip.remembered.card.model for clip in index_clips(clips)
    }
    assert found == {
        ("one", "perfect"): "perfect",
        ("one", "vanish"): "perfect",
        ("two", "vanish"): None,
        ("one", "perfect+frozen"): "perfect",
    }
