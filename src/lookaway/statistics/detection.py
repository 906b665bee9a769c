"""How well a number tells clips with a fault from clips without: AUC, with an interval over scenes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookaway.core import Estimate, Floats
from lookaway.statistics.scene_bootstrap import DRAWS, SEED, scene_weights
from lookaway.statistics.scene_replicates import replicate_estimate, safe_divide


def auc(faulty: Sequence[float] | Floats, clean: Sequence[float] | Floats) -> float:
    """Chance that a faulty clip has the larger number; ties count half.

    >>> auc([3.0, 2.0], [1.0, 2.0])
    0.875
    """
    return float(np.mean(_wins(np.asarray(faulty, np.float64), np.asarray(clean, np.float64))))


def auc_estimate(
    faulty: Floats,
    faulty_scenes: Sequence[str],
    clean: Floats,
    clean_scenes: Sequence[str],
    *,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Estimate | None:
    """The AUC with an interval from resampled scenes; `None` where there is no faulty or no clean clip.

    A scene brings all its clips, faulty and clean, into a draw, since they are not independent.
    """
    if not len(faulty) or not len(clean):
        return None
    names, place = np.unique([*faulty_scenes, *clean_scenes], return_inverse=True)
    own, other = np.eye(len(names))[place[: len(faulty)]], np.eye(len(names))[place[len(faulty) :]]
    wins = own.T @ _wins(faulty, clean) @ other
    pairs = np.outer(own.sum(axis=0), other.sum(axis=0))
    weights = scene_weights(len(names), draws=draws, seed=seed)
    replicates = safe_divide(((weights @ wins) * weights).sum(axis=1), ((weights @ pairs) * weights).sum(axis=1))
    value = float(wins.sum() / pairs.sum())
    return replicate_estimate(value, replicates, scored=len(faulty), scenes=len(names))


def _wins(faulty: Floats, clean: Floats) -> Floats:
    return np.asarray((faulty[:, None] > clean) + 0.5 * (faulty[:, None] == clean))
