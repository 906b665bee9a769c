"""An interval as a bar in a line of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookaway.core import Estimate
from lookaway.reports.site.charts.scale import Scale
from lookaway.reports.site.charts.svg import element, mark

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT, MARGIN = 160, 16, 6


def strip(estimate: Estimate | None, ends: tuple[float, float], style: int, *, is_hollow: bool = False) -> Markup:
    """The mean as the mark of its model on its interval, on an axis with these ends; the line says it in numbers."""
    middle = HEIGHT / 2
    parts = [element("path", d=f"M{MARGIN} {middle}H{WIDTH - MARGIN}", class_="rail")]
    if estimate is not None:
        place = Scale(*ends, MARGIN, WIDTH - MARGIN)
        if estimate.low is not None and estimate.high is not None:
            low, high = place(estimate.low), place(estimate.high)
            parts.append(element("path", d=f"M{low:.1f} {middle}H{high:.1f}", class_=f"bar c{style % 7}"))
        parts.append(mark(style, place(estimate.mean), middle, is_hollow=is_hollow))
    return element("svg", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", class_="strip", aria_hidden="true")
