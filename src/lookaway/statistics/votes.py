"""Votes on two videos side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats, Indices

LEFT, TIE, RIGHT = 1, 0, -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """One vote of one person in each row: columns, for there may be millions."""

    models: tuple[str, ...]
    left: Indices
    right: Indices
    """Places of the two models in `models`, as they were shown."""
    verdicts: Indices
    """1 where the left one was better, -1 where the right one was, 0 for a tie."""
    pairs: Sequence[str]
    """Which two clips were compared: votes of several people on the same clips share it, whichever was left."""
    scenes: Sequence[str]

    def __post_init__(self) -> None:
        columns = (self.left, self.right, self.verdicts, self.pairs, self.scenes)
        if len({len(column) for column in columns}) != 1:
            raise ValueError(f"Columns of votes are equally long, found {[len(column) for column in columns]}.")
        if len(self.models) < 2 or len(set(self.models)) != len(self.models):
            raise ValueError(f"Votes are about two or more models with different names, found {list(self.models)}.")
        shown = np.concatenate([self.left, self.right])
        if np.any((shown < 0) | (shown >= len(self.models))) or np.any(self.left == self.right):
            raise ValueError(f"A vote is between two different ones of the {len(self.models)} models.")
        if not np.isin(self.verdicts, (LEFT, TIE, RIGHT)).all():
            raise ValueError("A verdict is 1 (left), 0 (tie) or -1 (right).")

    def __len__(self) -> int:
        return len(self.verdicts)

    def keep(self, rows: Indices) -> Votes:
        """Some of the votes."""
        return Votes(
            models=self.models,
            left=self.left[rows],
            right=self.right[rows],
            verdicts=self.verdicts[rows],
            pairs=[self.pairs[row] for row in rows.tolist()],
            scenes=[self.scenes[row] for row in rows.tolist()],
        )


def model_columns(votes: Votes, model: int) -> Floats:
    """Whether each vote was won, tied or lost by a model [votes, 3]; a row of zeros where it was not shown."""
    side = (votes.left == model).astype(np.int64) - (votes.right == model)
    own = side * votes.verdicts
    return np.stack([own == 1, (side != 0) & (own == 0), own == -1], axis=1).astype(np.float64)
