from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Frame, Reason, Timeline, Unmeasurable, VideoError, describe
from lookaway.io.video import probe
from lookaway.perception.similarity.compared_frames import (
    Canvas,
    MirroredFrames,
    ReferenceFrames,
    both_pictures,
    pairs_at_once,
    partner_of,
)
from lookaway.perception.similarity.frame_fidelity import FrameFidelity
from tests.support.clips import write_clip
from tests.support.compared import beside
from tests.support.watching import rollout_of

TRUTH_FRAMES = 260


@pytest.fixture(scope="module")
def truth(tmp_path_factory) -> Path:
    """260 frames in a container that does not say how many, under a name that says something else."""
    grey = [np.full((16, 16, 3), index % 200, np.uint8) for index in range(TRUTH_FRAMES)]
    return write_clip(tmp_path_factory.mktemp("truth") / "video_97frames.mkv", grey, options={"preset": "ultrafast"})


def answer_of(frames: int, width: int = 64, height: int = 48) -> Timeline:
    return Timeline(np.arange(frames) / 8, width, height)


def pairs(compared, frames: int, rollout) -> dict[int, int]:
    return dict(compared.partners(answer_of(frames), rollout).indices)


def test_each_frame_is_compared_with_the_one_of_the_same_moment(truth):
    rollout = beside(Path("answer.mp4"), truth, start=7)
    partners = ReferenceFrames().partners(answer_of(3), rollout)
    assert (partners.video, dict(partners.indices)) == (truth, {0: 7, 1: 8, 2: 9})


@pytest.mark.parametrize(("answer", "start", "expected"), [(300, 0, 260), (300, 250, 10), (5, 250, 5), (20, 259, 1)])
def test_the_video_that_ends_first_ends_the_comparison(truth, answer, start, expected):
    found = pairs(ReferenceFrames(), answer, beside(Path("answer.mp4"), truth, start))
    assert found == {index: start + index for index in range(expected)}


def test_no_more_frames_than_asked_for_are_compared(truth):
    rollout = beside(Path("answer.mp4"), truth)
    assert len(pairs(ReferenceFrames(most=100), 260, rollout)) == 100
    assert len(pairs(ReferenceFrames(most=100), 60, rollout)) == 60


@pytest.mark.parametrize(("frames", "scored"), [(250, 200), (200, 100), (201, 200), (101, 100)])
def test_the_published_way_leaves_out_the_last_batch_even_where_it_is_full(truth, frames, scored):
    rollout = beside(Path("answer.mp4"), truth)
    found = pairs(ReferenceFrames(dropped_batch=100), frames, rollout)
    assert list(found) == list(range(scored))


@pytest.mark.parametrize("frames", [1, 99, 100])
def test_the_published_way_scores_nothing_of_one_batch(truth, frames):
    with pytest.raises(Unmeasurable, match=f"all {frames} frames are in the last batch of 100") as found:
        pairs(ReferenceFrames(dropped_batch=100), frames, beside(Path("answer.mp4"), truth))
    assert found.value.reason is Reason.TOO_SHORT


def test_the_last_batch_is_that_of_the_frames_that_were_asked_for(truth):
    rollout = beside(Path("answer.mp4"), truth)
    assert len(pairs(ReferenceFrames(most=150, dropped_batch=100), 250, rollout)) == 100
    with pytest.raises(Unmeasurable, match="all 100 frames"):
        pairs(ReferenceFrames(most=100, dropped_batch=100), 250, rollout)


@pytest.mark.parametrize(
    ("stated", "answer", "start", "compared"),
    [(200, 300, 0, 200), (200, 150, 0, 150), (200, 300, 60, 140), (260, 300, 0, 260), (400, 250, 10, 250)],
)
def test_the_published_way_ends_where_the_dataset_says_and_else_files_count(truth, stated, answer, start, compared):
    rollout = beside(Path("answer.mp4"), truth, start, stated)
    published = pairs(ReferenceFrames(stated_end=True), answer, rollout)
    assert published == {index: start + index for index in range(compared)}
    assert len(pairs(ReferenceFrames(), answer, rollout)) == min(answer, TRUTH_FRAMES - start)


def test_the_published_way_drops_the_last_batch_of_what_the_dataset_says(truth):
    rollout = beside(Path("answer.mp4"), truth, 0, 200)
    assert len(pairs(ReferenceFrames(stated_end=True, dropped_batch=100), 260, rollout)) == 100
    assert len(pairs(ReferenceFrames(dropped_batch=100), 260, rollout)) == 200


def test_a_true_video_that_ends_before_the_dataset_says_is_told_where_its_missing_frames_are_wanted(truth):
    rollout = beside(Path("answer.mp4"), truth, 10, 400)
    with pytest.raises(Unmeasurable, match=r"has 400 frames, but it has 260, and 251 are to be compared from") as found:
        pairs(ReferenceFrames(stated_end=True), 251, rollout)
    assert found.value.reason is Reason.INVALID_INPUT
    assert len(pairs(ReferenceFrames(stated_end=True, most=250), 251, rollout)) == 250
    assert len(pairs(ReferenceFrames(), 251, rollout)) == 250


def test_where_nobody_says_how_long_the_true_video_is_its_file_does(truth):
    assert len(pairs(ReferenceFrames(stated_end=True), 300, beside(Path("answer.mp4"), truth, 60))) == 200


def test_a_sampler_of_the_same_frames_looks_at_the_answer_alone(truth):
    compared, rollout = ReferenceFrames(dropped_batch=100), beside(Path("answer.mp4"), truth, start=9)
    assert compared.indices(answer_of(250), rollout) == tuple(range(200))


