"""Writes SVG in which no text of a dataset can become markup."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lookaway.core import Estimate
from lookaway.reports.numbers import visible

if TYPE_CHECKING:
    from markupsafe import Markup

COLOURS, SHAPES = 7, 6
"""Every model has a pair of both: seven and six are coprime, so 42 models have different pairs.

Colours 0 and 5 are both blue: among the first twelve models they have different shapes.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart with a summary in words and the numbers behind it."""

    title: str
    summary: str
    svg: Markup
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Cells of the data table; the first of a row is its head."""


def element(tag: str, *children: str | Markup, **attributes: str | float) -> Markup:
    """One element; `class_` is class and `stroke_width` is stroke-width.

    >>> element("text", "<b>", x=1.25, class_="axis")
    Markup('<text x="1.2" class="axis">&lt;b&gt;</text>')
    """
    from markupsafe import Markup, escape

    named = (
        f' {name.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for name, value in attributes.items()
        if value != ""
    )
    inside = Markup("").join(child if isinstance(child, Markup) else visible(child) for child in children)
    return Markup(f"<{tag}{''.join(named)}>{inside}</{tag}>")  # noqa: S704 - every part is escaped


def picture(size: tuple[float, float], title: str, summary: str, *children: Markup, class_: str = "chart") -> Markup:
    """The root of a chart, with a title and a description for screen readers."""
    return element(
        "svg",
        element("title", title),
        element("desc", summary),
        *children,
        viewBox=f"0 0 {_plain(size[0])} {_plain(size[1])}",
        role="img",
        class_=class_,
    )


def joined(parts: Sequence[Markup]) -> Markup:
    """Several elements as one."""
    from markupsafe import Markup

    return Markup("").join(parts)


def mark(style: int, x: float, y: float, *, is_hollow: bool = False, title: str = "") -> Markup:
    """The mark of a model: its colour and shape."""
    paths = (
        "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        "M-3.6 -3.6h7.2v7.2h-7.2z",
        "M0 -4.6L4.6 3.6H-4.6z",
        "M0 -5L5 0L0 5L-5 0z",
        "M0 4.6L4.6 -3.6H-4.6z",
        "M-1.6 -4.8h3.2v3.2h3.2v3.2h-3.2v3.2h-3.2v-3.2h-3.2v-3.2h3.2z",
    )
    name = (element("title", title),) if title else ()
    return element(
        "path",
        *name,
        d=paths[style % SHAPES],
        transform=f"translate({_plain(x)} {_plain(y)})",
        class_=f"mark c{style % COLOURS}{' hollow' if is_hollow else ''}",
    )


def path(points: Sequence[tuple[float, float]], *, is_closed: bool = False) -> str:
    """The `d` of straight lines through points."""
    return "M" + "L".join(f"{_plain(x)} {_plain(y)}" for x, y in points) + ("z" if is_closed else "")


def _plain(value: str | float) -> str:
    """Numbers to a tenth of a unit, so that pages stay small."""
    if isinstance(value, str):
        return visible(value)
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


MAX_TICKS = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` are mapped to `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The position of a value; beyond the ends it is at the end.

        >>> Scale(0, 1, 0, 200)(0.25), Scale(0, 1, 0, 200)(7)
        (50.0, 200.0)
        """
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.end - self.start)


def extent(values: Iterable[float], bounds: tuple[float | None, float | None] = (None, None)) -> tuple[float, float]:
    """The ends of an axis: the whole range of a metric where it has two ends, else round numbers around the values.

    No axis goes beyond the one end that a metric has.

    >>> extent([0.2, 0.4], (0.0, 1.0)), extent([21.3, 28.9]), extent([3.0]), extent([])
    ((0.0, 1.0), (20.0, 30.0), (2.5, 3.5), (0.0, 1.0))
    >>> extent([-0.1, 7.0], (0.0, None))
    (0.0, 8.0)
    """
    least, most = bounds
    if least is not None and most is not None:
        return least, most
    found = [_inside(value, bounds) for value in values]
    if not found:
        return 0.0, 1.0
    low, high = min(found), max(found)
    if low == high:
        reach = abs(low) / 6 or 0.5
        low, high = _inside(low - reach, bounds), _inside(high + reach, bounds)
    step = _step(high - low, 4)
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _inside(value: float, bounds: tuple[float | None, float | None]) -> float:
    low, high = bounds
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from end to end.

    >>> ticks(0, 1), ticks(0, 24)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 5.0, 10.0, 15.0, 20.0])
    """
    step = _step(high - low, MAX_TICKS)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def tick_text(value: float, low: float, high: float) -> str:
    """A tick of an axis with these ends, with as many digits as its steps need.

    >>> tick_text(0.5, -0.25, 1), tick_text(0.2, 0, 1), tick_text(20.0, 0, 24), tick_text(2e-5, 0, 3e-5)
    ('0.50', '0.2', '20', '2e-05')
    """
    step = number_text(_step(high - low, MAX_TICKS))
    if "e" in step:
        return number_text(value)
    return f"{value:z.{len(step.partition('.')[2])}f}"


def number_text(value: float) -> str:
    """A round number as short as it can be written.

    >>> number_text(0.25), number_text(1e-05), number_text(-0.0)
    ('0.25', '1e-05', '0')
    """
    return f"{value + 0.0:.6g}"


def _step(width: float, most: int) -> float:
    size = 10.0 ** math.floor(math.log10(width / most))
    factors = (1.0, 2.0, 2.5, 5.0, 10.0)
    return next(size * factor for factor in factors if width / (size * factor) <= most + 1e-9)


WIDTH, HEIGHT, MARGIN = 160, 16, 6


def strip(estimate: Estimate | None, ends: tuple[float, float], style: int, *, is_hollow: bool = False) -> Markup:
    """The mean as a mark on its interval, on an axis with these ends."""
    middle = HEIGHT / 2
    parts = [element("path", d=f"M{MARGIN} {middle}H{WIDTH - MARGIN}", class_="rail")]
    if estimate is not None:
        scale = Scale(*ends, MARGIN, WIDTH - MARGIN)
        if estimate.low is not None and estimate.high is not None:
            low, high = scale(estimate.low), scale(estimate.high)
            parts.append(element("path", d=f"M{low:.1f} {middle}H{high:.1f}", class_=f"bar c{style % 7}"))
        parts.append(mark(style, scale(estimate.mean), middle, is_hollow=is_hollow))
    return element("svg", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", class_="strip", aria_hidden="true")
