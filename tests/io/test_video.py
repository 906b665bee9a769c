import subprocess
import sys

import numpy as np
import pytest

from lookaway.core import FrameRequest
from lookaway.io.sampling import AtFps
from lookaway.io.video import Video, decoder_identity, probe
from tests.support.clips import LOSSLESS, numbered_frames, write_clip

FRAMES = numbered_frames(40)
MAX_AHEAD = 5
"""x264 stores a frame at most four frames before it is shown, and a frame is trusted when those have been decoded."""


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """40 lossless frames at 16 frames per second."""
    return write_clip(tmp_path_factory.mktemp("video") / "clip.mp4", FRAMES, **LOSSLESS)


def request(*indices, height=None):
    return FrameRequest(indices=frozenset(indices), height=height)


def read(path, *indices, height=None):
    with Video(path) as video:
        wanted = indices or range(video.timeline.frame_count)
        return [frame for _, frame in video.frames([request(*wanted, height=height)])]


def test_every_frame_comes_back_as_it_was_encoded(clip):
    frames = read(clip)
    assert [frame.index for frame in frames] == list(range(40))
    for frame, encoded in zip(frames, FRAMES, strict=True):
        np.testing.assert_array_equal(frame.pixels, encoded)


def test_every_frame_knows_its_time(clip):
    assert [frame.time_seconds for frame in read(clip)] == [index / 16 for index in range(40)]


def test_the_timeline_tells_count_size_and_rate(clip):
    timeline = probe(clip)
    assert (timeline.frame_count, timeline.width, timeline.height, timeline.fps) == (40, 64, 48, 16.0)


def test_probing_decodes_one_picture_at_most(clip):
    with Video(clip) as video:
        assert video.timeline.frame_count == 40
        assert video.decoded_pictures == 0


def test_a_clip_of_one_frame_has_no_rate(tmp_path):
    timeline = probe(write_clip(tmp_path / "one.mp4", FRAMES[:1], **LOSSLESS))
    assert (timeline.frame_count, timeline.fps) == (1, None)


def test_requests_of_several_heights_share_one_pass(clip):
    requests = [request(3, 7), request(7, 9, height=24), request(3, 7, 9, height=12)]
    with Video(clip) as video:
        seen = [(frame.index, position, frame.pixels.shape) for position, frame in video.frames(requests)]
        assert video.decoded_pictures < 10 + MAX_AHEAD
    assert seen == [
        (3, 0, (48, 64, 3)),
        (3, 2, (12, 16, 3)),
        (7, 0, (48, 64, 3)),
        (7, 1, (24, 32, 3)),
        (7, 2, (12, 16, 3)),
        (9, 1, (24, 32, 3)),
        (9, 2, (12, 16, 3)),
    ]


def test_a_shared_pass_gives_what_a_pass_of_its_own_gives(clip):
    alone = read(clip, 5, height=20)[0]
    with Video(clip) as video:
        shared = [frame for position, frame in video.frames([request(5, 6), request(5, height=20)]) if position == 1]
    np.testing.assert_array_equal(shared[0].pixels, alone.pixels)


def test_frames_of_one_height_are_converted_once(clip):
    with Video(clip) as video:
        first, second = (frame for _, frame in video.frames([request(4, height=24), request(4, height=24)]))
    assert first.pixels is second.pixels


def test_nobody_can_write_into_a_frame(clip):
    with pytest.raises(ValueError, match="read-only"):
        read(clip, 0)[0].pixels[0, 0] = 0


@pytest.mark.parametrize(("height", "width"), [(24, 32), (30, 40), (7, 9), (1, 1), (96, 128), (48, 64)])
def test_the_width_follows_the_aspect_ratio(clip, height, width):
    assert read(clip, 0, height=height)[0].pixels.shape == (height, width, 3)


def test_shrinking_averages(tmp_path):
    checks = np.indices((64, 64)).sum(axis=0) % 2 * 255
    leaderboard = np.repeat(checks[..., None], 3, axis=2).astype(np.uint8)
    frame = read(write_clip(tmp_path / "board.mp4", [leaderboard], **LOSSLESS), height=16)[0]
    assert np.abs(frame.pixels.astype(int) - 127.5).max() <= 1


