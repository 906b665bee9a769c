"""Bradley-Terry strengths of models from votes on pairs, with ties and a side bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.scene_replicates import replicate_estimate, resampled_sums
from lookaway.statistics.win_ratio import LEFT, RIGHT, TIE, Votes

Ties: TypeAlias = Literal["davidson", "half"]

OUTCOMES = (LEFT, TIE, RIGHT)
STEPS = 200
TOLERANCE = 1e-10
VALUES_AT_ONCE = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceModel:
    """Utilities d/2 for left, log(nu) for a tie, -d/2 for right, with d a linear function of strengths and bias.

    That is Bradley and Terry's model with a left-side bias, and Davidson's with ties. Where ties count half, each is
    half a vote for either side. Equal votes are counted in cells.
    """

    design: Floats
    """[cells, parameters]: d of a cell as a linear function of strengths and, last, the left-side bias."""
    cells: Indices
    """Cell of each vote."""
    ridge: float
    with_ties: bool
    """Whether log(nu) is fitted, as the last parameter."""

    @property
    def parameters(self) -> int:
        """Number of fitted parameters."""
        return int(self.design.shape[1]) + self.with_ties

    def fit(self, counts: Floats) -> Floats:
        """Parameters [replicates, parameters] that fit counts [replicates, cells, outcomes] best."""
        at_once = max(1, VALUES_AT_ONCE // max(1, len(self.design), self.parameters**2))
        return np.concatenate([self._fit(counts[start : start + at_once]) for start in range(0, len(counts), at_once)])

    def _fit(self, counts: Floats) -> Floats:
        found = np.zeros((len(counts), self.parameters))
        if not self.with_ties:
            half = counts[:, :, 1:2] / 2
            counts = np.concatenate([counts[:, :, :1] + half, np.zeros_like(half), counts[:, :, 2:] + half], axis=2)
        for _ in range(STEPS):
            slope, curvature = self._derivatives(found, counts)
            step = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
            moved = np.abs(step[:, : self.design.shape[1]] @ self.design.T).max(axis=1, initial=0)
            if self.with_ties:
                moved = moved + np.abs(step[:, -1])
            # Third derivatives of this likelihood are bounded by `moved` times the second: steps that are this much
            # shorter always go uphill, and become whole ones at the top.
            found += step * np.where(moved > 0, np.log1p(moved) / np.where(moved > 0, moved, 1), 1)[:, None]
            if moved.max(initial=0) < TOLERANCE:
                return found
        raise ArithmeticError(f"Strengths did not converge in {STEPS} steps.")

    def probabilities(self, found: Floats) -> Floats:
        """Probabilities of left, tie and right [replicates, cells, 3]."""
        reach = found[:, : self.design.shape[1]] @ self.design.T / 2
        tie = np.broadcast_to(found[:, -1:], reach.shape) if self.with_ties else np.full_like(reach, -np.inf)
        utilities = np.stack([reach, tie, -reach], axis=2)
        shares = np.exp(utilities - utilities.max(axis=2, keepdims=True))
        return np.asarray(shares / shares.sum(axis=2, keepdims=True))

    def curvature(self, probabilities: Floats, votes: Floats) -> Floats:
        """Minus the second derivatives [replicates, parameters, parameters], for votes [replicates, cells]."""
        size = self.design.shape[1]
        lean = (probabilities[:, :, 0] - probabilities[:, :, 2]) / 2
        tie = probabilities[:, :, 1]
        products = (self.design[:, :, None] * self.design[:, None, :]).reshape(len(self.design), -1)
        found = np.zeros((len(votes), self.parameters, self.parameters))
        found[:, :size, :size] = ((votes * ((1 - tie) / 4 - lean**2)) @ products).reshape(-1, size, size)
        if self.with_ties:
            found[:, :size, size] = found[:, size, :size] = (votes * -lean * tie) @ self.design
            found[:, size, size] = np.sum(votes * tie * (1 - tie), axis=1)
        return found + self.ridge * np.eye(self.parameters)

    def _derivatives(self, found: Floats, counts: Floats) -> tuple[Floats, Floats]:
        probabilities, votes = self.probabilities(found), counts.sum(axis=2)
        surprise = counts - votes[:, :, None] * probabilities
        slope = (surprise[:, :, 0] - surprise[:, :, 2]) / 2 @ self.design
        if self.with_ties:
            slope = np.column_stack([slope, surprise[:, :, 1].sum(axis=1)])
        return slope - self.ridge * found, self.curvature(probabilities, votes)


def preference_model(votes: Votes, *, ties: Ties, ridge: float) -> PreferenceModel:
    """The model of these votes; no side bias is fitted where it is not identifiable."""
    shown, cells = np.unique(votes.left * len(votes.models) + votes.right, return_inverse=True)
    left, right = shown // len(votes.models), shown % len(votes.models)
    rows = np.arange(len(shown))
    strengths = np.zeros((len(shown), len(votes.models)))
    strengths[rows, left], strengths[rows, right] = 1, -1
    with_side = np.column_stack([strengths, np.ones(len(shown))])
    is_identifiable = np.linalg.matrix_rank(with_side) > np.linalg.matrix_rank(strengths)
    return PreferenceModel(
        design=with_side if is_identifiable else strengths,
        cells=cells,
        ridge=ridge,
        with_ties=ties == "davidson" and bool(np.any(votes.verdicts == TIE)),
    )


def vote_columns(model: PreferenceModel, votes: Votes) -> Indices:
    """Flat index of each vote among cells and outcomes."""
    return model.cells * len(OUTCOMES) + (1 - votes.verdicts)


DEFAULT_RIDGE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """Strengths that sum to 0; a model that is stronger by 1 wins e times as often as it loses."""

    models: tuple[str, ...]
    strengths: tuple[Estimate, ...]
    left_bias: Estimate | None
    """By how much a model is stronger on the left; `None` where it is not identifiable."""
    tie_weight: Estimate | None
    """Davidson's nu: odds of a tie against a win of one of two equal models; `None` where not fitted."""
    ties: Ties
    ridge: float
    separated: tuple[tuple[str, ...], ...]
    """Groups of models, strongest first, where one group never lost to the next: their distance depends on the ridge
    alone. Empty where all models are connected by wins and losses."""
    replicates: Floats
    """Strengths of resampled scenes [replicates, models], for ranks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unconnected:
    """No strengths: these groups of models were never compared with each other."""

    components: tuple[tuple[str, ...], ...]


def bradley_terry(
    votes: Votes, *, ties: Ties = "davidson", ridge: float = DEFAULT_RIDGE, weights: Floats | None = None
) -> Strengths | Unconnected:
    """Strengths of all models, with intervals where weights [replicates, scenes] are given.

    logit P(i beats j) = s_i - s_j + b where i is on the left; P(tie) is proportional to nu * sqrt(P(i) P(j))
    (Davidson), or a tie is half a win for both. The penalty ridge / 2 * (sum of squares) keeps the strength of a model
    that never lost finite, and is negligible elsewhere.
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


