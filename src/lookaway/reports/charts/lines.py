"""Curves over frames, one for each model, with their bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lookaway.core import Estimate
from lookaway.reports.charts.profiles import short
from lookaway.reports.charts.svg import Chart, Scale, element, extent, mark, path, picture, tick_text, ticks
from lookaway.reports.numbers import fixed
from lookaway.statistics.drift import DriftBin

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 440, 280, 46, 104, 12, 42
MAX_BANDS = 8
"""More bands than this would cover each other; the table has their numbers."""
MIN_GAP, LONGEST_LABEL = 13, 15
DASHES = ("", "6 3", "2 3", "8 3 2 3", "4 2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One model."""

    model: str
    style: int
    bins: tuple[DriftBin, ...]


def lines(title: str, curves: Sequence[Curve], bounds: tuple[float | None, float | None], frames: str) -> Chart:
    """Frames to the right, the metric upwards; a curve ends with its last clip."""
    last = max(entry.frame for curve in curves for entry in curve.bins)
    ends = extent(
        [value for curve in curves for entry in curve.bins for value in _values(entry)], _near(curves, bounds)
    )
    x, y = Scale(0, last or 1, LEFT, WIDTH - RIGHT), Scale(*ends, HEIGHT - BOTTOM, TOP)
    parts = _axes(x, y, ends, frames)
    if len(curves) <= MAX_BANDS:
        parts += [band for curve in curves if (band := _band(curve, x, y)) is not None]
    for curve in curves:
        points = [(x(entry.frame), y(entry.estimate.mean)) for entry in curve.bins]
        dash = DASHES[curve.style % len(DASHES)]
        parts.append(
            element(
                "path",
                element("title", curve.model),
                d=path(points if len(points) > 1 else points * 2),
                class_=f"line c{curve.style % 7}",
                stroke_dasharray=dash,
            )
        )
    parts += _labels(curves, x, y)
    summary = _summary(curves)
    return Chart(
        title=title,
        summary=summary,
        svg=picture((WIDTH, HEIGHT), title, summary, *parts),
        head=("frames", *(curve.model for curve in curves)),
        rows=_rows(curves),
    )


def _values(entry: DriftBin) -> list[float]:
    found = (entry.estimate.mean, entry.estimate.low, entry.estimate.high)
    return [value for value in found if value is not None]


def _near(curves: Sequence[Curve], bounds: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    """The whole range, if the curves cover a fifth of it or more; else only what they cover."""
    low, high = bounds
    if low is None or high is None:
        return bounds
    means = [entry.estimate.mean for curve in curves for entry in curve.bins]
    return bounds if max(means) - min(means) >= (high - low) / 5 else (None, None)


def _axes(x: Scale, y: Scale, ends: tuple[float, float], frames: str) -> list[Markup]:
    parts = []
    for tick in ticks(*ends):
        text = tick_text(tick, *ends)
        parts.append(element("path", d=f"M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}", class_="grid"))
        parts.append(element("text", text, x=LEFT - 8, y=y(tick) + 4, class_="tick", text_anchor="end"))
    for tick in ticks(0, x.high):
        text = tick_text(tick, 0, x.high)
        parts.append(element("text", text, x=x(tick), y=HEIGHT - BOTTOM + 16, class_="tick", text_anchor="middle"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(element("text", frames, x=middle, y=HEIGHT - 6, class_="label", text_anchor="middle"))
    return parts


def _band(curve: Curve, x: Scale, y: Scale) -> Markup | None:
    known = [
        (x(entry.frame), entry.estimate.low, entry.estimate.high)
        for entry in curve.bins
        if entry.estimate.low is not None and entry.estimate.high is not None
    ]
    if len(known) < 2:
        return None
    upper, lower = [(at, y(high)) for at, _, high in known], [(at, y(low)) for at, low, _ in known]
    return element("path", d=path(upper + lower[::-1], is_closed=True), class_=f"band c{curve.style % 7}")


def _labels(curves: Sequence[Curve], x: Scale, y: Scale) -> list[Markup]:
    """Names at the ends of their lines, pushed apart; those that do not fit are left out."""
    parts = []
    floor = 0.0
    for curve in sorted(curves, key=lambda curve: y(curve.bins[-1].estimate.mean)):
        at = max(y(curve.bins[-1].estimate.mean), floor)
        floor = at + MIN_GAP
        if at > HEIGHT - BOTTOM + MIN_GAP:
            break
        end = x(curve.bins[-1].frame)
        parts.append(mark(curve.style, end, y(curve.bins[-1].estimate.mean)))
        parts.append(element("text", short(curve.model, LONGEST_LABEL), x=end + 9, y=at + 4, class_="label"))
    return parts


def _rows(curves: Sequence[Curve]) -> tuple[tuple[str, ...], ...]:
    spans = sorted({(entry.first, entry.last) for curve in curves for entry in curve.bins})
    found = [{(entry.first, entry.last): entry.estimate for entry in curve.bins} for curve in curves]
    return tuple(
        (
            f"{first}-{last}" if last > first else f"{first}",
            *(_cell(bins.get((first, last))) for bins in found),
        )
        for first, last in spans
    )


def _cell(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return fixed(estimate.mean)
    return f"{fixed(estimate.mean)} ±{fixed((estimate.high - estimate.low) / 2)}"


def _summary(curves: Sequence[Curve]) -> str:
    changes = [(curve.bins[-1].estimate.mean - curve.bins[0].estimate.mean, curve.model) for curve in curves]
    falls, rises = min(changes), max(changes)
    return f"From its first to its last frames {falls[1]} changes by {falls[0]:+.3f}, {rises[1]} by {rises[0]:+.3f}."
