"""How like itself a thing stays along its tracks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lookaway.core import Abstention, Floats, Indices, Outcome, Reason, Score, Unit
from lookaway.metrics.greedy_tracks import centroid_cosines


def track_likeness(vectors: Floats, frame_indices: Indices, tracks: Sequence[Sequence[int]], what: str) -> Outcome:
    """Mean over tracks of the mean cosine of each vector with its track's mean, one unit a track.

    A track of one sight says nothing about memory: such are listed, and left out where any longer track exists.
    """
    if not tracks:
        return Abstention(Reason.NO_TARGET, f"no {what} was found in any of the frames that were looked at.")
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
