"""Means of models as pictures: one leaderboard with its intervals, a dot plot of axes of one scale, a radar chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lookaway.core import Estimate
from lookaway.reports.charts.svg import Chart, Scale, element, mark, path, picture, tick_text, ticks
from lookaway.reports.numbers import estimate_interval, fixed, visible

if TYPE_CHECKING:
    from markupsafe import Markup


WIDTH, LABELS, RIGHT, LINE, TOP = 440, 168, 16, 24, 10
LONGEST_LABEL = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One model on some axes."""

    model: str
    style: int
    estimates: tuple[Estimate | None, ...]
    """One for each axis; `None` where it has no value."""
    is_control: bool = False


def dot_plot(title: str, axes: Sequence[str], profiles: Sequence[Profile], ends: tuple[float, float]) -> Chart:
    """One line for each axis, one mark for each model."""
    scale = Scale(*ends, LABELS, WIDTH - RIGHT)
    bottom = TOP + LINE * len(axes)
    parts = []
    for tick in ticks(*ends):
        text = tick_text(tick, *ends)
        parts.append(element("path", d=f"M{scale(tick):.1f} {TOP}V{bottom}", class_="grid"))
        parts.append(element("text", text, x=scale(tick), y=bottom + 16, class_="tick", text_anchor="middle"))
    for line, axis in enumerate(axes):
        y = TOP + LINE * (line + 0.5)
        known = [e.mean for profile in profiles if (e := profile.estimates[line])]
        if known:
            parts.append(element("path", d=f"M{scale(min(known)):.1f} {y}H{scale(max(known)):.1f}", class_="rail"))
        parts.append(element("text", short(axis), x=LABELS - 12, y=y + 4, class_="label", text_anchor="end"))
        for profile in profiles:
            if estimate := profile.estimates[line]:
                label = f"{profile.model}: {fixed(estimate.mean)}"
                parts.append(mark(profile.style, scale(estimate.mean), y, is_hollow=profile.is_control, title=label))
    summary = _summary(axes, profiles)
    return Chart(
        title=title,
        summary=summary,
        svg=picture((WIDTH, bottom + 24), title, summary, *parts),
        head=("model", *axes),
        rows=tuple((p.model, *(_cell(estimate) for estimate in p.estimates)) for p in profiles),
    )


def short(label: str, longest: int = LONGEST_LABEL) -> str:
    """A label cut to the space beside its line; the table has the whole."""
    spelled = visible(label)
    return spelled if len(spelled) <= longest else f"{spelled[: longest - 1]}…"


def _cell(estimate: Estimate | None) -> str:
    return f"{fixed(estimate.mean)} {estimate_interval(estimate)}" if estimate else "-"


def _summary(axes: Sequence[str], profiles: Sequence[Profile]) -> str:
    spreads = []
    for number, axis in enumerate(axes):
        known = [e.mean for profile in profiles if (e := profile.estimates[number])]
        if len(known) > 1:
            spreads.append((max(known) - min(known), axis))
    if not spreads:
        return "No axis has values of two models."
    widest, narrowest = max(spreads), min(spreads)
    return (
        f"Models lie farthest apart on {widest[1]} ({fixed(widest[0])}) and closest on {narrowest[1]} "
        f"({fixed(narrowest[0])})."
    )


SIZE, RADIUS = 200, 74
MIN_AXES, MAX_AXES = 3, 12
"""Two axes are a line; with many the shape is unreadable."""


def radar(profile: Profile, axes: tuple[str, ...], ends: tuple[float, float]) -> Markup:
    """Axes are numbered clockwise from the top; the band is the 95 % interval; an axis without a value is a gap."""
    scale = Scale(*ends, 0, RADIUS)
    whole = [scale(ends[1])] * len(axes)
    parts = [element("path", d=_ring([share * r for r in whole]), class_="grid") for share in (0.25, 0.5, 0.75, 1.0)]
    for number in range(len(axes)):
        x, y = _point(number, RADIUS + 13, len(axes))
        parts.append(element("path", d=path([_point(number, 0, 1), _point(number, RADIUS, len(axes))]), class_="grid"))
        parts.append(element("text", str(number + 1), x=x, y=y + 4, class_="tick", text_anchor="middle"))
    if all(profile.estimates):
        parts += _outline(profile, scale)
    for number, estimate in enumerate(profile.estimates):
        if estimate:
            x, y = _point(number, scale(estimate.mean), len(axes))
            label = f"{axes[number]}: {fixed(estimate.mean)}"
            parts.append(mark(profile.style, x, y, is_hollow=profile.is_control, title=label))
    known = [f"{axis} {fixed(e.mean)}" for axis, e in zip(axes, profile.estimates, strict=True) if e]
    return picture(
        (SIZE, SIZE), f"Profile of {profile.model}", "; ".join(known) or "no values", *parts, class_="chart radar"
    )


def _outline(profile: Profile, scale: Scale) -> list[Markup]:
    estimates = [estimate for estimate in profile.estimates if estimate]
    ends = [(e.low if e.low is not None else e.mean, e.high if e.high is not None else e.mean) for e in estimates]
    outer, inner = (_ring([scale(end[side]) for end in ends]) for side in (1, 0))
    colour = f"c{profile.style % 7}"
    return [
        element("path", d=outer + inner, fill_rule="evenodd", class_=f"band {colour}"),
        element("path", d=_ring([scale(e.mean) for e in estimates]), class_=f"line {colour}"),
    ]


def _ring(radii: list[float]) -> str:
    return path([_point(number, radius, len(radii)) for number, radius in enumerate(radii)], is_closed=True)


