"""Numbers as people read them. The only place that rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lookaway.core import Cell, Estimate

LEAST_DIGITS, SHOWN_OF_LARGEST = 3, 3
SMALLEST_PROBABILITY = 0.001


def fixed(value: float | None, digits: int = 3) -> str:
    """A number with a fixed count of digits, or a dash where there is none.

    >>> fixed(0.12345), fixed(None), fixed(-1e-17)
    ('0.123', '-', '0.000')
    """
    return "-" if value is None else f"{value:z.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """A difference, with the sign that says which way it goes.

    >>> signed(0.12345), signed(-0.5), signed(-1e-17), signed(None)
    ('+0.123', '-0.500', '+0.000', '-')
    """
    return "-" if value is None else f"{value:+z.{digits}f}"


def probability(value: float | None) -> str:
    """A p- or q-value; one that rounds to nothing is only known to be small.

    >>> probability(0.0451), probability(0.00002), probability(None)
    ('0.045', '<0.001', '-')
    """
    if value is None:
        return "-"
    return f"<{SMALLEST_PROBABILITY}" if value < SMALLEST_PROBABILITY else fixed(value)


def digits_for(values: Sequence[float]) -> int:
    """As many digits as show three figures of the largest value, and no fewer than three.

    >>> digits_for([0.5, 12.0]), digits_for([0.000123]), digits_for([])
    (3, 6, 3)
    """
    largest = max((abs(value) for value in values), default=0.0)
    return LEAST_DIGITS if largest == 0 else max(LEAST_DIGITS, SHOWN_OF_LARGEST - 1 - math.floor(math.log10(largest)))


def interval(cell: Cell) -> str:
    """The 95 % interval of a cell; a dash where one scene alone says nothing about others."""
    return estimate_interval(cell.estimate)


def estimate_interval(estimate: Estimate | None, digits: int = 3) -> str:
    """The 95 % interval of an estimate, or a dash."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return "-"
    return f"[{fixed(estimate.low, digits)}, {fixed(estimate.high, digits)}]"


def counts(reasons: Mapping[str, int], failures: int = 0) -> str:
    """Reasons with their counts.

    >>> counts({"missing_video": 2}, failures=1)
    'failed 1, missing_video 2'
    """
    parts = [f"failed {failures}"] if failures else []
    return ", ".join(parts + [f"{reason} {count}" for reason, count in reasons.items()])


def duration(seconds: float) -> str:
    """A duration in the unit that fits it.

    >>> duration(42), duration(5400), duration(200_000)
    ('42 s', '1.5 h', '2.3 d')
    """
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size or (unit == "d" and seconds >= size):
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def size(count: float) -> str:
    """A number of bytes in the unit that fits it.

    >>> size(1500), size(3.2e9)
    ('1.5 kB', '3.2 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def amount(count: int, noun: str) -> str:
    """A number of things.

    >>> amount(1, "model"), amount(3, "model")
    ('1 model', '3 models')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
