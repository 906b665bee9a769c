"""Per-frame values as curves over the time of the video, and the bands of its phases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from lookaway.core.frames import segment_bounds
from lookaway.reports.case_page.videos import CaseVideo, CaseVideos, Outcome, known_truth

WIDTH, HEIGHT = 500, 200
LEFT, RIGHT, TOP, BOTTOM = 48, 14, 10, 26
MAX_POINTS: Final = 4000
"""The most points of all lines of a page together; its CSV file has all of them."""
MIN_POINTS: Final = 16
TABLE_TIMES: Final = 4


class CurvePoint(NamedTuple):
    """A value at a time; `None` where the frame has none."""

    seconds: float
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One video."""

    video: CaseVideo
    path: str
    """As SVG writes it."""
    end: tuple[float, float]
    """The position of its mark."""
    low: float
    high: float
    drift: float | None
    """By how much the value changes in a second, along a straight line; `None` for a single value."""
    sampled: tuple[CurvePoint, ...]
    """A few of its values, for the table."""


PLOT: Final = {
    "width": WIDTH,
    "height": HEIGHT,
    "left": LEFT,
    "right": WIDTH - RIGHT,
    "top": TOP,
    "bottom": HEIGHT - BOTTOM,
}
"""The plot area."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveChart:
    """All videos of a case under one metric of one run."""

    title: str
    run: str
    unit: str | None
    higher_is_better: bool | None
    lines: tuple[Line, ...]
    value_ticks: tuple[tuple[float, str], ...]
    """Height in the picture, and label."""
    time_ticks: tuple[tuple[float, str], ...]
    seconds: float


def curve_charts(case: CaseVideos) -> list[CurveChart]:
    """A chart for every metric that gives frames a value."""
    series: dict[tuple[str, str], list[tuple[CaseVideo, Outcome, list[CurvePoint]]]] = {}
    for video, outcome in case.outcomes():
        points = _points(video, outcome)
        if any(point.value is not None for point in points):
            series.setdefault((outcome.run.name, outcome.metric.name), []).append((video, outcome, points))
    seconds = max((video.clip.seconds for video in case.videos if video.clip), default=0.0)
    lines = sum(len(found) for found in series.values())
    most = max(MIN_POINTS, MAX_POINTS // lines) if lines else 0
    return [_chart(found, seconds, most) for found in series.values()]


def thinned(points: Sequence[CurvePoint], most: int) -> list[CurvePoint]:
    """At most so many points: the lowest and the highest of every stretch, so that no spike is lost, and all gaps.

    >>> [point.seconds for point in thinned([CurvePoint(t, float(t == 5)) for t in range(9)], 4)]
    [0, 3, 4, 5]
    """
    if len(points) <= most:
        return list(points)
    stretches = max(1, most // 2)
    kept: dict[int, None] = {}
    for stretch in range(stretches):
        inside = range(len(points) * stretch // stretches, len(points) * (stretch + 1) // stretches)
        valued = [(value, n) for n in inside if (value := points[n].value) is not None]
        ends = {min(valued)[1], max(valued)[1]} if valued else {inside.start}
        kept.update(dict.fromkeys(sorted(ends)))
    return [points[n] for n in kept]


def round_values(low: float, high: float) -> list[float]:
    """Three to six round numbers between two others.

    >>> round_values(0.312, 0.947), round_values(-3, 41)
    ([0.4, 0.6, 0.8], [0.0, 10.0, 20.0, 30.0, 40.0])
    """
    rough = (high - low) / 3
    size = 10.0 ** math.floor(math.log10(rough))
    step = max(size * factor for factor in (1, 2, 5) if size * factor <= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _points(video: CaseVideo, outcome: Outcome) -> list[CurvePoint]:
    found = []
    for unit in outcome.units:
        seconds = None if unit.frame is None else video.seconds(unit.frame)
        if seconds is not None:
            found.append(CurvePoint(seconds, unit.value if unit.status == "score" else None))
    return sorted(found, key=lambda point: point.seconds)


def _chart(found: Sequence[tuple[CaseVideo, Outcome, list[CurvePoint]]], seconds: float, most: int) -> CurveChart:
    values = [point.value for _, _, points in found for point in points if point.value is not None]
    low, high = _padded(min(values), max(values))
    outcome = found[0][1]
    return CurveChart(
        title=outcome.metric.name,
        run=outcome.run.name,
        unit=outcome.metric.unit,
        higher_is_better=outcome.metric.higher_is_better,
        lines=tuple(_line(video, points, (low, high, seconds), most) for video, _, points in found),
        value_ticks=tuple((_down(value, low, high), f"{value:.6g}") for value in round_values(low, high)),
        time_ticks=tuple((_across(seconds * n / 4, seconds), f"{seconds * n / 4:.2f}") for n in range(5)),
        seconds=seconds,
    )


def _line(video: CaseVideo, points: Sequence[CurvePoint], scale: tuple[float, float, float], most: int) -> Line:
    low, high, seconds = scale
    placed = list(_placed(thinned(points, most), low, high, seconds))
    valued = [point for point in points if point.value is not None]
    values = [point.value for point in valued if point.value is not None]
    step = max(1, -(-len(valued) // TABLE_TIMES))
    return Line(
        video=video,
        path="".join(f"{command}{x:g},{y:g}" for command, x, y in placed),
        end=placed[-1][1:],
        low=min(values),
        high=max(values),
        drift=drift_per_second(valued),
        sampled=tuple(valued[::step]),
    )


def drift_per_second(points: Sequence[CurvePoint]) -> float | None:
    """The slope of the straight line nearest to all points that have a value.

    >>> drift_per_second([CurvePoint(0.0, 1.0), CurvePoint(1.0, None), CurvePoint(2.0, 0.5)])
    -0.25
    >>> drift_per_second([CurvePoint(0.0, 1.0)]) is None
    True
    """
    known = [(point.seconds, point.value) for point in points if point.value is not None]
    if len(known) < 2:
        return None
    times, values = np.transpose(known)
    times = times - times.mean()
    return float(times @ (values - values.mean()) / (times @ times))


def _placed(
    points: Sequence[CurvePoint], low: float, high: float, seconds: float
) -> Iterator[tuple[str, float, float]]:
    command = "M"
    for point in points:
        if point.value is None:
            command = "M"  # a frame without a value is a gap, not a guess
            continue
        yield command, _across(point.seconds, seconds), _down(point.value, low, high)
        command = "L"


def _across(time: float, seconds: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * (time / seconds if seconds else 0.0), 1)


def _down(value: float, low: float, high: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low), 1)


def _padded(low: float, high: float) -> tuple[float, float]:
    """A margin above and below, also where all values are the same."""
    room = (high - low) * 0.05 or max(abs(high), 1.0) * 0.05
    return low - room, high + room


SHADES = 4
PHASES = ("visible", "disappeared", "reappeared")
"""Phases of the simulated world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One phase or segment."""

    name: str
    start: float
    """In seconds."""
    end: float
    shade: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BandRow:
    """The bands of all videos that share them."""

    videos: tuple[CaseVideo, ...]
    bands: tuple[Band, ...]


def band_rows(case: CaseVideos) -> list[BandRow]:
    """Bands by the videos that share them, those of most videos first."""
    shared: dict[tuple[Band, ...], list[CaseVideo]] = {}
    for video in case.videos:
        bands = _bands(case, video)
        if bands:
            shared.setdefault(bands, []).append(video)
    ordered = sorted(shared.items(), key=lambda entry: -len(entry[1]))
    return [BandRow(videos=tuple(videos), bands=bands) for bands, videos in ordered]


def _bands(case: CaseVideos, video: CaseVideo) -> tuple[Band, ...]:
    if video.clip is None or video.described is None:
        return ()
    count, times = video.clip.frame_count, video.clip.times
    stretches = dict(video.described.phases) or _true_phases(video) or _segments(case, count)
    found = []
    for number, (name, (start, end)) in enumerate(stretches.items()):
        start, end = (min(max(frame, 0), count) for frame in (start, end))
        if start < end:
            found.append(Band(name=name, start=times[start], end=times[end], shade=number % SHADES))
    return tuple(found)


def _true_phases(video: CaseVideo) -> dict[str, tuple[int, int]]:
    truth = known_truth(video)
    return {name: getattr(truth.card.phases, name) for name in PHASES} if truth else {}


def _segments(case: CaseVideos, count: int) -> dict[str, tuple[int, int]]:
    """Segments of the prompt; a single one divides nothing."""
    segments = len(case.case.prompt) if case.case else 0
    if segments < 2:
        return {}
    return {f"segment {number}": bound for number, bound in enumerate(segment_bounds(count, segments), start=1)}