def _point(number: int, radius: float, count: int) -> tuple[float, float]:
    angle = 2 * math.pi * number / count
    return SIZE / 2 + radius * math.sin(angle), SIZE / 2 - radius * math.cos(angle)


INTERVALS, ROW, ABOVE, BELOW = 520, 26, 26, 40
"""Width of the picture of a leaderboard, height of a row, and of what is above and below the rows."""
NAMES, PLOT_END, MEANS, GATE = 150, 392, 404, (462, 514)
"""Where its columns end or begin."""
LONGEST_NAME = 21


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRow:
    """One model of the picture."""

    model: str
    style: int
    estimate: Estimate | None
    digits: int
    tested: float | None
    """The share of its rollouts that passed the gate; `None` where that is not known."""
    support: str
    """How many of the requested rollouts count, such as `12 of 12`."""
    why_not: str = ""
    """Why it has no mean."""
    is_ranked: bool = True
    is_control: bool = False


def interval_plot(
    title: str,
    summary: str,
    rows: Sequence[IntervalRow],
    ends: tuple[float, float],
    *,
    gate: str | None,
    worst: float | None,
) -> Chart:
    """Models from top to bottom, on an axis with these ends.

    `gate` is what the share at the right is called, `worst` the worst possible value where there is one.
    A dashed line goes through the mean of each control: a model that is no better has not shown anything.
    """
    scale = Scale(*ends, NAMES + 10, PLOT_END)
    bottom = ABOVE + ROW * len(rows)
    parts = [*_axis(scale, ends, bottom, worst), *_floors(scale, rows, bottom)]
    if gate:
        parts.append(element("text", gate, x=sum(GATE) / 2, y=ABOVE - 10, class_="tick", text_anchor="middle"))
    for number, row in enumerate(rows):
        parts += _interval_row(scale, row, ABOVE + ROW * (number + 0.5), has_gate=gate is not None)
    return Chart(
        title=title,
        summary=summary,
        svg=picture((INTERVALS, bottom + BELOW), title, summary, *parts, class_="chart intervals"),
        head=("model", "mean", "95 %", "counted", *((gate,) if gate else ())),
        rows=tuple(_interval_data(row, has_gate=gate is not None) for row in rows),
    )


def _axis(scale: Scale, ends: tuple[float, float], bottom: float, worst: float | None) -> list[Markup]:
    parts = []
    for tick in ticks(*ends):
        at = scale(tick)
        parts.append(element("path", d=f"M{at:.1f} {ABOVE}V{bottom}", class_="grid"))
        parts.append(element("text", tick_text(tick, *ends), x=at, y=bottom + 16, class_="tick", text_anchor="middle"))
    if worst is not None:
        at = scale(worst)
        anchor = "start" if at < (NAMES + PLOT_END) / 2 else "end"
        parts.append(element("path", d=f"M{at:.1f} {ABOVE}V{bottom}", class_="rail"))
        parts.append(element("text", "worst possible", x=at, y=bottom + 32, class_="tick", text_anchor=anchor))
    return parts


def _floors(scale: Scale, rows: Sequence[IntervalRow], bottom: float) -> list[Markup]:
    return [
        element(
            "path",
            element("title", f"floor: {row.model} {fixed(row.estimate.mean, row.digits)}"),
            d=f"M{scale(row.estimate.mean):.1f} {ABOVE}V{bottom}",
            class_="level floor",
        )
        for row in rows
        if row.is_control and row.estimate
    ]


def _interval_row(scale: Scale, row: IntervalRow, y: float, *, has_gate: bool) -> list[Markup]:
    label = f"{short(row.model, LONGEST_NAME - 10)} (control)" if row.is_control else short(row.model, LONGEST_NAME)
    parts = [element("text", label, x=NAMES, y=y + 4, class_="label", text_anchor="end")]
    estimate = row.estimate
    if estimate is None:
        parts.append(element("text", row.why_not, x=NAMES + 16, y=y + 4, class_="absent"))
    else:
        if estimate.low is not None and estimate.high is not None:
            ends = f"M{scale(estimate.low):.1f} {y}H{scale(estimate.high):.1f}"
            parts.append(element("path", d=ends, class_=f"bar c{row.style % 7}"))
        else:
            scenes = "".join(f"M{scale(mean):.1f} {y - 5}v10" for mean in estimate.scene_means)
            parts += [element("path", d=scenes, class_=f"scene c{row.style % 7}")] if scenes else []
        text = f"{row.model}: {fixed(estimate.mean, row.digits)} {estimate_interval(estimate, row.digits)}"
        is_hollow = row.is_control or not row.is_ranked
        parts.append(mark(row.style, scale(estimate.mean), y, is_hollow=is_hollow, title=text))
        parts.append(element("text", fixed(estimate.mean, row.digits), x=MEANS, y=y + 4, class_="label mean"))
    if has_gate:
        parts += _gate_share(row, y)
    return parts


def _gate_share(row: IntervalRow, y: float) -> list[Markup]:
    start, end = GATE
    parts = [element("path", d=f"M{start} {y}H{end}", class_="gate")]
    if row.tested is None:
        return parts
    if row.tested > 0:
        parts.append(element("path", d=f"M{start} {y}H{start + row.tested * (end - start):.1f}", class_="gate passed"))
    return [element("g", element("title", f"{row.model}: {row.tested:.0%}"), *parts)]


def _interval_data(row: IntervalRow, *, has_gate: bool) -> tuple[str, ...]:
    mean = fixed(row.estimate.mean, row.digits) if row.estimate else row.why_not
    share = (fixed(row.tested),) if has_gate else ()
    return (row.model, mean, estimate_interval(row.estimate, row.digits), row.support, *share)
