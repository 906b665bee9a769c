"""Two models on the same cases: how far apart they are, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.scene_mean import scene_mean
from lookaway.statistics.sign_flip import SignFlip, sign_flip
from lookaway.statistics.signed_ranks import SignedRanks, signed_ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseValues:
    """What one metric gave for the rollouts of one model; a case may have several, with different seeds."""

    values: Floats
    cases: Sequence[str]
    """Case of each value."""
    scenes: Sequence[str]
    """Scene of each value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """The first model minus the second, over the cases that both have; every scene counts once."""

    first: float
    second: float
    """Means of the two; their difference is that of `difference`."""
    difference: Estimate
    """With the interval of a mean over scenes; `scored` are the cases."""
    by_scene: Mapping[str, float]
    """Mean difference of each scene."""
    deviation: float | None
    """Standard deviation of the scenes' differences; one scene has none."""
    sign_flip: SignFlip
    signed_ranks: SignedRanks
    only_first: int
    only_second: int
    """Cases that one of them lacks."""


def paired_difference(first: CaseValues, second: CaseValues, *, seed: int = 0) -> PairedDifference | None:
    """The comparison; `None` where no case has values of both.

    Seeds of one model are not those of another: a case counts with the mean of its values. What is compared, and what
    signs are flipped of, are the mean differences of scenes, for cases of one scene are not independent.
    """
    names, own = _case_means(first)
    others, theirs = _case_means(second)
    shared, here, there = np.intersect1d(names, others, assume_unique=True, return_indices=True)
    if not len(shared):
        return None
    scene_of = _scene_of_cases(first, second)
    scenes, place = np.unique([scene_of[case] for case in shared.tolist()], return_inverse=True)
    one, other = _means_by(place, own[here]), _means_by(place, theirs[there])
    differences = _differences(one, other)
    mean = scene_mean(differences, scenes.tolist())
    assert mean is not None  # noqa: S101 - some case is shared
    return PairedDifference(
        first=float(one.mean()),
        second=float(other.mean()),
        difference=replace(mean, scored=len(shared)),
        by_scene=dict(zip(scenes.tolist(), differences.tolist(), strict=True)),
        deviation=float(differences.std(ddof=1)) if len(scenes) > 1 else None,
        sign_flip=sign_flip(differences, seed=seed),
        signed_ranks=signed_ranks(differences),
        only_first=len(names) - len(shared),
        only_second=len(others) - len(shared),
    )


def _case_means(data: CaseValues) -> tuple[NDArray[np.str_], Floats]:
    names, place = np.unique(np.asarray(data.cases, np.str_), return_inverse=True)
    return names, _means_by(place, np.asarray(data.values, np.float64))


def _means_by(place: Indices, values: Floats) -> Floats:
    means: Floats = np.bincount(place, weights=values) / np.bincount(place)
    return means


def _differences(one: Floats, other: Floats) -> Floats:
    # Means of the same numbers in another order differ in their last digits, and such a difference would have a sign.
    differences = one - other
    is_rounding = np.abs(differences) <= 1e-12 * (np.abs(one) + np.abs(other))
    return np.where(is_rounding, 0.0, differences)


def _scene_of_cases(*both: CaseValues) -> dict[str, str]:
    scene_of: dict[str, str] = {}
    for data in both:
        for case, scene in zip(data.cases, data.scenes, strict=True):
            if scene_of.setdefault(case, scene) != scene:
                raise ValueError(f"Case {case!r} is of scene {scene_of[case]!r} and of scene {scene!r}.")
    return scene_of
