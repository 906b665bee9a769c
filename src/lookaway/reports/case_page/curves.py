"""Values of frames as lines over the time of the video."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from lookaway.core.frames import segment_bounds
from lookaway.reports.case_page.videos import CaseTakes, CaseVideo, Outcome, known_truth

WIDTH, HEIGHT = 500, 200
LEFT, RIGHT, TOP, BOTTOM = 48, 14, 10, 26
MAX_POINTS: Final = 4000
"""Of all lines of a page together, so that it stays small; the file of its numbers has them all."""
MIN_POINTS: Final = 16
TABLE_TIMES: Final = 4


class Point(NamedTuple):
    """A value at a time; `None` where the frame has none."""

    seconds: float
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One video."""

    take: CaseVideo
    path: str
    """As SVG writes it."""
    end: tuple[float, float]
    """Where its mark stands."""
    low: float
    high: float
    sampled: tuple[Point, ...]
    """A few of its values, for the table."""


PLOT: Final = {
    "width": WIDTH,
    "height": HEIGHT,
    "left": LEFT,
    "right": WIDTH - RIGHT,
    "top": TOP,
    "bottom": HEIGHT - BOTTOM,
}
"""Where curves are drawn."""


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


def curve_charts(case: CaseTakes) -> list[CurveChart]:
    """A chart for every metric that gives frames a value."""
    series: dict[tuple[str, str], list[tuple[CaseVideo, Outcome, list[Point]]]] = {}
    for take in case.takes:
        for outcome in take.outcomes:
            points = _points(take, outcome)
            if any(point.value is not None for point in points):
                series.setdefault((outcome.run.name, outcome.metric.name), []).append((take, outcome, points))
    seconds = max((take.clip.seconds for take in case.takes if take.clip), default=0.0)
    lines = sum(len(found) for found in series.values())
    most = max(MIN_POINTS, MAX_POINTS // lines) if lines else 0
    return [_chart(found, seconds, most) for found in series.values()]


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many points: of every stretch the lowest and the highest, so that no spike is lost, and all gaps.

    >>> [point.seconds for point in thinned([Point(t, float(t == 5)) for t in range(9)], 4)]
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


def _points(take: CaseVideo, outcome: Outcome) -> list[Point]:
    found = []
    for unit in outcome.units:
        seconds = None if unit.frame is None else take.seconds(unit.frame)
        if seconds is not None:
            found.append(Point(seconds, unit.value if unit.status == "score" else None))
    return sorted(found, key=lambda point: point.seconds)


def _chart(found: Sequence[tuple[CaseVideo, Outcome, list[Point]]], seconds: float, most: int) -> CurveChart:
    values = [point.value for _, _, points in found for point in points if point.value is not None]
    low, high = _padded(min(values), max(values))
    outcome = found[0][1]
    return CurveChart(
        title=outcome.metric.name,
        run=outcome.run.name,
        unit=outcome.metric.unit,
        higher_is_better=outcome.metric.higher_is_better,
        lines=tuple(_line(take, points, (low, high, seconds), most) for take, _, points in found),
        value_ticks=tuple((_down(value, low, high), f"{value:.6g}") for value in round_values(low, high)),
        time_ticks=tuple((_across(seconds * n / 4, seconds), f"{seconds * n / 4:.2f}") for n in range(5)),
        seconds=seconds,
    )


def _line(take: CaseVideo, points: Sequence[Point], scale: tuple[float, float, float], most: int) -> Line:
    low, high, seconds = scale
    placed = list(_placed(thinned(points, most), low, high, seconds))
    valued = [point for point in points if point.value is not None]
    values = [point.value for point in valued if point.value is not None]
    step = max(1, -(-len(valued) // TABLE_TIMES))
    return Line(
        take=take,
        path="".join(f"{command}{x:g},{y:g}" for command, x, y in placed),
        end=placed[-1][1:],
        low=min(values),
        high=max(values),
        sampled=tuple(valued[::step]),
    )


def _placed(points: Sequence[Point], low: float, high: float, seconds: float) -> Iterator[tuple[str, float, float]]:
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
    """A little room above and below, and some where all values are the same."""
    room = (high - low) * 0.05 or max(abs(high), 1.0) * 0.05
    return low - room, high + room


SHADES = 4
PHASES = ("visible", "disappeared", "reappeared")
"""Of the simulated world."""


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

    takes: tuple[CaseVideo, ...]
    bands: tuple[Band, ...]


def band_rows(case: CaseTakes) -> list[BandRow]:
    """Bands by the videos that share them, those of most videos first; none where nothing is known."""
    shared: dict[tuple[Band, ...], list[CaseVideo]] = {}
    for take in case.takes:
        bands = _bands(case, take)
        if bands:
            shared.setdefault(bands, []).append(take)
    ordered = sorted(shared.items(), key=lambda entry: -len(entry[1]))
    return [BandRow(takes=tuple(takes), bands=bands) for bands, takes in ordered]


def _bands(case: CaseTakes, take: CaseVideo) -> tuple[Band, ...]:
    if take.clip is None or take.described is None:
        return ()
    count, times = take.clip.frame_count, take.clip.times
    stretches = dict(take.described.phases) or _true_phases(take) or _segments(case, count)
    found = []
    for number, (name, (start, end)) in enumerate(stretches.items()):
        start, end = (min(max(frame, 0), count) for frame in (start, end))
        if start < end:
            found.append(Band(name=name, start=times[start], end=times[end], shade=number % SHADES))
    return tuple(found)


def _true_phases(take: CaseVideo) -> dict[str, tuple[int, int]]:
    truth = known_truth(take)
    return {name: getattr(truth.card.phases, name) for name in PHASES} if truth else {}


def _segments(case: CaseTakes, count: int) -> dict[str, tuple[int, int]]:
    """Of the prompt; one that goes on for the whole video divides nothing."""
    segments = len(case.case.prompt) if case.case else 0
    if segments < 2:
        return {}
    return {f"segment {number}": bound for number, bound in enumerate(segment_bounds(count, segments), start=1)}
