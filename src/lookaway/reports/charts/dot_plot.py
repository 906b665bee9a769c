"""All models on all axes of one scale, one line for each axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lookaway.core import Estimate
from lookaway.reports.charts.svg import Chart, Scale, element, mark, picture, tick_text, ticks
from lookaway.reports.numbers import estimate_interval, fixed, visible

WIDTH, LABELS, RIGHT, LINE, TOP = 440, 168, 16, 24, 10
LONGEST_LABEL = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One model on some axes."""

    model: str
    style: int
    estimates: tuple[Estimate | None, ...]
    """One for each axis; `None` where it has no value."""
    is_baseline: bool = False


def dot_plot(title: str, axes: Sequence[str], profiles: Sequence[Profile], ends: tuple[float, float]) -> Chart:
    """One line for each axis, one mark for each model."""
    place = Scale(*ends, LABELS, WIDTH - RIGHT)
    bottom = TOP + LINE * len(axes)
    parts = []
    for tick in ticks(*ends):
        text = tick_text(tick, *ends)
        parts.append(element("path", d=f"M{place(tick):.1f} {TOP}V{bottom}", class_="grid"))
        parts.append(element("text", text, x=place(tick), y=bottom + 16, class_="tick", text_anchor="middle"))
    for line, axis in enumerate(axes):
        y = TOP + LINE * (line + 0.5)
        known = [e.mean for profile in profiles if (e := profile.estimates[line])]
        if known:
            parts.append(element("path", d=f"M{place(min(known)):.1f} {y}H{place(max(known)):.1f}", class_="rail"))
        parts.append(element("text", short(axis), x=LABELS - 12, y=y + 4, class_="label", text_anchor="end"))
        for profile in profiles:
            if estimate := profile.estimates[line]:
                said = f"{profile.model}: {fixed(estimate.mean)}"
                parts.append(mark(profile.style, place(estimate.mean), y, is_hollow=profile.is_baseline, title=said))
    summary = _summary(axes, profiles)
    return Chart(
        title=title,
        summary=summary,
        svg=picture((WIDTH, bottom + 24), title, summary, *parts),
        head=("model", *axes),
        rows=tuple((p.model, *(_cell(estimate) for estimate in p.estimates)) for p in profiles),
    )


def short(label: str, longest: int = LONGEST_LABEL) -> str:
    """A label that fits beside its line; the table has the whole."""
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
