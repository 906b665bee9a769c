"""Ratings from 1 to 5 as values from 0 to 1."""

from __future__ import annotations

import numpy as np

from lookaway.core import Feature, Json

LOWEST, HIGHEST = 1, 5


def middle_rating(feature: Feature) -> float:
    """The median over repeats, from 1 to 5."""
    return float(np.median(feature["rating"]))


def rating_value(rating: float) -> float:
    """From 0 to 1.

    >>> rating_value(1), rating_value(4), rating_value(5)
    (0.0, 0.75, 1.0)
    """
    return (rating - LOWEST) / (HIGHEST - LOWEST)


def rating_detail(feature: Feature) -> dict[str, Json]:
    """All repeats, and what was said."""
    return {"ratings": feature["rating"].tolist(), **feature.detail}
