"""The profile of one model on axes of one scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lookaway.reports.charts.dot_plot import Profile
from lookaway.reports.charts.svg import Scale, element, mark, path, picture
from lookaway.reports.numbers import fixed

if TYPE_CHECKING:
    from markupsafe import Markup

SIZE, RADIUS = 200, 74
MIN_AXES, MAX_AXES = 3, 12
"""Two axes are a line; of many the shape tells nothing."""


def radar(profile: Profile, axes: tuple[str, ...], ends: tuple[float, float]) -> Markup:
    """Axes are numbered clockwise from the top; the band is the 95 % interval; an axis without a value is a gap."""
    place = Scale(*ends, 0, RADIUS)
    whole = [place(ends[1])] * len(axes)
    parts = [element("path", d=_ring([share * r for r in whole]), class_="grid") for share in (0.25, 0.5, 0.75, 1.0)]
    for number in range(len(axes)):
        x, y = _point(number, RADIUS + 13, len(axes))
        parts.append(element("path", d=path([_point(number, 0, 1), _point(number, RADIUS, len(axes))]), class_="grid"))
        parts.append(element("text", str(number + 1), x=x, y=y + 4, class_="tick", text_anchor="middle"))
    if all(profile.estimates):
        parts += _outline(profile, place)
    for number, estimate in enumerate(profile.estimates):
        if estimate:
            x, y = _point(number, place(estimate.mean), len(axes))
            said = f"{axes[number]}: {fixed(estimate.mean)}"
            parts.append(mark(profile.style, x, y, is_hollow=profile.is_baseline, title=said))
    known = [f"{axis} {fixed(e.mean)}" for axis, e in zip(axes, profile.estimates, strict=True) if e]
    return picture(
        (SIZE, SIZE), f"Profile of {profile.model}", "; ".join(known) or "no values", *parts, class_="chart radar"
    )


def _outline(profile: Profile, place: Scale) -> list[Markup]:
    estimates = [estimate for estimate in profile.estimates if estimate]
    ends = [(e.low if e.low is not None else e.mean, e.high if e.high is not None else e.mean) for e in estimates]
    outer, inner = (_ring([place(end[side]) for end in ends]) for side in (1, 0))
    colour = f"c{profile.style % 7}"
    return [
        element("path", d=outer + inner, fill_rule="evenodd", class_=f"band {colour}"),
        element("path", d=_ring([place(e.mean) for e in estimates]), class_=f"line {colour}"),
    ]


def _ring(radii: list[float]) -> str:
    return path([_point(number, radius, len(radii)) for number, radius in enumerate(radii)], is_closed=True)


def _point(number: int, radius: float, count: int) -> tuple[float, float]:
    angle = 2 * math.pi * number / count
    return SIZE / 2 + radius * math.sin(angle), SIZE / 2 - radius * math.cos(angle)
