"""Which share of the findings of a table may be false: q-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseDiscovery:
    """The q-value of each test of a family, and how large the family is."""

    q: tuple[float | None, ...]
    """`None` where there was no test."""
    family: int
    """How many tests there were."""
    tests_may_depend: bool


def false_discovery(p_values: Sequence[float | None], *, tests_may_depend: bool = False) -> FalseDiscovery:
    """q-values of Benjamini and Hochberg, or those of Benjamini and Yekutieli, which hold whatever the dependence.

    A family is one table: all tests that a reader picks findings from. What could not be tested is no part of it.

    >>> false_discovery([0.01, None, 0.04, 0.03]).q
    (0.03, None, 0.04, 0.04)
    """
    tested = [place for place, p in enumerate(p_values) if p is not None]
    p = np.array([p for p in p_values if p is not None], np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p-values lie between 0 and 1.")
    ranks = np.arange(1, len(p) + 1)
    order = np.argsort(p, kind="stable")
    factor = float(np.sum(1 / ranks)) if tests_may_depend else 1.0
    stepped = np.minimum.accumulate((p[order] * (len(p) / ranks) * factor)[::-1])[::-1]
    q: list[float | None] = [None] * len(p_values)
    for place, value in zip(order.tolist(), np.minimum(stepped, 1.0).tolist(), strict=True):
        q[tested[place]] = value
    return FalseDiscovery(q=tuple(q), family=len(p), tests_may_depend=tests_may_depend)
