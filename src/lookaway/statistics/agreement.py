"""Inter-rater agreement: several coefficients side by side, since each alone can mislead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.scene_replicates import SumStatistic, safe_divide

MISSING = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """A table of items and raters; ratings may be missing."""

    codes: Indices
    """[items, raters]: index of the answer in `categories`, or -1 where there is none."""
    categories: tuple[str, ...]
    """All possible answers, whether or not anybody gave them."""
    scenes: Sequence[str]
    """Scene of each item."""

    def __post_init__(self) -> None:
        if len(self.categories) < 2 or len(set(self.categories)) != len(self.categories):
            raise ValueError(f"Ratings need two or more different categories, found {list(self.categories)}.")
        if self.codes.ndim != 2 or len(self.codes) != len(self.scenes):
            raise ValueError(
                f"Ratings are [items, raters] with one scene per item, found {list(self.codes.shape)} and "
                f"{len(self.scenes)} scenes."
            )
        if np.any((self.codes < MISSING) | (self.codes >= len(self.categories))):
            raise ValueError(f"A code is an index of the {len(self.categories)} categories, or -1 for none.")


def encode_ratings(
    answers: Sequence[Sequence[str | None]], categories: Sequence[str], scenes: Sequence[str] | None = None
) -> Ratings:
    """Ratings from answers, item by item, `None` where a rater gave none; without scenes, each item is its own.

    >>> encode_ratings([["yes", "no"], ["yes", None]], ["no", "yes"]).codes.tolist()
    [[1, 0], [1, -1]]
    """
    places: dict[str | None, int] = {name: place for place, name in enumerate(categories)}
    unknown = {answer for row in answers for answer in row if answer is not None} - set(places)
    if unknown:
        raise ValueError(f"Answers outside the declared categories {list(categories)}: {sorted(map(str, unknown))}.")
    raters = len(answers[0]) if answers else 0
    codes = np.array([[places.get(answer, MISSING) for answer in row] for row in answers], np.int64)
    own = [f"{number:09d}" for number in range(len(answers))]
    return Ratings(
        codes=codes.reshape(len(answers), raters),
        categories=tuple(categories),
        scenes=own if scenes is None else scenes,
    )


def category_counts(codes: Indices, categories: int) -> Floats:
    """How many raters gave each answer to each item [items, categories]."""
    return np.stack([np.sum(codes == place, axis=1) for place in range(categories)], axis=1).astype(np.float64)


Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]


def percent_agreement(counts: Floats, credit: Floats) -> SumStatistic:
    """Mean over items of the agreement of two raters; `credit` is what a pair of answers counts."""
    agreeing, rated_twice = _item_agreement(counts, credit)
    return SumStatistic(np.stack([agreeing, rated_twice], axis=1), lambda sums: safe_divide(sums[:, 0], sums[:, 1]))


def specific_agreement(counts: Floats, category: int) -> SumStatistic:
    """Where one rater gave this answer, how often another rater of the item gave it too."""
    own, raters = counts[:, category], counts.sum(axis=1)
    columns = np.stack([own * (own - 1), own * (raters - 1)], axis=1)
    return SumStatistic(columns, lambda sums: safe_divide(sums[:, 0], sums[:, 1]))


def gwet(counts: Floats, credit: Floats) -> SumStatistic:
    """Gwet's AC1, or AC2 where pairs of different answers have credit."""
    categories = len(credit)
    raters = counts.sum(axis=1)
    shares = counts / np.maximum(raters, 1)[:, None]
    columns = np.column_stack([*_item_agreement(counts, credit), raters > 0, shares])

    def formula(sums: Floats) -> Floats:
        observed = safe_divide(sums[:, 0], sums[:, 1])
        usual = safe_divide(sums[:, 3:], sums[:, 2:3])
        by_chance = credit.sum() / (categories * (categories - 1)) * np.sum(usual * (1 - usual), axis=1)
        return safe_divide(observed - by_chance, 1 - by_chance)

    return SumStatistic(columns, formula)


