"""Coefficients of agreement as formulas of sums over items.

Most need no more than how many raters gave each answer to each item [items, categories].
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from lookaway.core import Floats, Indices
from lookaway.statistics.ratings import MISSING
from lookaway.statistics.scene_replicates import SumStatistic, quotient

Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]


def percent_agreement(counts: Floats, credit: Floats) -> SumStatistic:
    """Mean over items of how much two of their raters agree; `credit` is what a pair of answers counts."""
    agreeing, rated_twice = _item_agreement(counts, credit)
    return SumStatistic(np.stack([agreeing, rated_twice], axis=1), lambda sums: quotient(sums[:, 0], sums[:, 1]))


def specific_agreement(counts: Floats, category: int) -> SumStatistic:
    """How often another rater of the item gave this answer too, where one rater gave it."""
    own, raters = counts[:, category], counts.sum(axis=1)
    columns = np.stack([own * (own - 1), own * (raters - 1)], axis=1)
    return SumStatistic(columns, lambda sums: quotient(sums[:, 0], sums[:, 1]))


def gwet(counts: Floats, credit: Floats) -> SumStatistic:
    """Gwet's AC1, or AC2 where pairs of different answers have credit."""
    categories = len(credit)
    raters = counts.sum(axis=1)
    shares = counts / np.maximum(raters, 1)[:, None]
    columns = np.column_stack([*_item_agreement(counts, credit), raters > 0, shares])

    def formula(sums: Floats) -> Floats:
        observed = quotient(sums[:, 0], sums[:, 1])
        usual = quotient(sums[:, 3:], sums[:, 2:3])
        by_chance = credit.sum() / (categories * (categories - 1)) * np.sum(usual * (1 - usual), axis=1)
        return quotient(observed - by_chance, 1 - by_chance)

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
        return np.asarray(1 - (totals.sum(axis=1) - 1) * quotient(observed, expected))

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
        return np.asarray(1 - count * quotient(missed, by_chance))

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
