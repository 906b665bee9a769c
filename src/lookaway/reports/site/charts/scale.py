"""From values to places in a chart, and round numbers to write beside the axis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

MOST_TICKS = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` lie from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a value lies; beyond the ends it is at the end.

        >>> Scale(0, 1, 0, 200)(0.25), Scale(0, 1, 0, 200)(7)
        (50.0, 200.0)
        """
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.end - self.start)


def extent(values: Iterable[float], bounds: tuple[float | None, float | None] = (None, None)) -> tuple[float, float]:
    """What an axis shows: the whole range of a metric where it has two ends, else round numbers around the values.

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
    step = _step(high - low, MOST_TICKS)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def tick_text(value: float, low: float, high: float) -> str:
    """A tick of an axis with these ends, with as many digits as its steps need.

    >>> tick_text(0.5, -0.25, 1), tick_text(0.2, 0, 1), tick_text(20.0, 0, 24), tick_text(2e-5, 0, 3e-5)
    ('0.50', '0.2', '20', '2e-05')
    """
    step = number_text(_step(high - low, MOST_TICKS))
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
