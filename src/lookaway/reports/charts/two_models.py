"""Two models against each other: a dot for each case, one model to the right and the other upwards."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lookaway.reports.charts.profiles import short
from lookaway.reports.charts.svg import COLOURS, SHAPES, Scale, element, joined, tick_text, ticks
from lookaway.reports.numbers import fixed

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, PAD = 420, 432, 46, 12, 24, 46, 26
"""The plot is a square; a margin is left inside it, into which dots at one place spread."""
APART: float = 4.6
"""How far dots at one place spread; less where there are many of them."""
TURN: float = 2.4
"""Radians from one of them to the next: that of a sunflower."""
DOT = 12
LONGEST_NAME = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One case: its value for both models."""

    title: str
    href: str
    """Its page; empty where it has none."""
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotModel:
    """One of the two models."""

    name: str
    style: int


def two_models_plot(
    title: str,
    summary: str,
    models: tuple[PlotModel, PlotModel],
    dots: Sequence[Dot],
    ends: tuple[float, float],
    *,
    is_higher_better: bool,
) -> Markup:
    """A square with its diagonal; a dot has the colour and shape of the model that is better there.

    What a script needs to draw another pair is in its attributes and classes.
    """
    scale = plot_scale(ends)
    parts = [
        *_axes(ends, scale),
        element("path", d=f"M{LEFT + PAD} {HEIGHT - BOTTOM - PAD}L{WIDTH - RIGHT - PAD} {TOP + PAD}", class_="rail"),
        _name(models[0], HEIGHT - 12, "of-x"),
        _name(models[1], 10, "of-y"),
        element("g", *_dots(models, dots, scale, is_higher_better=is_higher_better), class_="dots"),
    ]
    return element(
        "svg",
        element("title", title),
        element("desc", summary),
        *parts,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="group",
        class_="chart two",
        data_low=repr(ends[0]),
        data_high=repr(ends[1]),
        data_better="high" if is_higher_better else "low",
    )


def plot_scale(ends: tuple[float, float]) -> tuple[Scale, Scale]:
    """Both axes have the same ends."""
    return Scale(*ends, LEFT + PAD, WIDTH - RIGHT - PAD), Scale(*ends, HEIGHT - BOTTOM - PAD, TOP + PAD)


def spread(places: Sequence[tuple[int, int]]) -> list[tuple[float, float]]:
    """Where dots are drawn, given the pixels they belong to: those that share one lie around it.

    >>> spread([(10, 10), (30, 30)])
    [(10.0, 10.0), (30.0, 30.0)]
    >>> [(round(x), round(y)) for x, y in spread([(10, 10), (10, 10), (10, 10)])]
    [(10, 10), (7, 13), (11, 4)]
    """
    counts, seen = Counter(places), Counter[tuple[int, int]]()
    found = []
    for place in places:
        number, step = seen[place], min(APART, PAD / math.sqrt(counts[place]))
        seen[place] += 1
        away, angle = step * math.sqrt(number), TURN * number
        found.append((place[0] + away * math.cos(angle), place[1] + away * math.sin(angle)))
    return found


def better(first: float, second: float, *, is_higher_better: bool) -> int | None:
    """Which of the two is better, 0 or 1; `None` where they are equal.

    >>> better(0.5, 0.25, is_higher_better=True), better(0.5, 0.25, is_higher_better=False)
    (0, 1)
    >>> better(1 / 3, 1 - 2 / 3, is_higher_better=True) is None
    True
    """
    if math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12):
        return None
    return 0 if (first > second) == is_higher_better else 1


def _name(model: PlotModel, y: float, axis: str) -> Markup:
    """The name of an axis, behind the mark of its model."""
    text = element("text", short(model.name, LONGEST_NAME), x=LEFT + DOT + 4, y=y + 4, class_="label")
    return element("g", _mark(model.style, (LEFT + DOT / 2, y)), text, class_=axis)


def _mark(style: int | None, place: tuple[float, float]) -> Markup:
    return element(
        "use",
        href=f"#m{0 if style is None else style % SHAPES}",
        class_="mk even" if style is None else f"mk c{style % COLOURS}",
        x=place[0] - DOT / 2,
        y=place[1] - DOT / 2,
        width=DOT,
        height=DOT,
    )


def _axes(ends: tuple[float, float], scale: tuple[Scale, Scale]) -> list[Markup]:
    x, y = scale
    parts = []
    for tick in ticks(*ends):
        text = tick_text(tick, *ends)
        lines = f"M{x(tick):.1f} {TOP}V{HEIGHT - BOTTOM}M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}"
        parts += [
            element("path", d=lines, class_="grid"),
            element("text", text, x=x(tick), y=HEIGHT - BOTTOM + 16, class_="tick", text_anchor="middle"),
            element("text", text, x=LEFT - 8, y=y(tick) + 4, class_="tick", text_anchor="end"),
        ]
    return parts


def _dots(
    models: tuple[PlotModel, PlotModel], dots: Sequence[Dot], scale: tuple[Scale, Scale], *, is_higher_better: bool
) -> list[Markup]:
    x, y = scale
    drawn = []
    pixels = [(round(x(dot.x)), round(y(dot.y))) for dot in dots]
    for dot, place in zip(dots, spread(pixels), strict=True):
        winner = better(dot.x, dot.y, is_higher_better=is_higher_better)
        style = None if winner is None else models[winner].style
        label = f"{dot.title}: {models[0].name} {fixed(dot.x)}, {models[1].name} {fixed(dot.y)}"
        drawn.append(_dot(dot.href, label, style, place))
    return drawn


def _dot(href: str, label: str, style: int | None, place: tuple[float, float]) -> Markup:
    inside = joined([element("title", label), _mark(style, place)])
    # The table has the same links: the keyboard need not go through every dot.
    return element("a", inside, href=href, aria_label=label, tabindex=-1) if href else element("g", inside)