def test_without_a_true_video_it_declines_and_says_what_to_do():
    rollout = rollout_of(Path("answer.mp4"))
    declined = ReferenceFrames().declines(rollout)
    assert declined.reason is Reason.MISSING_INPUT
    assert "Supply one for it" in declined.message
    with pytest.raises(Unmeasurable, match="names no reference video") as found:
        ReferenceFrames().partners(answer_of(3), rollout)
    assert found.value.reason is Reason.MISSING_INPUT


def test_an_answer_that_begins_before_the_true_video_is_declined(truth):
    declined = ReferenceFrames().declines(beside(Path("answer.mp4"), truth, start=-1))
    assert (declined.reason, "frame -1" in declined.message) == (Reason.INVALID_INPUT, True)
    assert ReferenceFrames().declines(beside(Path("answer.mp4"), truth)) is None


@pytest.mark.parametrize("start", [260, 1000])
def test_a_true_video_that_ends_before_the_answer_begins_is_too_short(truth, start):
    with pytest.raises(Unmeasurable, match=f"has 260 frames, and the generated video begins at frame {start}") as found:
        pairs(ReferenceFrames(), 5, beside(Path("answer.mp4"), truth, start))
    assert found.value.reason is Reason.TOO_SHORT


def test_a_true_video_that_is_missing_or_broken_is_told_from_the_answer(tmp_path):
    (tmp_path / "broken.mp4").write_bytes(b"no video")
    for name, reason in (("missing.mp4", Reason.MISSING_VIDEO), ("broken.mp4", Reason.NOT_A_VIDEO)):
        with pytest.raises(VideoError, match=f"the video to compare with: {name}") as found:
            pairs(ReferenceFrames(), 5, beside(Path("answer.mp4"), tmp_path / name))
        assert found.value.reason is reason


@pytest.mark.parametrize(
    ("frames", "expected"), [(2, {0: 1}), (5, {0: 4, 1: 3}), (6, {0: 5, 1: 4, 2: 3}), (7, {0: 6, 1: 5, 2: 4})]
)
def test_the_way_out_is_compared_with_the_way_back(frames, expected):
    partners = MirroredFrames().partners(answer_of(frames), rollout_of(Path("answer.mp4")))
    assert (partners.video, dict(partners.indices)) == (Path("answer.mp4"), expected)


def test_the_published_way_refuses_an_odd_number_of_frames():
    rollout = rollout_of(Path("answer.mp4"))
    assert pairs(MirroredFrames(even_only=True), 4, rollout) == {0: 3, 1: 2}
    with pytest.raises(Unmeasurable, match="5 frames are not an even number") as found:
        pairs(MirroredFrames(even_only=True), 5, rollout)
    assert found.value.reason is Reason.INVALID_INPUT


def test_a_single_frame_has_no_way_back():
    rollout = rollout_of(Path("answer.mp4"))
    assert MirroredFrames().declines(rollout) is None
    with pytest.raises(Unmeasurable, match="there is one") as found:
        pairs(MirroredFrames(), 1, rollout)
    assert found.value.reason is Reason.TOO_SHORT


def test_a_request_asks_for_just_the_compared_frames_at_their_own_size(truth):
    rollout = beside(truth, truth, start=255)
    request = FrameFidelity().request(probe(truth), rollout)
    assert (sorted(request.indices), request.height) == ([0, 1, 2, 3, 4], None)
    assert dict(request.partners.indices) == {index: 255 + index for index in range(5)}


def a_pair(size: tuple[int, int], other: tuple[int, int]) -> Frame:
    pictures = [np.full((*each, 3), 9, np.uint8) for each in (size, other)]
    return Frame(3, 0.0, pictures[0], Frame(5, 0.0, pictures[1]))


def test_frames_of_two_sizes_are_compared_on_a_canvas_alone():
    frame = a_pair((48, 64), (96, 128))
    with pytest.raises(Unmeasurable, match="frames are 64 x 48, those they are compared with 128 x 96") as found:
        both_pictures(frame, None)
    assert found.value.reason is Reason.INVALID_INPUT
    assert [picture.shape for picture in both_pictures(frame, Canvas(30, 40))] == [(30, 40, 3)] * 2


def test_frames_of_one_size_stay_as_they_are_without_a_canvas():
    frame = a_pair((48, 64), (48, 64))
    first, second = both_pictures(frame, None)
    assert first is frame.pixels
    assert second is partner_of(frame).pixels


def test_a_frame_that_comes_alone_is_a_fault_of_ours():
    with pytest.raises(ValueError, match="frame 3 was requested with a partner"):
        both_pictures(Frame(3, 0.0, np.zeros((4, 4, 3), np.uint8)), None)


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (320, 240), (3840, 2160)])
def test_pairs_that_wait_beside_one_of_1080p_take_no_more_than_64_megabytes(width, height):
    pair = 3 * (width * height + max(width * height, 1920 * 1080))
    waiting = pairs_at_once(answer_of(9, width, height))
    assert waiting >= 1
    assert waiting * pair <= 64 * 2**20 or waiting == 1


def test_numbers_of_frames_are_positive_and_in_the_lock():
    for field in ("most", "dropped_batch"):
        with pytest.raises(ValueError, match=f"{field} is a number of frames"):
            ReferenceFrames(**{field: 0})
    frames = {"kind": "ReferenceFrames", "most": 100, "dropped_batch": 10, "stated_end": False}
    assert describe(ReferenceFrames(100, 10)) == frames
    assert describe(MirroredFrames(True)) == {"kind": "MirroredFrames", "even_only": True}
