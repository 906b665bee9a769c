"""Paired comparison of two models on the same cases: difference, tests, false discovery, power."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.intervals import clip_interval, mean_estimates
from lookaway.statistics.scene_bootstrap import SceneSums

EXACT_UP_TO = 20
"""Up to this many nonzero differences, all 2^n flips are enumerated."""
DRAWS = 9_999
_DRAWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlip:
    """A two-sided sign-flip test that differences are symmetric about 0."""

    p: float
    flips: int
    """Number of flips."""
    seed: int | None
    """Seed of the draws; `None` where all flips were enumerated."""


def sign_flip(differences: Floats, *, draws: int = DRAWS, seed: int = 0) -> SignFlip:
    """The share of flips whose sum is at least as far from 0 as that of the differences.

    Up to 2^20 flips are enumerated (a zero has no sign to flip); otherwise `draws` are drawn, and p is
    (b + 1) / (draws + 1) with b as extreme ones.

    >>> sign_flip(np.array([0.1, 0.2, 0.3, 0.4, 0.5])).p
    0.0625
    """
    if not len(differences):
        raise ValueError("Expected at least one difference to test.")
    sizes = np.abs(np.asarray(differences, np.float64))
    sizes = sizes[sizes > 0]
    # Sums of the same numbers in another order differ in their last digits and must count as the same.
    bound = abs(float(np.sum(differences))) - 1e-12 * float(sizes.sum())
    if len(sizes) <= EXACT_UP_TO:
        sums = all_flips(sizes)
        return SignFlip(p=float(np.mean(np.abs(sums) >= bound)), flips=len(sums), seed=None)
    random = np.random.default_rng(seed)
    extreme = 0
    for start in range(0, draws, _DRAWS_AT_ONCE):
        signs = random.integers(2, size=(min(_DRAWS_AT_ONCE, draws - start), len(sizes)), dtype=np.int8)
        extreme += int(np.count_nonzero(np.abs((2.0 * signs - 1.0) @ sizes) >= bound))
    return SignFlip(p=(extreme + 1) / (draws + 1), flips=draws, seed=seed)


def all_flips(sizes: Floats) -> Floats:
    """The sums for every choice of signs.

    >>> all_flips(np.array([1.0, 2.0]))
    array([ 3.,  1., -1., -3.])
    """
    sums = np.zeros(1)
    for size in sizes.tolist():
        sums = np.concatenate([sums + size, sums - size])
    return sums


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRanks:
    """Wilcoxon's signed-rank test, two-sided, with Pratt's treatment of zeros: ranked, then dropped."""

    p: float
    differences: int
    """Differences other than 0."""
    zeros: int
    min_p: float
    """The smallest p possible with so many differences: 2 / 2^n."""
    is_exact: bool
    """Whether all flips were enumerated; with more than 20 differences p is from the normal distribution."""


def signed_ranks(differences: Floats) -> SignedRanks:
    """Wilcoxon's signed-rank test. Ties share their mean rank.

    >>> found = signed_ranks(np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    >>> found.p, found.min_p
    (0.0625, 0.0625)
    """
    values = np.asarray(differences, np.float64)
    # Differences that are equal but for their last digits share a rank.
    values = np.round(values / max(np.max(np.abs(values), initial=0.0), np.finfo(np.float64).tiny), 12)
    signed = np.sign(values) * _ranks(np.abs(values))
    left = int(np.count_nonzero(signed))
    is_exact = left <= EXACT_UP_TO
    return SignedRanks(
        p=sign_flip(signed).p if is_exact else _normal_p(signed),
        differences=left,
        zeros=len(values) - left,
        min_p=min(1.0, 2.0 ** (1 - left)),
        is_exact=is_exact,
    )


def _ranks(sizes: Floats) -> Floats:
    _, place, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[place]
    return ranks


def _normal_p(signed: Floats) -> float:
    from scipy.special import ndtr

    # With signs at random a sum of ranks has the variance of their squares: ties and zeros need no further correction.
    return 2.0 * float(ndtr(-abs(float(signed.sum())) / math.sqrt(float(np.sum(signed**2)))))


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseValues:
    """Values of one metric for the rollouts of one model; a case may have several, with different seeds."""

    values: Floats
    cases: Sequence[str]
    """Case of each value."""
    scenes: Sequence[str]
    """Scene of each value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """The first model minus the second, over the cases that both have; every clip counts once, as in a table."""

    first: float
    second: float
    """Means of the two models."""
    difference: Estimate
    """Mean difference with its interval over scenes; `scored` counts cases."""
    by_scene: Mapping[str, float]
    """Mean difference of each scene."""
    deviation: float | None
    """Standard deviation of the scenes' differences, each weighted by its clips; `None` for one scene."""
    sign_flip: SignFlip
    signed_ranks: SignedRanks
    only_first: int
    only_second: int
    """Cases that only one of them has."""


def paired_difference(
    first: CaseValues, second: CaseValues, *, span: float | None = None, seed: int = 0
) -> PairedDifference | None:
    """Compare two models; `None` where no case has values of both.

    A case has the mean of its seeds, which two models do not share, and counts as often as both have a clip of it: with
    all clips in both, the means are those of a table. Tests are on the sums of the differences of each scene, since
    clips of one scene are not independent. No interval leaves +-`span`, the width of the metric's range.
    """
    names, own, own_clips = _case_means(first)
    others, theirs, their_clips = _case_means(second)
    shared, here, there = np.intersect1d(names, others, assume_unique=True, return_indices=True)
    if not len(shared):
        return None
    scene_of = _scene_of_cases(first, second)
    scenes, place = np.unique([scene_of[case] for case in shared.tolist()], return_inverse=True)
    clips = np.minimum(own_clips[here], their_clips[there])
    counts = np.bincount(place, weights=clips).astype(np.int64)
    one, other = (np.bincount(place, weights=clips * means) for means in (own[here], theirs[there]))
    differences = _differences(one / counts, other / counts)
    sums = SceneSums(sums=differences * counts, counts=counts, squares=np.zeros(len(counts)))
    (mean,) = mean_estimates([sums])
    assert mean is not None  # noqa: S101 - some case is shared
    if span is not None:
        mean = clip_interval(mean, (-span, span))
    return PairedDifference(
        first=float(one.sum()) / int(counts.sum()),
        second=float(other.sum()) / int(counts.sum()),
        difference=replace(mean, scored=len(shared)),
        by_scene=dict(zip(scenes.tolist(), differences.tolist(), strict=True)),
        deviation=_deviation(sums, mean.mean),
        sign_flip=sign_flip(sums.sums, seed=seed),
        signed_ranks=signed_ranks(sums.sums),
        only_first=len(names) - len(shared),
        only_second=len(others) - len(shared),
    )


def _case_means(data: CaseValues) -> tuple[NDArray[np.str_], Floats, Indices]:
    """Every case with its mean and its number of clips."""
    names, place, clips = np.unique(np.asarray(data.cases, np.str_), return_inverse=True, return_counts=True)
    means: Floats = np.bincount(place, weights=np.asarray(data.values, np.float64)) / clips
    return names, means, clips


def _deviation(sums: SceneSums, mean: float) -> float | None:
    """For scenes with equally many clips, the standard deviation of their mean differences."""
    scenes = len(sums.counts)
    if scenes == 1:
        return None
    influences = (sums.sums - mean * sums.counts) * (scenes / sums.counts.sum())
    return math.sqrt(float(np.sum(influences**2)) / (scenes - 1))


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
                raise ValueError(f"Case {case!r} has two scenes, {scene_of[case]!r} and {scene!r}; expected one.")
    return scene_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseDiscovery:
    """The q-value of each test of a family."""

    q: tuple[float | None, ...]
    """`None` where there was no test."""
    family: int
    """Number of tests."""
    tests_may_depend: bool


def false_discovery(p_values: Sequence[float | None], *, tests_may_depend: bool = False) -> FalseDiscovery:
    """q-values of Benjamini and Hochberg, or of Benjamini and Yekutieli, which hold under any dependence.

    A family is one table: all tests that a reader picks findings from.

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


def detectable_effect(deviation: float, size: float, *, risk: float = 0.05, power: float = 0.80) -> float:
    """The minimum detectable mean difference for `size` independent differences of this standard deviation.

    `risk` is the false positive rate of a two-sided test, `power` its true positive rate.

    >>> [round(detectable_effect(0.20, size), 3) for size in (10, 30, 100, 400)]
    [0.177, 0.102, 0.056, 0.028]
    """
    if deviation < 0 or size <= 0:
        raise ValueError(f"Expected a deviation of 0 or more and a size above 0, found {deviation} and {size}.")
    return _distance(risk, power) * deviation / math.sqrt(size)


def required_size(effect: float, deviation: float, *, risk: float = 0.05, power: float = 0.80) -> int:
    """The sample size that detects a mean difference, for independent differences of this standard deviation.

    >>> required_size(0.05, 0.20)
    126
    """
    if deviation < 0 or effect == 0:
        raise ValueError(f"Expected a deviation of 0 or more and an effect, found {deviation} and {effect}.")
    return max(1, math.ceil((_distance(risk, power) * deviation / effect) ** 2))


def required_pairs(
    win_probability: float, *, design_effect: float = 1.0, risk: float = 0.05, power: float = 0.80
) -> int:
    """The number of decided pairs that separates this win probability from one half.

    `design_effect` is the factor by which clustering by scene raises it.

    >>> required_pairs(0.60), required_pairs(0.60, design_effect=2), required_pairs(0.55)
    (194, 388, 783)
    """
    if not 0 <= win_probability <= 1 or win_probability == 0.5 or design_effect < 1:
        raise ValueError(
            "Expected a probability other than one half and a design effect of 1 or more, "
            f"found {win_probability} and {design_effect}."
        )
    chance, wins = _quantile(1 - risk / 2) / 2, math.sqrt(win_probability * (1 - win_probability))
    pairs = ((chance + _quantile(power) * wins) / (win_probability - 0.5)) ** 2
    return math.ceil(pairs * design_effect)


def smallest_difference(spread: float, scenes: int, *, measured_scenes: int) -> float:
    """The smallest difference between two models that a metric can show, given how much its own floor varies.

    `spread` is the standard deviation over `measured_scenes` scenes of what a perfect memory gets; the two models are
    compared on `scenes` scenes. See `exceeds_floor`, which finds twice this difference in at least 90 of 100 cases.

    >>> round(smallest_difference(0.05, 40, measured_scenes=20), 3)
    0.043
    """
    missed, found = _floor_quantiles(measured_scenes)
    return (missed + found) * spread * math.sqrt(2 / scenes)


def exceeds_floor(difference: float, spread: float, scenes: int, *, measured_scenes: int) -> bool:
    """Whether two models differ by more than the smallest difference, beyond what the floor's spread explains.

    Models that differ by no more than the smallest difference are equal in at least 95 of 100 cases: a difference
    counts only where it is larger by the 97.5 % quantile of its error.

    >>> [exceeds_floor(difference, 0.05, 40, measured_scenes=20) for difference in (0.043, -0.086)]
    [False, True]
    """
    missed, _ = _floor_quantiles(measured_scenes)
    reach = missed * spread * math.sqrt(2 / scenes)
    return abs(difference) > smallest_difference(spread, scenes, measured_scenes=measured_scenes) + reach


def _floor_quantiles(measured_scenes: int) -> tuple[float, float]:
    """97.5 % and 95 % of Student's t, since the spread itself is an estimate."""
    from scipy.special import stdtrit

    if measured_scenes < 2:
        raise ValueError(f"Expected a spread of two scenes or more, found {measured_scenes}.")
    missed, found = stdtrit(measured_scenes - 1, [0.975, 0.95]).tolist()
    return missed, found


def _distance(risk: float, power: float) -> float:
    return _quantile(1 - risk / 2) + _quantile(power)


def _quantile(share: float) -> float:
    from scipy.special import ndtri

    if not 0 < share < 1:
        raise ValueError("Risk and power lie between 0 and 1.")
    return float(ndtri(share))
