"""Coverage of the gate against the score of what triggered it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lookaway.core import Estimate
from lookaway.reports.charts.profiles import short
from lookaway.reports.charts.svg import Chart, Scale, element, mark, path, picture, tick_text, ticks
from lookaway.reports.numbers import estimate_interval, fixed

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 440, 340, 46, 60, 24, 46
LEVELS = (0.2, 0.4, 0.6, 0.8)
MIN_GAP = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveragePoint:
    """One model."""

    model: str
    style: int
    coverage: Estimate
    score: Estimate
    combined: Estimate | None
    control: str | None


def scatter(title: str, points: Sequence[CoveragePoint], ends: tuple[float, float]) -> Chart:
    """Coverage to the right, score upwards, with both intervals; along a curve the M-Score is constant."""
    x, y = Scale(0, 1, LEFT, WIDTH - RIGHT), Scale(*ends, HEIGHT - BOTTOM, TOP)
    parts = [*_axes(x, y, ends), *_levels(x, y, ends)]
    for point in points:
        colour = f"bar c{point.style % 7}"
        parts += [element("path", d=line, class_=colour) for line in _whiskers(point, x, y)]
    for point in points:
        label = f"{point.model}: coverage {fixed(point.coverage.mean)}, score {fixed(point.score.mean)}"
        position = x(point.coverage.mean), y(point.score.mean)
        parts.append(mark(point.style, *position, is_hollow=point.control is not None, title=label))
    parts += _labels(points, x, y)
    summary = _summary(points)
    return Chart(
        title=title,
        summary=summary,
        svg=picture((WIDTH, HEIGHT), title, summary, *parts),
        head=("model", "coverage", "95 %", "score", "95 %", "M-Score", "95 %"),
        rows=tuple(_row(point) for point in points),
    )


def _axes(x: Scale, y: Scale, ends: tuple[float, float]) -> list[Markup]:
    parts = []
    for tick in ticks(0, 1):
        text = tick_text(tick, 0, 1)
        parts.append(element("path", d=f"M{x(tick):.1f} {TOP}V{HEIGHT - BOTTOM}", class_="grid"))
        parts.append(element("text", text, x=x(tick), y=HEIGHT - BOTTOM + 16, class_="tick", text_anchor="middle"))
    for tick in ticks(*ends):
        text = tick_text(tick, *ends)
        parts.append(element("path", d=f"M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}", class_="grid"))
        parts.append(element("text", text, x=LEFT - 8, y=y(tick) + 4, class_="tick", text_anchor="end"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        element("text", "coverage: share triggered", x=middle, y=HEIGHT - 8, class_="label", text_anchor="middle")
    )
    parts.append(element("text", "score", x=LEFT, y=11, class_="label", text_anchor="middle"))
    return parts


def _levels(x: Scale, y: Scale, ends: tuple[float, float]) -> list[Markup]:
    """Curves of constant 2 S C / (S + C), for scores from 0 to 1."""
    if ends != (0.0, 1.0):
        return []
    parts = []
    for level in LEVELS:
        shares = [level / 2 + (1 - level / 2) * step / 40 for step in range(1, 41)]
        levels = [(share, level * share / (2 * share - level)) for share in shares]
        inside = [(x(share), y(score)) for share, score in levels if score <= 1]
        parts.append(element("path", d=path(inside), class_="level"))
        parts.append(element("text", f"M {level}", x=inside[-1][0] + 4, y=inside[-1][1] + 3, class_="tick faint"))
    return parts


def _whiskers(point: CoveragePoint, x: Scale, y: Scale) -> list[str]:
    lines = []
    at_x, at_y = x(point.coverage.mean), y(point.score.mean)
    if point.coverage.low is not None and point.coverage.high is not None:
        lines.append(f"M{x(point.coverage.low):.1f} {at_y:.1f}H{x(point.coverage.high):.1f}")
    if point.score.low is not None and point.score.high is not None:
        lines.append(f"M{at_x:.1f} {y(point.score.low):.1f}V{y(point.score.high):.1f}")
    return lines


def _labels(points: Sequence[CoveragePoint], x: Scale, y: Scale) -> list[Markup]:
    """Names beside their marks, moved down where they would overlap."""
    parts: list[Markup] = []
    taken: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda point: y(point.score.mean)):
        at_x, at_y = x(point.coverage.mean), y(point.score.mean) - 7
        is_right = at_x > (LEFT + WIDTH - RIGHT) * 0.62
        at_x += -8 if is_right else 8
        while any(abs(at_y - other) < MIN_GAP and abs(at_x - beside) < 110 for beside, other in taken):
            at_y += MIN_GAP
        taken.append((at_x, at_y))
        name = short(f"{point.model} (control)" if point.control else point.model)
        parts.append(element("text", name, x=at_x, y=at_y, class_="label", text_anchor="end" if is_right else "start"))
    return parts


def _row(point: CoveragePoint) -> tuple[str, ...]:
    combined = point.combined
    return (
        f"{point.model} (control: {point.control})" if point.control else point.model,
        fixed(point.coverage.mean),
        estimate_interval(point.coverage),
        fixed(point.score.mean),
        estimate_interval(point.score),
        fixed(combined.mean if combined else None),
        estimate_interval(combined),
    )


def _summary(points: Sequence[CoveragePoint]) -> str:
    known = [(point.combined.mean, point.model) for point in points if point.combined and not point.control]
    if not known:
        return "No model has both a coverage and a score."
    best = max(known)
    least = min((point.coverage.mean, point.model) for point in points)
    return (
        f"{best[1]} has the highest M-Score ({fixed(best[0])}); {least[1]} has the lowest coverage ({fixed(least[0])})."
    )
