"""What a study of some size can find, and which size finds something, before anybody measures."""

from __future__ import annotations

import math


def detectable_effect(deviation: float, size: float, *, risk: float = 0.05, power: float = 0.80) -> float:
    """The least true mean difference that so many independent differences of this standard deviation would find.

    `risk` is how often a two-sided test finds what is not there, `power` how often it finds what is.

    >>> [round(detectable_effect(0.20, size), 3) for size in (10, 30, 100, 400)]
    [0.177, 0.102, 0.056, 0.028]
    """
    if deviation < 0 or size <= 0:
        raise ValueError(f"Expected a deviation of 0 or more and a size above 0, found {deviation} and {size}.")
    return _distance(risk, power) * deviation / math.sqrt(size)


def needed_size(effect: float, deviation: float, *, risk: float = 0.05, power: float = 0.80) -> int:
    """How many independent differences of this standard deviation find a true mean difference.

    >>> needed_size(0.05, 0.20)
    126
    """
    if deviation < 0 or effect == 0:
        raise ValueError(f"Expected a deviation of 0 or more and an effect, found {deviation} and {effect}.")
    return max(1, math.ceil((_distance(risk, power) * deviation / effect) ** 2))


def needed_pairs(win_probability: float, *, design_effect: float = 1.0, risk: float = 0.05, power: float = 0.80) -> int:
    """How many decided pairs tell a model that wins so often from one that wins half of them.

    `design_effect` is how many times more votes are needed because those of one scene are alike.

    >>> needed_pairs(0.60), needed_pairs(0.60, design_effect=2), needed_pairs(0.55)
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


def _distance(risk: float, power: float) -> float:
    return _quantile(1 - risk / 2) + _quantile(power)


def _quantile(share: float) -> float:
    from scipy.special import ndtri

    if not 0 < share < 1:
        raise ValueError("Risk and power lie between 0 and 1.")
    return float(ndtri(share))
