from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.core import Case, Rollout, Timeline, describe
from lookaway.core.frames import segment_bounds
from lookaway.io.sampling import (
    AtFps,
    BySegment,
    EveryFrame,
    SpreadFrames,
    SteppedFrames,
    UniformFrames,
    spread,
)
from tests.support.golden import golden_numbers

COUNTS = st.integers(1, 500)


def timeline(times):
    return Timeline(times_seconds=np.asarray(times, np.float64), width=64, height=48)


def steady(frames, fps=16.0):
    return timeline(np.arange(frames) / fps)


def rollout(*, segments=1):
    case = Case(id="case", subset="subset", scene="scene", prompt=("a segment",) * segments)
    return Rollout(case=case, model="model", video=Path("video.mp4"))


def check(indices, frame_count):
    """What every sampler promises."""
    assert all(isinstance(index, int) for index in indices)
    assert list(indices) == sorted(set(indices))
    assert all(0 <= index < frame_count for index in indices)


@pytest.mark.parametrize(
    ("count", "frames", "expected"),
    [
        (3, 11, (0, 5, 10)),
        (2, 100, (0, 99)),
        (1, 100, (0,)),
        (5, 5, (0, 1, 2, 3, 4)),
        (8, 5, (0, 1, 2, 3, 4)),
        (4, 10, (0, 3, 6, 9)),
        (7, 1, (0,)),
    ],
)
def test_uniform_frames_include_both_ends(count, frames, expected):
    assert UniformFrames(count).indices(steady(frames), rollout()) == expected


@pytest.mark.parametrize(("step", "frames", "expected"), [(1, 3, (0, 1, 2)), (3, 8, (0, 3, 6)), (9, 8, (0,))])
def test_every_kth_frame_starts_with_the_first(step, frames, expected):
    assert EveryFrame(step).indices(steady(frames), rollout()) == expected


@pytest.mark.parametrize(
    ("fps", "frames", "of", "expected"),
    [
        (8, 8, 16, (0, 2, 4, 6)),
        (16, 5, 16, (0, 1, 2, 3, 4)),
        (5, 16, 16, (0, 3, 6, 9, 12)),
        (60, 5, 16, (0, 1, 2, 3, 4)),
        (1, 49, 24, (0, 24, 48)),
        (1, 48, 24, (0, 24)),
        (0.5, 24, 24, (0,)),
        (10, 1, 24, (0,)),
    ],
)
def test_a_clock_shows_the_frame_that_is_on_screen(fps, frames, of, expected):
    assert AtFps(fps).indices(steady(frames, of), rollout()) == expected


@pytest.mark.parametrize("fps", [24, 30, 60, 29.97, 23.976])
@pytest.mark.parametrize("per_second", [1000, 10_000, 90_000])
def test_a_clock_of_the_videos_own_rate_shows_every_frame_however_its_times_were_rounded(fps, per_second):
    times = np.rint(np.arange(600) / fps * per_second) / per_second
    assert AtFps(fps).indices(timeline(times), rollout()) == tuple(range(600))
    assert AtFps(fps / 2).indices(timeline(times), rollout()) == tuple(range(0, 600, 2))


def test_a_frame_that_stays_is_taken_once():
    assert AtFps(10).indices(timeline([0, 0.1, 1.0]), rollout()) == (0, 1, 2)


def test_a_gap_of_years_takes_no_memory():
    assert AtFps(30).indices(timeline([0, 1 / 30, 1e9]), rollout()) == (0, 1, 2)


def test_segments_share_the_video():
    assert BySegment(2).indices(steady(12), rollout(segments=3)) == (0, 3, 4, 7, 8, 11)
    assert BySegment(3).indices(steady(9), rollout(segments=1)) == (0, 4, 8)
    assert BySegment(3).indices(steady(9), rollout(segments=0)) == (0, 4, 8)


def test_segments_without_frames_give_none():
    assert BySegment(4).indices(steady(2), rollout(segments=5)) == (0, 1)


def test_spread_frames_are_rounded_down():
    assert SpreadFrames(5).indices(steady(82), rollout()) == tuple(int(i * 81 / 4) for i in range(5))
    assert SpreadFrames(5).indices(steady(2), rollout()) == (0, 1)
    with pytest.raises(ValueError, match="2 or more"):
        SpreadFrames(1)


