"""Points followed through many frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lookaway.core import Floats, Indices
from lookaway.perception.poses.tracking.links import Link
from lookaway.perception.poses.tracking.sightings import Sighting


@dataclass(frozen=True, slots=True, eq=False)
class Tracks:
    """Which points of which frames are one point of the scene: a list of observations, in order of frames."""

    frames: Indices
    """[O] frame of each observation."""
    tracks: Indices
    """[O] track of each observation."""
    points: Floats
    """[O, 2] pixels."""
    count: int
    """Number of tracks."""
    frame_count: int
    """Number of frames, with or without observations."""

    def keep(self, kept: NDArray[np.bool_]) -> Tracks:
        """Some of the observations; tracks keep their numbers."""
        return replace(self, frames=self.frames[kept], tracks=self.tracks[kept], points=self.points[kept])

    def longest(self, frames: Sequence[int], most: int) -> Tracks:
        """At most so many tracks of each frame, those that most of these frames see."""
        chosen = self.keep(np.isin(self.frames, frames))
        lengths = np.bincount(chosen.tracks, minlength=self.count)
        wanted = np.zeros(self.count, np.bool_)
        for frame in frames:
            tracks = chosen.tracks[chosen.frames == frame]
            tracks = tracks[lengths[tracks] >= 2]
            wanted[tracks[np.argsort(-lengths[tracks], kind="stable")[:most]]] = True
        numbers = np.cumsum(wanted) - 1
        kept = self.keep(wanted[self.tracks])
        return replace(kept, tracks=numbers[kept.tracks], count=int(wanted.sum()))


def join_tracks(sightings: Sequence[Sighting], links: Sequence[Link]) -> Tracks:
    """Join matched points; where that joins two points of one frame, some match is wrong and the track is dropped."""
    counts = [len(sighting.points) for sighting in sightings]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    frames = np.repeat(np.arange(len(sightings)), counts)
    ones = np.concatenate([offsets[link.first] + link.rows for link in links])
    twos = np.concatenate([offsets[link.second] + link.columns for link in links])
    graph = coo_array((np.ones(len(ones), np.int8), (ones, twos)), shape=(offsets[-1], offsets[-1]))
    _, labels = connected_components(graph, directed=False)
    lengths = np.bincount(labels)
    distinct = np.unique(np.stack([labels, frames]), axis=1)[0]
    is_whole = (lengths >= 2) & (np.bincount(distinct, minlength=len(lengths)) == lengths)
    nodes = np.flatnonzero(is_whole[labels])
    numbers, tracks = np.unique(labels[nodes], return_inverse=True)
    points = np.concatenate([sighting.points for sighting in sightings])
    return Tracks(frames[nodes], tracks, points[nodes], len(numbers), len(sightings))