ROUNDS = 8
"""One in so many of the votes that seem needed are removed before strengths are fitted again."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Votes whose removal swaps two neighbours of a ranking."""

    better: str
    worse: str
    removed: Indices | None
    """Rows of the votes; `None` where no such removal was found."""
    share: float | None
    """Their share of all votes."""


def votes_to_swap(
    votes: Votes, rank: int, *, ties: Ties = "davidson", ridge: float = DEFAULT_RIDGE
) -> Swap | Unconnected:
    """Votes whose removal puts the model at `rank` + 1 (from 1) ahead of the one at `rank`, as few as were found.

    Greedily, the votes that support the difference of the two strengths most, to first order, are removed, and
    strengths are fitted again; one by one at the end. Without the last removal the order is the old one. The number is
    an upper bound: fewer, chosen otherwise, may do.
    """
    groups = compared_groups(votes, strong=False)
    if len(groups) > 1:
        return Unconnected(components=groups)
    model = preference_model(votes, ties=ties, ridge=ridge)
    cells = vote_columns(model, votes)
    counts = np.bincount(cells, minlength=len(model.design) * len(OUTCOMES)).reshape(-1, len(OUTCOMES))
    found = model.fit(counts[None].astype(np.float64))[0]
    order = np.argsort(-found[: len(votes.models)], kind="stable")
    if not 1 <= rank < len(order):
        raise ValueError(f"Expected a rank from 1 to {len(order) - 1}, found {rank}.")
    better, worse = int(order[rank - 1]), int(order[rank])
    removed = _find_removals(model, counts, better, worse)
    return Swap(
        better=votes.models[better],
        worse=votes.models[worse],
        removed=None if removed is None else _rows(cells, removed),
        share=None if removed is None else len(removed) / len(votes),
    )


def _find_removals(model: PreferenceModel, counts: Indices, better: int, worse: int) -> list[int] | None:
    """Flat cells of the votes to remove, in order."""
    left, taken = counts.reshape(-1).copy(), list[int]()
    while True:
        now = left.reshape(1, -1, len(OUTCOMES)).astype(np.float64)
        found = model.fit(now)[0]
        lead = float(found[better] - found[worse])
        if lead < -ROUNDING:
            return taken
        support = vote_support(model, now[0], found, better, worse)
        helpful = np.argsort(-support, kind="stable")
        helpful = np.repeat(helpful, np.where(support[helpful] > ROUNDING, left[helpful], 0))
        if not len(helpful):
            return None
        needed = int(np.searchsorted(np.cumsum(support[helpful]), lead)) + 1
        batch = helpful[: max(1, min(needed, len(helpful)) // ROUNDS)]
        left -= np.bincount(batch, minlength=len(left))
        taken += batch.tolist()


def _rows(cells: Indices, taken: list[int]) -> Indices:
    """Rows of votes in these cells, the first ones of each, in order."""
    waiting = {kind: iter(np.flatnonzero(cells == kind).tolist()) for kind in set(taken)}
    return np.array([next(waiting[kind]) for kind in taken], np.int64)


def vote_support(model: PreferenceModel, counts: Floats, found: Floats, better: int, worse: int) -> Floats:
    """How much one vote of each flat cell adds to the lead, to first order."""
    probabilities = model.probabilities(found[None])[0]
    curvature = model.curvature(probabilities[None], counts.sum(axis=1)[None])[0]
    contrast = np.zeros(model.parameters)
    contrast[better], contrast[worse] = 1, -1
    lever = np.linalg.solve(curvature, contrast)
    along = model.design @ lever[: model.design.shape[1]]
    lean = (probabilities[:, 0] - probabilities[:, 2]) / 2
    support = np.array([[verdict / 2 for verdict in OUTCOMES]]) - lean[:, None]
    support = support * along[:, None]
    if model.with_ties:
        is_tie = np.array([[float(verdict == TIE) for verdict in OUTCOMES]])
        support = support + (is_tie - probabilities[:, 1:2]) * lever[-1]
    return np.asarray(support.reshape(-1))
