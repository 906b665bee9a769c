"""Whether vectors tell one thing from another."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from lookaway.core import Feature
from lookaway.io.clip_card import ClipCard


def of_pairs(card: ClipCard, feature: Feature) -> tuple[np.ndarray, np.ndarray]:
    """Cosines of two sights of one thing in different frames, and of two things; walls and floors are no things."""
    named = {thing.id for thing in card.things if thing.role != "structure"}
    rows = [row for row, thing in enumerate(feature["things"]) if thing in named]
    things, vectors = feature["things"][rows], feature["vectors"][rows]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    same, different = [], []
    for a, b in combinations(range(len(rows)), 2):
        (same if things[a] == things[b] else different).append(float(unit[a] @ unit[b]))
    return np.array(same), np.array(different)


def auc(higher: np.ndarray, lower: np.ndarray) -> float:
    """How often one of the first is above one of the second; ties count half.

    >>> auc(np.array([3, 2]), np.array([1, 2]))
    0.875
    """
    differences = higher[:, None] - lower[None]
    return float(((differences > 0) + 0.5 * (differences == 0)).mean())