def test_no_request_decodes_nothing(clip):
    with Video(clip) as video:
        assert list(video.frames([])) == []
        assert list(video.frames([request()])) == []
        assert video.decoded_pictures == 0


def test_decoding_stops_after_the_last_requested_frame(clip):
    with Video(clip) as video:
        assert [frame.index for _, frame in video.frames([request(2)])] == [2]
        assert video.decoded_pictures < 3 + MAX_AHEAD


@pytest.mark.parametrize("indices", [(-1, 3), (3, 40)])
def test_a_frame_outside_the_video_is_a_mistake_of_the_caller(clip, indices):
    with Video(clip) as video, pytest.raises(IndexError, match="from a video of 40 frames"):
        video.frames([request(*indices)])


def test_a_height_of_nothing_is_a_mistake_of_the_caller(clip):
    with Video(clip) as video, pytest.raises(ValueError, match="at least 1"):
        video.frames([request(0, height=0)])


def test_two_passes_do_not_disturb_each_other(clip):
    with Video(clip) as video:
        together = zip(video.frames([request(*range(20))]), video.frames([request(*range(20, 40))]), strict=True)
        for (_, early), (_, late) in together:
            np.testing.assert_array_equal(early.pixels, FRAMES[early.index])
            np.testing.assert_array_equal(late.pixels, FRAMES[late.index])
            assert late.index == early.index + 20


def test_a_later_pass_finds_what_a_pass_kept(clip):
    first, second = FrameRequest(frozenset({1}), 24), FrameRequest(frozenset(range(4)))
    with Video(clip) as fresh:
        expected = [frame.pixels for _, frame in fresh.frames([second])]
    with Video(clip) as video:
        list(video.frames([first], keep=True))
        decoded = video.decoded_pictures
        found = [frame.pixels for _, frame in video.frames([second])]
        assert video.decoded_pictures == decoded == video.timeline.frame_count
    np.testing.assert_array_equal(found, expected)


def test_pictures_that_take_too_much_memory_are_not_kept(clip, monkeypatch):
    monkeypatch.setattr("lookaway.io.video.KEPT_BYTES", 1000)
    request = FrameRequest(frozenset({0, 1}))
    with Video(clip) as video:
        first = [frame.pixels for _, frame in video.frames([request], keep=True)]
        once = video.decoded_pictures
        second = [frame.pixels for _, frame in video.frames([request])]
        assert video.decoded_pictures == 2 * once
    np.testing.assert_array_equal(first, second)


def test_a_pass_broken_off_keeps_nothing(clip):
    everything = FrameRequest(frozenset(range(4)))
    with Video(clip) as video:
        next(video.frames([everything], keep=True))
        assert [frame.index for _, frame in video.frames([everything])] == [0, 1, 2, 3]


def test_a_closed_video_says_so(clip):
    with Video(clip) as video:
        frames = video.frames([request(0, 1, 2)])
        next(frames)
    with pytest.raises(ValueError, match="the video is closed"):
        next(frames)


@pytest.mark.parametrize(
    ("frames", "step", "starts", "last"),
    [
        (16, None, [0, 16, 32], 8),
        (16, 8, [0, 8, 16, 24], 16),
        (16, 1, list(range(25)), 16),
        (40, None, [0], 40),
        (64, None, [0], 40),
        (64, 3, [0], 40),
        (12, 5, [0, 5, 10, 15, 20, 25, 30], 10),
        (1, None, list(range(40)), 1),
    ],
)
def test_windows_cover_every_frame_and_are_bounded(clip, frames, step, starts, last):
    with Video(clip) as video:
        windows = [[frame.index for frame in window] for window in video.windows(frames, step=step)]
    assert [window[0] for window in windows] == starts
    assert [len(window) for window in windows] == [frames] * (len(starts) - 1) + [last]
    assert all(window == list(range(window[0], window[0] + len(window))) for window in windows)
    assert set().union(*windows) == set(range(40))


def test_windows_are_scaled(clip):
    with Video(clip) as video:
        assert {frame.pixels.shape for window in video.windows(16, height=24) for frame in window} == {(24, 32, 3)}


