"""Consistency of embeddings along tracks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lookaway.core import Abstention, Floats, Indices, Outcome, Reason, Score, Unit


def greedy_tracks(vectors: Floats, frame_indices: Indices, *, min_cosine: float) -> list[list[int]]:
    """Rows of each track, in the order of frames.

    The similarity of a detection and a track is the higher of two cosines: with the last vector of the track, and with
    the mean of all its vectors so far. In every frame the most similar pair is joined first, each detection and each
    track once; a detection that reaches `min_cosine` with no track starts one.
    """
    units = unit_vectors(vectors)
    tracks: list[list[int]] = []
    for frame in np.unique(frame_indices):
        found = np.flatnonzero(frame_indices == frame).tolist()
        taken = _joined(units, tracks, found, min_cosine)
        for row in found:
            if row in taken:
                tracks[taken[row]].append(row)
            else:
                tracks.append([row])
    return tracks


def centroid_cosines(vectors: Floats) -> Floats:
    """[rows] cosine of each vector with the mean of all unit vectors."""
    units = unit_vectors(vectors)
    mean = units.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return np.asarray(units @ mean / length) if length > 0 else np.zeros(len(units))


def unit_vectors(vectors: Floats) -> Floats:
    """[rows, channels] scaled to length 1; a zero vector stays zero."""
    values = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(values, axis=-1, keepdims=True)
    return np.asarray(values / np.where(lengths > 0, lengths, 1.0))


def _joined(units: Floats, tracks: list[list[int]], found: list[int], min_cosine: float) -> dict[int, int]:
    """Track of each detection of a frame that continues one."""
    similarity = [
        (max(float(units[row] @ units[track[-1]]), _mean_cosine(units, track, row)), row, number)
        for number, track in enumerate(tracks)
        for row in found
    ]
    joined: dict[int, int] = {}
    for cosine, row, number in sorted(similarity, key=lambda entry: (-entry[0], entry[1], entry[2])):
        if cosine >= min_cosine and row not in joined and number not in joined.values():
            joined[row] = number
    return joined


def _mean_cosine(units: Floats, track: list[int], row: int) -> float:
    return float(units[row] @ unit_vectors(units[track].mean(axis=0)[None])[0])


def track_similarity(vectors: Floats, frame_indices: Indices, tracks: Sequence[Sequence[int]], what: str) -> Outcome:
    """Mean over tracks of the mean cosine of each vector with its track's mean, one unit per track.

    A track of one detection says nothing about memory; it is left out and listed.
    """
    if not tracks:
        return Abstention(Reason.NO_TARGET, f"no {what} was found in any of the sampled frames.")
    units = tuple(_unit(number, vectors, frame_indices, list(track), what) for number, track in enumerate(tracks))
    values = [unit.outcome.value for unit in units if isinstance(unit.outcome, Score)]
    if not values:
        return Abstention(
            Reason.TOO_SHORT, f"each of {len(tracks)} tracks has one {what} only; memory needs to see it twice.", units
        )
    raw = math.fsum(values) / len(values)
    detail = {"tracks": len(values), "single_sights": len(units) - len(values)}
    return Score(min(max(raw, 0.0), 1.0), raw=raw, units=units, detail=detail)


def _unit(number: int, vectors: Floats, frame_indices: Indices, track: list[int], what: str) -> Unit:
    name = f"track{number}"
    if len(track) < 2:
        frame = int(frame_indices[track[0]])
        return Unit(name, Abstention(Reason.TOO_SHORT, f"one {what} only, in frame {frame}."))
    cosines = centroid_cosines(vectors[track])
    frames = [int(frame) for frame in frame_indices[track]]
    return Unit(name, Score(float(cosines.mean()), detail={"frames": frames, "cosines": cosines.round(6).tolist()}))
