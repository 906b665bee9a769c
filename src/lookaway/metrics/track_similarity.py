"""Consistency of embeddings along tracks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import Abstention, Floats, Indices, MetricBase, Outcome, Reason, Score, Unit


@dataclass(frozen=True, slots=True)
class TrackConsistency(MetricBase):
    """Mean over tracks of the mean cosine of each embedding with the mean embedding of its track."""

    counts_single_sights: Annotated[bool, "whether what is seen once counts, with the 1 of its cosine with itself"] = (
        False
    )
    weighs_alike: Annotated[bool, "whether embeddings are scaled to length 1 before means of them are taken"] = True

    def consistency(
        self, vectors: Floats, frame_indices: Indices, tracks: Sequence[Sequence[int]], what: str
    ) -> Outcome:
        """The score of a clip, one unit per track; what was seen once is listed, whether or not it counts."""
        if not tracks:
            return Abstention(Reason.NO_TARGET, f"no {what} was found in any of the sampled frames.")
        units = tuple(
            Unit(f"track{number}", self._track(vectors, frame_indices, list(track), what))
            for number, track in enumerate(tracks)
        )
        means = [unit.outcome.value for unit in units if isinstance(unit.outcome, Score)]
        if not means:
            return Abstention(
                Reason.TOO_SHORT,
                f"each of {len(tracks)} tracks has one {what} only; memory needs to see it twice.",
                units,
            )
        raw = math.fsum(means) / len(means)
        detail = {"tracks": len(means), "single_sights": sum(len(track) < 2 for track in tracks)}
        return Score(min(max(raw, 0.0), 1.0), raw=raw, units=units, detail=detail)

    def _track(self, vectors: Floats, frame_indices: Indices, track: list[int], what: str) -> Score | Abstention:
        frames = [int(frame) for frame in frame_indices[track]]
        if len(track) < 2 and not self.counts_single_sights:
            return Abstention(Reason.TOO_SHORT, f"one {what} only, in frame {frames[0]}.")
        cosines = centroid_cosines(vectors[track], weighs_alike=self.weighs_alike)
        return Score(float(cosines.mean()), detail={"frames": frames, "cosines": cosines.round(6).tolist()})


def greedy_tracks(
    vectors: Floats, frame_indices: Indices, *, min_cosine: float, weighs_alike: bool = True
) -> list[list[int]]:
    """Rows of each track, in the order of frames.

    The similarity of a detection and a track is the higher of two cosines: with the last vector of the track, and with
    the mean of all its vectors so far. In every frame the most similar pair is joined first, each detection and each
    track once; a detection that reaches `min_cosine` with no track starts one.
    """
    units = unit_vectors(vectors)
    averaged = units if weighs_alike else np.asarray(vectors, np.float64)
    tracks: list[list[int]] = []
    for frame in np.unique(frame_indices):
        found = np.flatnonzero(frame_indices == frame).tolist()
        taken = _joined(units, averaged, tracks, found, min_cosine)
        for row in found:
            if row in taken:
                tracks[taken[row]].append(row)
            else:
                tracks.append([row])
    return tracks


def centroid_cosines(vectors: Floats, *, weighs_alike: bool = True) -> Floats:
    """[rows] cosine of each vector with the mean of all unit vectors, or of all vectors as they are."""
    units = unit_vectors(vectors)
    mean = (units if weighs_alike else np.asarray(vectors, np.float64)).mean(axis=0)
    length = float(np.linalg.norm(mean))
    return np.asarray(units @ mean / length) if length > 0 else np.zeros(len(units))


def unit_vectors(vectors: Floats) -> Floats:
    """[rows, channels] scaled to length 1; a zero vector stays zero."""
    values = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(values, axis=-1, keepdims=True)
    return np.asarray(values / np.where(lengths > 0, lengths, 1.0))


def _joined(
    units: Floats, averaged: Floats, tracks: list[list[int]], found: list[int], min_cosine: float
) -> dict[int, int]:
    """Track of each detection of a frame that continues one."""
    means = [unit_vectors(averaged[track].mean(axis=0)[None])[0] for track in tracks]
    similarity = [
        (max(float(units[row] @ units[track[-1]]), float(units[row] @ mean)), row, number)
        for number, (track, mean) in enumerate(zip(tracks, means, strict=True))
        for row in found
    ]
    joined: dict[int, int] = {}
    for cosine, row, number in sorted(similarity, key=lambda entry: (-entry[0], entry[1], entry[2])):
        if cosine >= min_cosine and row not in joined and number not in joined.values():
            joined[row] = number
    return joined