@pytest.mark.parametrize(("frames", "step"), [(0, None), (8, 0), (8, 9), (8, -1)])
def test_windows_that_would_leave_out_frames_are_refused(clip, frames, step):
    with Video(clip) as video, pytest.raises(ValueError, match="do not cover"):
        video.windows(frames, step=step)


@pytest.mark.parametrize(("name", "codec"), [("vfr.mp4", "libx264"), ("vfr.mkv", "libx264"), ("vfr.mp4", "mpeg4")])
def test_a_variable_frame_rate_keeps_its_times(tmp_path, name, codec):
    times = [0, 0.1, 0.15, 0.5, 0.52, 0.53, 1.0]
    path = write_clip(tmp_path / name, FRAMES[:7], codec=codec, times=times)
    timeline = probe(path)
    assert timeline.times_seconds == pytest.approx(times, abs=1e-3)
    assert [frame.time_seconds for frame in read(path)] == timeline.times_seconds.tolist()
    # Ticks at 0.6 to 0.9 s show the sixth frame; no tick falls on the fifth.
    assert AtFps(10).indices(timeline, None) == (0, 1, 2, 3, 5, 6)


def test_times_count_from_the_first_frame(tmp_path):
    path = write_clip(tmp_path / "late.mkv", FRAMES[:4], times=[5.0, 5.25, 5.5, 6.0])
    assert probe(path).times_seconds.tolist() == [0, 0.25, 0.5, 1.0]


def test_dropped_frames_of_an_avi_keep_their_place_in_time(tmp_path):
    path = tmp_path / "gap.avi"
    write_clip(path, FRAMES[:5], codec="ffv1", pixel_format="bgr0", times=[0, 0.1, 0.2, 0.6, 0.7], fps=10)
    assert probe(path).times_seconds == pytest.approx([0, 0.1, 0.2, 0.6, 0.7])
    for frame in read(path):
        np.testing.assert_array_equal(frame.pixels, FRAMES[frame.index])


@pytest.mark.parametrize(
    "name", ["a b.mp4", "clip%03d.mp4", "http:clip.mp4", "ü☃.mp4", "a?b#c.mp4", "-i.mp4", "pipe:0"]
)
def test_the_name_of_a_file_is_only_a_name(clip, tmp_path, name):
    (tmp_path / name).write_bytes(clip.read_bytes())
    assert probe(tmp_path / name).frame_count == 40


def test_a_relative_path_is_read(clip, monkeypatch):
    monkeypatch.chdir(clip.parent)
    assert probe("clip.mp4").frame_count == 40


def test_the_decoder_names_everything_that_moves_a_pixel():
    identity = decoder_identity()
    assert {"pyav", "libavcodec", "libavformat", "libswscale", "colour", "shrink", "enlarge"} <= identity.keys()
    assert identity == decoder_identity()


MEASURE_MEMORY = """
import re, sys
from pathlib import Path
from lookaway.core import FrameRequest
from lookaway.io.video import Video

def peak_megabytes():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

before = peak_megabytes()
with Video(sys.argv[1]) as video:
    windowed = sum(len(window) for window in video.windows(16, height=270))
    every_second = FrameRequest(frozenset(range(0, video.timeline.frame_count, 24)))
    sampled = sum(frame.pixels.nbytes for _, frame in video.frames([every_second]))
print(windowed, sampled, before, peak_megabytes())
"""


@pytest.mark.merge
def test_a_minute_of_1080p_fits_into_300_megabytes(tmp_path):
    scenes = numbered_frames(6, width=1920, height=1080)
    path = write_clip(
        tmp_path / "minute.mp4",
        (scenes[index // 240] for index in range(1440)),
        fps=24,
        options={"preset": "ultrafast", "g": "250"},
    )
    # A process of its own, and its own high-water mark: a child's ru_maxrss starts with that of its parent.
    run = subprocess.run(
        [sys.executable, "-c", MEASURE_MEMORY, str(path)], capture_output=True, text=True, check=True, timeout=120
    )
    windowed, sampled, before, peak = (float(number) for number in run.stdout.split())
    print(f"peak {peak:.0f} MB, {peak - before:.0f} MB above the imports")
    assert (windowed, sampled) == (1440, 60 * 1080 * 1920 * 3)
    assert peak < 300
    assert peak - before < 120
