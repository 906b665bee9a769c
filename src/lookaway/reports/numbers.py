"""Numbers as people read them. The only place that rounds."""

from __future__ import annotations

from collections.abc import Mapping

from lookaway.core import Cell, Estimate


def fixed(value: float | None, digits: int = 3) -> str:
    """A number with a fixed count of digits, or a dash where there is none.

    >>> fixed(0.12345), fixed(None), fixed(-1e-17)
    ('0.123', '-', '0.000')
    """
    return "-" if value is None else f"{value:z.{digits}f}"


def interval(cell: Cell) -> str:
    """The 95 % interval of a cell; a dash where one scene alone says nothing about others."""
    return estimate_interval(cell.estimate)


def estimate_interval(estimate: Estimate | None) -> str:
    """The 95 % interval of an estimate, or a dash."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return "-"
    return f"[{fixed(estimate.low)}, {fixed(estimate.high)}]"


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
