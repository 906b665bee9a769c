"""Strengths of models from counted votes, for many replicates at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from lookaway.core import Floats, Indices
from lookaway.statistics.votes import LEFT, RIGHT, TIE, Votes

Ties: TypeAlias = Literal["davidson", "half"]

OUTCOMES = (LEFT, TIE, RIGHT)
STEPS = 200
TOLERANCE = 1e-10
VALUES_AT_ONCE = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceModel:
    """Utilities d/2 for left, log(nu) for a tie, -d/2 for right, with d a linear function of strengths and bias.

    That is Bradley and Terry's model with an advantage of the left side, and Davidson's with ties. Where ties count
    half, each is half a vote for either side. Votes that look alike are counted in cells.
    """

    design: Floats
    """[cells, parameters]: d of a cell as a function of strengths and, last, the advantage of the left side."""
    cells: Indices
    """Cell of each vote."""
    ridge: float
    with_ties: bool
    """Whether log(nu) is fitted, as one more parameter behind those of the design."""

    @property
    def parameters(self) -> int:
        """How many numbers are fitted."""
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
        raise ArithmeticError(f"Strengths did not settle in {STEPS} steps.")

    def probabilities(self, found: Floats) -> Floats:
        """Of left, tie and right [replicates, cells, 3]."""
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
    """The model of these votes; no advantage of a side is fitted where it cannot be told from strengths."""
    shown, cells = np.unique(votes.left * len(votes.models) + votes.right, return_inverse=True)
    left, right = shown // len(votes.models), shown % len(votes.models)
    rows = np.arange(len(shown))
    strengths = np.zeros((len(shown), len(votes.models)))
    strengths[rows, left], strengths[rows, right] = 1, -1
    with_side = np.column_stack([strengths, np.ones(len(shown))])
    can_tell = np.linalg.matrix_rank(with_side) > np.linalg.matrix_rank(strengths)
    return PreferenceModel(
        design=with_side if can_tell else strengths,
        cells=cells,
        ridge=ridge,
        with_ties=ties == "davidson" and bool(np.any(votes.verdicts == TIE)),
    )


def vote_columns(model: PreferenceModel, votes: Votes) -> Indices:
    """The place of each vote among cells and outcomes, counted through."""
    return model.cells * len(OUTCOMES) + (1 - votes.verdicts)
