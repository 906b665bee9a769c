"""How much raters agree: several coefficients side by side, for any of them alone misleads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.agreement_formulas import (
    Scale,
    cohen_kappa,
    gwet,
    krippendorff_alpha,
    percent_agreement,
    specific_agreement,
)
from lookaway.statistics.ratings import MISSING, Ratings, category_counts
from lookaway.statistics.scene_replicates import SumStatistic

Credit = Literal["linear", "quadratic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """A coefficient of agreement, and what it would be without any agreement."""

    estimate: Estimate
    by_chance: float | None
    """Its mean where the answers of every rater are shuffled among the items that the rater saw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """All that is to be shown together; `None` where a coefficient is not defined."""

    items: int
    """Items with two or more ratings."""
    raters: int
    categories: tuple[str, ...]
    scale: Scale
    credit: tuple[tuple[float, ...], ...] | None
    """What a pair of answers counts in AC2 and in the weighted kappa."""
    raw: Coefficient | None
    """Percent agreement."""
    specific: Mapping[str, Coefficient | None]
    """Where one rater gave this answer: how often another did."""
    ac1: Coefficient | None
    ac2: Coefficient | None
    alpha: Coefficient | None
    kappa: Coefficient | None
    """Cohen's, of exactly two raters."""
    weighted_kappa: Coefficient | None
    seed: int
    shuffles: int
    replicates: int

    def is_reliable(self, line: float) -> bool:
        """Whether the lower ends of alpha and AC1 both clear a line that was set before."""
        lows = [found.estimate.low if found else None for found in (self.alpha, self.ac1)]
        return all(low is not None and low >= line for low in lows)


def agreement(
    ratings: Ratings,
    *,
    seed: int,
    scale: Scale = "nominal",
    credit: Credit | Floats | None = None,
    weights: Floats | None = None,
    shuffles: int = 200,
) -> Agreement:
    """Agreement of the raters of a table, with intervals where weights [replicates, scenes] are given.

    Answers are as far apart as their places in the categories. `credit` is for answers that are nearly the same:
    linear or quadratic in that distance, or a matrix with ones on its diagonal.

    >>> from lookaway.statistics.ratings import ratings_of
    >>> answers = [["yes", "yes"]] * 90 + [["yes", "no"]] * 5 + [["no", "yes"]] * 5
    >>> found = agreement(ratings_of(answers, ["no", "yes"]), seed=1)
    >>> [round(one.estimate.mean, 2) for one in (found.raw, found.kappa, found.alpha, found.ac1)]
    [0.9, -0.05, -0.05, 0.89]
    """
    given = None if credit is None else credit_matrix(credit, len(ratings.categories))
    statistics = _statistics(ratings.codes, len(ratings.categories), scale, given)
    null = _by_chance(ratings, scale, given, np.random.default_rng(seed), shuffles)
    items = int(np.sum(np.sum(ratings.codes != MISSING, axis=1) >= 2))
    found: dict[str, Coefficient | None] = {}
    for name, statistic in statistics.items():
        estimate = statistic.estimate(ratings.scenes, weights, scored=items)
        found[name] = None if estimate is None else Coefficient(estimate=estimate, by_chance=null.get(name))
    return Agreement(
        items=items,
        raters=ratings.codes.shape[1],
        categories=ratings.categories,
        scale=scale,
        credit=None if given is None else tuple(tuple(row) for row in given.tolist()),
        raw=found["raw"],
        specific={name: found[f"specific {place}"] for place, name in enumerate(ratings.categories)},
        ac1=found["ac1"],
        ac2=found.get("ac2"),
        alpha=found["alpha"],
        kappa=found.get("kappa"),
        weighted_kappa=found.get("weighted kappa"),
        seed=seed,
        shuffles=shuffles,
        replicates=0 if weights is None else len(weights),
    )


def credit_matrix(credit: Credit | Floats, categories: int) -> Floats:
    """What each pair of answers counts [categories, categories]: 1 on the diagonal, less off it.

    >>> credit_matrix("linear", 3).tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    if isinstance(credit, str):
        distance = np.abs(np.subtract.outer(np.arange(categories), np.arange(categories))) / (categories - 1)
        return np.asarray(1 - distance ** (1 if credit == "linear" else 2))
    matrix = np.asarray(credit, np.float64)
    if matrix.shape != (categories, categories):
        raise ValueError(f"Credit is {categories} x {categories}, one row per category, found {list(matrix.shape)}.")
    off_diagonal = matrix[~np.eye(categories, dtype=bool)]
    if not (np.array_equal(matrix, matrix.T) and np.all(np.diag(matrix) == 1)) or np.any(
        (off_diagonal < 0) | (off_diagonal >= 1)
    ):
        raise ValueError("Credit is symmetric, 1 for the same answer, and from 0 to less than 1 for another one.")
    return matrix


def _statistics(codes: Indices, categories: int, scale: Scale, credit: Floats | None) -> dict[str, SumStatistic]:
    same, places = np.eye(categories), np.arange(categories, dtype=np.float64)
    counts = category_counts(codes, categories)
    found = {
        "raw": percent_agreement(counts, same),
        "ac1": gwet(counts, same),
        "alpha": krippendorff_alpha(counts, places, scale),
        **{f"specific {place}": specific_agreement(counts, place) for place in range(categories)},
    }
    if credit is not None:
        found["ac2"] = gwet(counts, credit)
    if codes.shape[1] == 2:
        found["kappa"] = cohen_kappa(codes, same)
        if credit is not None:
            found["weighted kappa"] = cohen_kappa(codes, credit)
    return found


def _by_chance(
    ratings: Ratings, scale: Scale, credit: Floats | None, rng: np.random.Generator, shuffles: int
) -> dict[str, float | None]:
    values: dict[str, list[float]] = {}
    for codes in _shuffled(ratings.codes, rng, shuffles):
        for name, statistic in _statistics(codes, len(ratings.categories), scale, credit).items():
            value = statistic.value()
            values.setdefault(name, []).extend([] if value is None else [value])
    return {name: float(np.mean(found)) if found else None for name, found in values.items()}


def _shuffled(codes: Indices, rng: np.random.Generator, shuffles: int) -> Iterator[Indices]:
    seen = [np.flatnonzero(column != MISSING) for column in codes.T]
    for _ in range(shuffles):
        shuffled = codes.copy()
        for rater, rows in enumerate(seen):
            shuffled[rows, rater] = rng.permutation(codes[rows, rater])
        yield shuffled
