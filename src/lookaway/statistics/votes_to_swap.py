"""How few votes a place in a ranking hangs on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats, Indices
from lookaway.statistics.bradley_terry import USUAL_RIDGE, Unconnected, compared_groups
from lookaway.statistics.preference_fit import OUTCOMES, PreferenceModel, Ties, preference_model, vote_columns
from lookaway.statistics.votes import TIE, Votes

ROUNDS = 8
"""Of the votes that seem to be needed, this part is removed before looking again."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Votes without which two neighbours of a ranking change places."""

    better: str
    worse: str
    removed: Indices | None
    """Rows of the votes; `None` where no removal was found that does it."""
    share: float | None
    """Their share of all votes."""


def votes_to_swap(
    votes: Votes, rank: int, *, ties: Ties = "davidson", ridge: float = USUAL_RIDGE
) -> Swap | Unconnected:
    """Votes whose removal puts the model at `rank` + 1 (from 1) ahead of the one at `rank`, as few as were found.

    Those votes are removed that most hold up the difference of the two strengths, to first order; then strengths are
    fitted anew, and so on, one by one when few are missing. Putting back the last one puts back the order. The number
    is an upper bound: other votes, chosen with more effort, might be fewer.
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
        raise ValueError(f"A rank with a neighbour is from 1 to {len(order) - 1}, found {rank}.")
    better, worse = int(order[rank - 1]), int(order[rank])
    taken = _taken(model, counts, better, worse)
    return Swap(
        better=votes.models[better],
        worse=votes.models[worse],
        removed=None if taken is None else _rows(cells, taken),
        share=None if taken is None else len(taken) / len(votes),
    )


def _taken(model: PreferenceModel, counts: Indices, better: int, worse: int) -> list[int] | None:
    """Cells and outcomes, counted through, of the votes to remove, one after the other."""
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
    """The first votes of each kind that was taken, in the order of taking."""
    waiting = {kind: iter(np.flatnonzero(cells == kind).tolist()) for kind in set(taken)}
    return np.array([next(waiting[kind]) for kind in taken], np.int64)


def vote_support(model: PreferenceModel, counts: Floats, found: Floats, better: int, worse: int) -> Floats:
    """How much one vote of each cell and outcome, counted through, adds to the lead, to first order."""
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
