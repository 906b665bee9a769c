"""Who is who from frame to frame: detections joined into tracks by what they look like."""

from __future__ import annotations

import numpy as np

from lookaway.core import Floats, Indices


def greedy_tracks(vectors: Floats, frame_indices: Indices, *, least_cosine: float) -> list[list[int]]:
    """Rows of each track, in the order of frames.

    A detection is as like a track as the better of two cosines: with the last vector of the track, and with the mean
    of all its vectors so far. In every frame the likest pair is joined first, each detection and each track once;
    a detection that is like no track by `least_cosine` opens one.
    """
    units = unit_vectors(vectors)
    tracks: list[list[int]] = []
    for frame in np.unique(frame_indices):
        found = np.flatnonzero(frame_indices == frame).tolist()
        taken = _joined(units, tracks, found, least_cosine)
        for row in found:
            if row in taken:
                tracks[taken[row]].append(row)
            else:
                tracks.append([row])
    return tracks


def centroid_cosines(vectors: Floats) -> Floats:
    """[rows] cosine of each vector with the mean of all, every vector counting with the same length."""
    units = unit_vectors(vectors)
    mean = units.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return np.asarray(units @ mean / length) if length > 0 else np.zeros(len(units))


def unit_vectors(vectors: Floats) -> Floats:
    """[rows, channels] of length 1; a vector of nothing stays one."""
    values = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(values, axis=-1, keepdims=True)
    return np.asarray(values / np.where(lengths > 0, lengths, 1.0))


def _joined(units: Floats, tracks: list[list[int]], found: list[int], least_cosine: float) -> dict[int, int]:
    """Track of each detection of a frame that continues one."""
    likeness = [
        (max(float(units[row] @ units[track[-1]]), _mean_cosine(units, track, row)), row, number)
        for number, track in enumerate(tracks)
        for row in found
    ]
    joined: dict[int, int] = {}
    for cosine, row, number in sorted(likeness, key=lambda entry: (-entry[0], entry[1], entry[2])):
        if cosine >= least_cosine and row not in joined and number not in joined.values():
            joined[row] = number
    return joined


def _mean_cosine(units: Floats, track: list[int], row: int) -> float:
    return float(units[row] @ unit_vectors(units[track].mean(axis=0)[None])[0])
