"""Writes SVG so that no text of a dataset can become markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lookaway.reports.text import visible

if TYPE_CHECKING:
    from markupsafe import Markup

COLOURS, SHAPES = 7, 6
"""Of which every pair is one model's: seven and six have no divisor in common, so that 42 models differ in one of them.

Colours 0 and 5 are both blue: among the first twelve models they have different shapes.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A picture, what it shows in words, and the numbers it was made from."""

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
    """The root of a chart, with its name and description for those who do not see it."""
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
    """The sign of a model: a colour and a shape, both its own."""
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
    """Numbers to a tenth of a unit: no eye sees more, and pages stay small."""
    if isinstance(value, str):
        return visible(value)
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
