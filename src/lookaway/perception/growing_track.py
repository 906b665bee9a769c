"""Masks as they are found, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lookaway.core import Mask, MaskTrack


@dataclass(frozen=True, slots=True)
class GrowingTrack:
    """Takes masks one at a time and keeps only their runs: pixels of all frames together would not fit."""

    _parts: list[MaskTrack] = field(default_factory=list)

    def add(self, mask: Mask, frame_index: int, thing: int, score: float) -> None:
        """Keep one more mask, of the size of those before."""
        self._parts.append(MaskTrack.of([mask], [frame_index], [thing], [score]))

    def track(self) -> MaskTrack:
        """All masks in the order in which they came; at least one must have come."""
        parts = self._parts
        return MaskTrack(
            runs=np.concatenate([part.runs for part in parts]),
            offsets=np.cumsum([0, *(len(part.runs) for part in parts)], dtype=np.int64),
            frame_indices=np.concatenate([part.frame_indices for part in parts]),
            things=np.concatenate([part.things for part in parts]),
            scores=np.concatenate([part.scores for part in parts]),
            width=parts[0].width,
            height=parts[0].height,
        )
