import os

import av
import numpy as np
import pytest

from lookaway.core import FrameRequest, VideoError
from lookaway.io.encoding import write_video
from lookaway.io.video import Video
from tests.support.clips import numbered_frames

FRAMES = numbered_frames(60)


def decoded(path):
    with Video(path) as video:
        wanted = FrameRequest(indices=frozenset(range(video.timeline.frame_count)))
        return np.stack([frame.pixels for _, frame in video.frames([wanted])])


def flat(*colour):
    return np.full((32, 32, 3), colour, np.uint8)


def psnr(found, expected):
    return 10 * np.log10(255**2 / ((found.astype(float) - expected) ** 2).mean())


def luma(pixels):
    return pixels.astype(float) @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize(
    "colour", [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0), (200, 120, 40), (40, 120, 200)]
)
def test_flat_colours_come_back_within_three_levels(tmp_path, colour):
    write_video(tmp_path / "a.mp4", [flat(*colour)] * 3, 8)
    assert np.abs(decoded(tmp_path / "a.mp4").astype(int) - flat(*colour)).max() <= 3


def test_texture_comes_back_as_well_as_half_the_resolution_of_colour_allows(tmp_path):
    write_video(tmp_path / "a.mp4", FRAMES[:8], 8)
    found = decoded(tmp_path / "a.mp4")
    assert psnr(luma(found), luma(np.stack(FRAMES[:8]))) > 40


def test_a_grey_texture_comes_back_at_more_than_40_decibels(tmp_path):
    grey = [np.repeat(frame[..., :1], 3, axis=2) for frame in FRAMES[:8]]
    write_video(tmp_path / "a.mp4", grey, 8)
    assert psnr(decoded(tmp_path / "a.mp4"), np.stack(grey)) > 40


def test_a_lossless_video_keeps_every_pixel(tmp_path):
    write_video(tmp_path / "a.mp4", FRAMES, 8, lossless=True)
    np.testing.assert_array_equal(decoded(tmp_path / "a.mp4"), np.stack(FRAMES))


def test_colour_matrix_transfer_primaries_and_range_are_tagged(tmp_path):
    write_video(tmp_path / "a.mp4", FRAMES[:2], 8)
    with av.open(tmp_path / "a.mp4") as container:
        picture = next(container.decode(video=0))
        context = container.streams.video[0].codec_context
        assert picture.format.name == "yuv420p"
        for found in (picture, context):
            assert (found.colorspace, found.color_range, found.color_trc, found.color_primaries) == (1, 1, 1, 1)


def test_every_24th_frame_is_a_keyframe_and_no_other(tmp_path):
    frames = [*FRAMES[:40], *numbered_frames(20, seed=1)]  # a cut, which x264 would answer with a keyframe
    write_video(tmp_path / "a.mp4", frames, 24)
    with av.open(tmp_path / "a.mp4") as container:
        keys = [index for index, picture in enumerate(container.decode(video=0)) if picture.key_frame]
    assert keys == [0, 24, 48]


@pytest.mark.parametrize("fps", [1, 12, 24, 120])
def test_frames_have_the_times_of_their_rate(tmp_path, fps):
    write_video(tmp_path / "a.mp4", FRAMES[:10], fps)
    with Video(tmp_path / "a.mp4") as video:
        np.testing.assert_allclose(video.timeline.times_seconds, np.arange(10) / fps, atol=1e-6)


def test_two_writes_of_the_same_frames_decode_to_the_same_pixels(tmp_path):
    for name in ("a.mp4", "b.mp4"):
        write_video(tmp_path / name, iter(FRAMES), 12)
    np.testing.assert_array_equal(decoded(tmp_path / "a.mp4"), decoded(tmp_path / "b.mp4"))


def test_what_other_code_left_in_memory_changes_no_pixel(tmp_path):
    random = np.random.default_rng(0)
    frames = [
        random.normal(frame, 12).clip(0, 255).astype(np.uint8) for frame in numbered_frames(8, width=416, height=240)
    ]
    found = []
    for _ in range(3):
        junk = [random.integers(0, 256, int(size), np.uint8) for size in random.integers(1_000, 4_000_000, 10)]
        del junk
        write_video(tmp_path / "a.mp4", frames, 12)
        found.append(decoded(tmp_path / "a.mp4"))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_frames_that_are_views_of_other_memory_are_written_as_they_look(tmp_path):
    write_video(tmp_path / "a.mp4", [frame[::-1, ::-1] for frame in FRAMES[:3]], 8, lossless=True)
    np.testing.assert_array_equal(decoded(tmp_path / "a.mp4"), np.stack(FRAMES[:3])[:, ::-1, ::-1])


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([], "no pictures"),
        ([np.zeros((32, 33, 3), np.uint8)], "frame 0 is 32x33, expected even sides"),
        ([np.zeros((31, 32, 3), np.uint8)], "frame 0 is 31x32, expected even sides"),
        ([np.zeros((0, 32, 3), np.uint8)], "even sides"),
        ([np.zeros((32, 32), np.uint8)], "expected uint8"),
        ([np.zeros((32, 32, 4), np.uint8)], "expected uint8"),
        ([np.zeros((32, 32, 3), np.float32)], "float32"),
        ([flat(1, 2, 3), np.zeros((32, 64, 3), np.uint8)], "frame 1 has the shape"),
    ],
)
@pytest.mark.parametrize("lossless", [False, True])
def test_frames_that_cannot_be_a_video_are_refused_and_leave_no_file(tmp_path, frames, words, lossless):
    with pytest.raises(ValueError, match=words):
        write_video(tmp_path / "a.mp4", frames, 8, lossless=lossless)
    assert os.listdir(tmp_path) == []


def test_a_writer_that_fails_leaves_what_was_there_before(tmp_path):
    def failing():
        yield from FRAMES[:30]
        raise KeyboardInterrupt

    write_video(tmp_path / "a.mp4", FRAMES[:3], 8)
    before = (tmp_path / "a.mp4").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_video(tmp_path / "a.mp4", failing(), 8)
    assert os.listdir(tmp_path) == ["a.mp4"]
    assert (tmp_path / "a.mp4").read_bytes() == before


def test_a_damaged_video_is_read_in_full_or_refused(tmp_path):
    write_video(tmp_path / "a.mp4", FRAMES[:12], 8)
    data = (tmp_path / "a.mp4").read_bytes()
    random = np.random.default_rng(0)
    refusals = 0
    for attempt in range(40):
        copy = bytearray(data)
        copy[random.integers(len(data))] ^= 1 << random.integers(8)
        (tmp_path / "b.mp4").write_bytes(copy if attempt % 4 else data[: random.integers(len(data))])
        try:
            decoded(tmp_path / "b.mp4")
        except VideoError:
            refusals += 1
    assert refusals > 15
