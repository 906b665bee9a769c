"""Strengths of models from votes on pairs (Bradley-Terry), with ties and the advantage of a side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookaway.core import Estimate, Floats
from lookaway.statistics.preference_fit import OUTCOMES, PreferenceModel, Ties, preference_model, vote_columns
from lookaway.statistics.scene_replicates import replicate_estimate, resampled_sums
from lookaway.statistics.votes import LEFT, RIGHT, Votes

USUAL_RIDGE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """Strengths that sum to 0; a model that is stronger by 1 wins e times as often as it loses."""

    models: tuple[str, ...]
    strengths: tuple[Estimate, ...]
    left_bias: Estimate | None
    """By how much a model is stronger where it is shown on the left; `None` where votes cannot tell."""
    tie_weight: Estimate | None
    """Davidson's nu: equals tie so many times as often as one of them beats the other; `None` where none was fitted."""
    ties: Ties
    ridge: float
    separated: tuple[tuple[str, ...], ...]
    """Groups of models of which one never lost to another, strongest first: how far they are apart is the ridge's
    doing. Empty where all is well."""
    replicates: Floats
    """Strengths of resampled scenes [replicates, models], for ranks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unconnected:
    """No strengths: these groups of models were never compared with each other."""

    components: tuple[tuple[str, ...], ...]


def bradley_terry(
    votes: Votes, *, ties: Ties = "davidson", ridge: float = USUAL_RIDGE, weights: Floats | None = None
) -> Strengths | Unconnected:
    """Strengths of all models, with intervals where weights [replicates, scenes] are given.

    logit P(i beats j) = s_i - s_j + b where i is on the left; P(tie) is in proportion to nu * sqrt(P(i) P(j))
    (Davidson), or a tie is half a win for both. The penalty ridge / 2 * (sum of squares) keeps a model that never lost
    finite, and is of no account elsewhere.
    """
    groups = compared_groups(votes, strong=False)
    if len(groups) > 1:
        return Unconnected(components=groups)
    model = preference_model(votes, ties=ties, ridge=ridge)
    sums = _sums_by_scene(model, votes)
    found = model.fit(_counts(sums.sum(axis=0, keepdims=True), model))[0]
    many = len(votes.models)
    drawn = np.zeros((0, len(found))) if weights is None else model.fit(_counts(resampled_sums(sums, weights), model))

    def estimate(value: float, replicates: Floats) -> Estimate:
        known = replicates if len(replicates) else None
        return replicate_estimate(float(value), known, scored=len(votes), scenes=len(sums))

    separated = compared_groups(votes, strong=True)
    return Strengths(
        models=votes.models,
        strengths=tuple(estimate(found[place], drawn[:, place]) for place in range(many)),
        left_bias=estimate(found[many], drawn[:, many]) if model.design.shape[1] > many else None,
        tie_weight=estimate(np.exp(found[-1]), np.exp(drawn[:, -1])) if model.with_ties else None,
        ties=ties,
        ridge=ridge,
        separated=_strongest_first(separated, votes.models, found) if len(separated) > 1 else (),
        replicates=drawn[:, :many],
    )


def _sums_by_scene(model: PreferenceModel, votes: Votes) -> Floats:
    names, scene = np.unique(np.asarray(votes.scenes, np.str_), return_inverse=True)
    size = len(model.design) * len(OUTCOMES)
    places = np.bincount(scene * size + vote_columns(model, votes), minlength=len(names) * size)
    return places.reshape(len(names), size).astype(np.float64)


def _counts(sums: Floats, model: PreferenceModel) -> Floats:
    return sums.reshape(len(sums), len(model.design), len(OUTCOMES))


def compared_groups(votes: Votes, *, strong: bool) -> tuple[tuple[str, ...], ...]:
    """Groups of models that are connected by votes; if strong, by wins and ties in both directions."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    beats, loses = votes.verdicts != RIGHT, votes.verdicts != LEFT
    winners = np.concatenate([votes.left[beats], votes.right[loses]])
    losers = np.concatenate([votes.right[beats], votes.left[loses]])
    size = len(votes.models)
    graph = coo_array((np.ones(len(winners)), (winners, losers)), shape=(size, size)).tocsr()
    count, label = connected_components(graph, directed=True, connection="strong" if strong else "weak")
    groups = (tuple(votes.models[place] for place in np.flatnonzero(label == number)) for number in range(count))
    return tuple(sorted(groups))


def _strongest_first(
    groups: tuple[tuple[str, ...], ...], models: tuple[str, ...], found: Floats
) -> tuple[tuple[str, ...], ...]:
    strength = dict(zip(models, found[: len(models)].tolist(), strict=True))
    return tuple(sorted(groups, key=lambda group: -sum(strength[name] for name in group) / len(group)))
