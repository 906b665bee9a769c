"""A funnel: how much of a whole is lost at each step, and what is left at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lookaway.reports.charts.profiles import short
from lookaway.reports.charts.svg import Chart, element, path, picture
from lookaway.reports.numbers import fixed
from lookaway.statistics.intervals import Proportion

if TYPE_CHECKING:
    from markupsafe import Markup

STEP, LEFT, TOP, FULL, FALL = 92, 12, 28, 110, 46
"""Width of a step, margins, height of the whole, and how far a lost part falls."""
LINE = 13
LONGEST_WORDS = 15
"""Characters of a label's line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStep:
    """A part of the whole: lost at this step or, in the last one, left at the end."""

    label: str
    share: Proportion


def funnel(title: str, steps: Sequence[FunnelStep]) -> Chart:
    """A band that begins as the whole; each step's part falls out of it, and the last step's part reaches the end."""
    *lost, last = steps
    parts: list[Markup] = [
        element("text", f"{last.share.total} rollouts", x=LEFT, y=TOP - 10, class_="label"),
    ]
    left = 1.0
    for number, step in enumerate(lost):
        parts += _fall(number, left, step)
        left = max(0.0, left - step.share.share)
    end = LEFT + STEP * len(lost)
    parts.append(_band(end, left, STEP))
    parts += _label(end + STEP / 2, TOP + FULL + FALL + 16, last)
    summary = f"{_percent(last.share.share)} of {last.share.total} are {last.label}."
    size = (end + STEP + LEFT, TOP + FULL + FALL + 16 + 4 * LINE)
    return Chart(
        title=title,
        summary=summary,
        svg=picture(size, title, summary, *parts, class_="chart funnel"),
        head=("outcome", "rollouts", "share", "95 %"),
        rows=tuple(_row(step) for step in steps),
    )


def _fall(number: int, left: float, step: FunnelStep) -> list[Markup]:
    """What goes on, and what falls: as wide where it lands as it was high."""
    x, thickness = LEFT + STEP * number, FULL * step.share.share
    bottom, floor = TOP + FULL * left, TOP + FULL + FALL
    found = [_band(x, left - step.share.share, STEP)]
    if thickness > 0:
        lands = x + (STEP - thickness) / 2
        corners = [(x, bottom - thickness), (x, bottom), (lands, floor), (lands + thickness, floor)]
        name = f"{step.label}: {step.share.hits} of {step.share.total}"
        shape = element("path", element("title", name), d=path(corners, is_closed=True), class_="band lost c1")
        found.append(shape)
    return [*found, *_label(x + STEP / 2, floor + 16, step)]


def _band(x: float, share: float, width: float) -> Markup:
    height = FULL * max(0.0, share)
    corners = [(x, TOP), (x + width, TOP), (x + width, TOP + height), (x, TOP + height)]
    return element("path", d=path(corners, is_closed=True), class_="band c0")


def _label(x: float, y: float, step: FunnelStep) -> list[Markup]:
    """The share, and the name in at most three lines."""
    lines = [_percent(step.share.share), *_lines(step.label)]
    return [
        element("text", text, x=x, y=y + LINE * number, class_="label" if number == 0 else "tick", text_anchor="middle")
        for number, text in enumerate(lines)
    ]


def _lines(label: str, most: int = 3) -> list[str]:
    """Words in lines that fit a step.

    >>> _lines("returned in the wrong place")
    ['returned in the', 'wrong place']
    """
    lines = [""]
    for word in label.split():
        joined = f"{lines[-1]} {word}".strip()
        if len(joined) <= LONGEST_WORDS or not lines[-1]:
            lines[-1] = joined
        else:
            lines.append(word)
    return [short(line, LONGEST_WORDS) for line in lines[:most]]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _row(step: FunnelStep) -> tuple[str, str, str, str]:
    own = step.share
    interval = f"[{fixed(own.low)}, {fixed(own.high)}]"
    return step.label, f"{own.hits} of {own.total}", fixed(own.share), interval
