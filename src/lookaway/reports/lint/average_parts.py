"""Which columns an average is made of, told from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lookaway.core import Floats
from lookaway.reports.lint.column_roles import Column

MOST_COLUMNS = 12
"""All choices of more columns would be too many to try; then an average is that of all, or of what is not known."""
LEAST_ROWS = 2


def average_parts(average: Column, measures: Sequence[Column]) -> tuple[Column, ...] | None:
    """The largest choice of columns whose means are the averages in every row; `None` where no choice is.

    Cells without a number are left out of the mean of their row.
    """
    values = np.array([[_number(cell.value) for cell in column.cells] for column in measures], np.float64)
    means = np.array([_number(cell.value) for cell in average.cells], np.float64)
    digits = min((cell.digits for cell in average.cells if cell.value is not None), default=0)
    fewest = 2 if len(measures) <= MOST_COLUMNS else len(measures)
    for size in range(len(measures), fewest - 1, -1):
        for choice in combinations(range(len(measures)), size):
            if _is_mean(values[list(choice)], means, 0.6 * 10.0**-digits):
                return tuple(measures[place] for place in choice)
    return None


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _is_mean(parts: Floats, means: Floats, rounding: float) -> bool:
    known = ~np.isnan(parts)
    counts = known.sum(axis=0)
    rows = (counts > 0) & ~np.isnan(means)
    if rows.sum() < LEAST_ROWS or not known.any(axis=1).all():
        return False
    found = np.where(known, parts, 0.0).sum(axis=0)[rows] / counts[rows]
    # Parts may be rounded as well; what is printed with many digits was computed in floating point.
    return bool(np.all(np.abs(found - means[rows]) <= 2 * rounding + 1e-9))