def krippendorff_alpha(counts: Floats, values: Floats, scale: Scale) -> SumStatistic:
    """Krippendorff's alpha; undefined where only one answer was ever given."""
    categories = len(values)
    raters = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(categories)
    coincidences = pairs * np.where(raters >= 2, 1 / np.maximum(raters - 1, 1), 0)[:, None, None]

    def formula(sums: Floats) -> Floats:
        seen = sums.reshape(-1, categories, categories)
        totals = seen.sum(axis=2)
        distances = _distances(totals, values, scale)
        observed = np.sum(seen * distances, axis=(1, 2))
        expected = np.sum(totals[:, :, None] * totals[:, None, :] * distances, axis=(1, 2))
        return np.asarray(1 - (totals.sum(axis=1) - 1) * safe_divide(observed, expected))

    return SumStatistic(coincidences.reshape(len(counts), categories**2), formula)


def cohen_kappa(codes: Indices, credit: Floats) -> SumStatistic:
    """Cohen's kappa of two raters, weighted by `credit`; undefined where both always gave one and the same answer."""
    categories = len(credit)
    both = np.all(codes != MISSING, axis=1)
    columns = np.zeros((len(codes), categories**2))
    columns[np.flatnonzero(both), codes[both, 0] * categories + codes[both, 1]] = 1
    blame = 1 - credit

    def formula(sums: Floats) -> Floats:
        seen = sums.reshape(-1, categories, categories)
        expected = seen.sum(axis=2)[:, :, None] * seen.sum(axis=1)[:, None, :]
        count = seen.sum(axis=(1, 2))
        missed, by_chance = np.sum(blame * seen, axis=(1, 2)), np.sum(blame * expected, axis=(1, 2))
        return np.asarray(1 - count * safe_divide(missed, by_chance))

    return SumStatistic(columns, formula)


def _item_agreement(counts: Floats, credit: Floats) -> tuple[Floats, Floats]:
    raters = counts.sum(axis=1)
    rated_twice = raters >= 2
    agreeing = np.sum(counts * (counts @ credit.T - 1), axis=1) / np.maximum(raters * (raters - 1), 1)
    return np.where(rated_twice, agreeing, 0.0), rated_twice.astype(np.float64)


def _distances(totals: Floats, values: Floats, scale: Scale) -> Floats:
    if scale == "nominal":
        return np.broadcast_to(1 - np.eye(len(values)), (len(totals), len(values), len(values)))
    places = np.cumsum(totals, axis=1) - totals / 2 if scale == "ordinal" else np.broadcast_to(values, totals.shape)
    return np.asarray((places[:, :, None] - places[:, None, :]) ** 2)


Credit = Literal["linear", "quadratic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """A coefficient of agreement, and its value under chance."""

    estimate: Estimate
    by_chance: float | None
    """Its mean where the answers of every rater are shuffled among the items they rated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """All coefficients of one table; `None` where one is not defined."""

    items: int
    """Items with two or more ratings."""
    raters: int
    categories: tuple[str, ...]
    scale: Scale
    credit: tuple[tuple[float, ...], ...] | None
    """What a pair of answers counts in AC2 and in weighted kappa."""
    raw: Coefficient | None
    """Percent agreement."""
    specific: Mapping[str, Coefficient | None]
    """By answer: where one rater gave it, how often another did."""
    ac1: Coefficient | None
    ac2: Coefficient | None
    alpha: Coefficient | None
    kappa: Coefficient | None
    """Cohen's kappa; for exactly two raters."""
    weighted_kappa: Coefficient | None
    seed: int
    shuffles: int
    replicates: int

    def is_reliable(self, threshold: float) -> bool:
        """Whether the lower bounds of alpha and AC1 both reach a threshold that was set before."""
        lows = [found.estimate.low if found else None for found in (self.alpha, self.ac1)]
        return all(low is not None and low >= threshold for low in lows)


def agreement(
    ratings: Ratings,
    *,
    seed: int,
    scale: Scale = "nominal",
    credit: Credit | Floats | None = None,
    weights: Floats | None = None,
    shuffles: int = 200,
) -> Agreement:
    """All coefficients, with intervals where weights [replicates, scenes] are given.

    The distance of two answers is that of their indices in the categories. `credit` gives partial credit: linear or
    quadratic in that distance, or a matrix with ones on its diagonal.

    >>> answers = [["yes", "yes"]] * 90 + [["yes", "no"]] * 5 + [["no", "yes"]] * 5
    >>> found = agreement(encode_ratings(answers, ["no", "yes"]), seed=1)
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
        raise ValueError("Credit must be symmetric, 1 for equal answers, and from 0 to less than 1 for different ones.")
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