SAMPLERS = [UniformFrames(8), SpreadFrames(5), EveryFrame(2), AtFps(2.0), BySegment(3)]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_equal_samplers_are_one_key(sampler):
    again = type(sampler)(**{name: getattr(sampler, name) for name in sampler.__slots__})
    assert again == sampler
    assert len({sampler, again}) == 1
    assert describe(again) == describe(sampler)


def test_samplers_that_choose_alike_but_mean_different_things_are_not_equal():
    assert UniformFrames(3) != BySegment(3)
    assert len({UniformFrames(3), UniformFrames(4), BySegment(3), EveryFrame(3), AtFps(3)}) == 5


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (UniformFrames, (0,)),
        (EveryFrame, (0,)),
        (EveryFrame, (-2,)),
        (AtFps, (0.0,)),
        (AtFps, (float("nan"),)),
        (AtFps, (float("inf"),)),
        (BySegment, (0,)),
    ],
)
def test_a_sampler_of_nothing_cannot_be_made(kind, values):
    with pytest.raises(ValueError, match="positive"):
        kind(*values)


@given(COUNTS, COUNTS)
def test_uniform_frames_are_as_many_as_asked_or_all(count, frames):
    indices = UniformFrames(count).indices(steady(frames), rollout())
    check(indices, frames)
    assert len(indices) == min(count, frames)
    assert indices[0] == 0
    assert count == 1 or indices[-1] == frames - 1


@given(COUNTS, COUNTS)
def test_uniform_frames_are_even(count, frames):
    gaps = np.diff(UniformFrames(count).indices(steady(frames), rollout()))
    assert gaps.size == 0 or gaps.max() - gaps.min() <= 1


@given(COUNTS, COUNTS)
def test_every_kth_frame_leaves_no_gap(step, frames):
    indices = EveryFrame(step).indices(steady(frames), rollout())
    check(indices, frames)
    assert set(np.diff(indices)) <= {step}
    assert frames - indices[-1] <= step


@given(st.floats(0.1, 240), st.lists(st.floats(0.001, 2), max_size=100))
def test_a_clock_shows_exactly_the_frames_that_a_slow_look_finds(fps, gaps):
    times = np.concatenate([[0], np.cumsum(gaps)])
    indices = AtFps(fps).indices(timeline(times), rollout())
    check(indices, len(times))
    # Ticks close to the start of a frame may be counted to either side of it.
    ticks = np.arange(int(times[-1] * fps) + 1) / fps
    nearest = np.abs(ticks[:, None] - times[None, :]).min(axis=1)
    clear = ticks[nearest > 1e-3]
    shown = set((np.searchsorted(times, clear, side="right") - 1).tolist())
    assert shown <= set(indices)
    assert len(indices) <= len(ticks) + 1


@given(COUNTS, st.integers(1, 12), COUNTS)
def test_segments_give_their_share(count, segments, frames):
    indices = BySegment(count).indices(steady(frames), rollout(segments=segments))
    check(indices, frames)
    lengths = [stop - start for start, stop in segment_bounds(frames, segments)]
    assert len(indices) == sum(min(count, length) for length in lengths)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 60))
def test_spreading_stays_within_its_bounds(start, length, count):
    indices = spread(start, start + length, count)
    check(indices, start + length)
    assert all(index >= start for index in indices)
    assert len(indices) == min(count, length)


def test_steps_are_those_of_wrbench():
    listed = golden_numbers("wrbench")["sampling"]
    assert len(listed) == 7
    for row in listed:
        sampler = SteppedFrames(fps=row["sample_fps"], max_frames=row["cap"])
        assert list(sampler.indices(steady(row["frames"], row["source_fps"]), rollout())) == row["indices"]


def test_steps_have_both_ends_and_no_frame_twice():
    assert SteppedFrames(3, 24).indices(steady(1), rollout()) == (0,)
    assert SteppedFrames(3, 24).indices(steady(5, 2), rollout()) == (0, 1, 2, 3, 4)
    assert SteppedFrames(3, 2).indices(steady(90, 30), rollout()) == (0, 89)
    with pytest.raises(ValueError, match="2 or more"):
        SteppedFrames(3, 1)
