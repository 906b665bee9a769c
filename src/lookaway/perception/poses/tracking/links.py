"""Which frames are compared with which, and the points that they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Indices
from lookaway.io.sampling import spread
from lookaway.perception.poses.sift_matches import mutual_matches
from lookaway.perception.poses.tracking.settings import LinkSettings
from lookaway.perception.poses.tracking.sightings import Sighting


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """Points that two frames have in common."""

    first: int
    second: int
    rows: Indices
    """[M] which points of the first frame."""
    columns: Indices
    """[M] which points of the second frame."""
    points_1: Floats
    points_2: Floats
    """[M, 2]"""

    def __len__(self) -> int:
        return len(self.rows)

    def keep(self, kept: Indices | NDArray[np.bool_]) -> Link:
        """Some of the points."""
        return Link(
            self.first, self.second, self.rows[kept], self.columns[kept], self.points_1[kept], self.points_2[kept]
        )

    def thinned(self, most: int) -> Link:
        """At most so many points, spread over strong and weak ones."""
        return self.keep(np.array(spread(0, len(self), most)))

    @property
    def shift(self) -> float:
        """The way of a point in pixels that a quarter of the points exceeds: the middle of a zoom moves little."""
        return float(np.quantile(np.linalg.norm(self.points_2 - self.points_1, axis=1), 0.75))


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """All that was compared, and the frames that stand for their neighbours."""

    links: tuple[Link, ...]
    keyframes: tuple[int, ...]
    step: float
    """Pixels that the picture moves from keyframe to keyframe."""

    def is_wide(self, link: Link) -> bool:
        """Whether a link joins two keyframes that show the scene from different sides."""
        return link.first in self.keyframes and link.second in self.keyframes and link.shift > self.step


@dataclass(slots=True)
class _Comparing:
    sightings: Sequence[Sighting]
    ratio: float
    settings: LinkSettings
    done: dict[tuple[int, int], Link] = field(default_factory=dict)

    def link(self, first: int, second: int) -> Link:
        if (first, second) not in self.done:
            one, two = self.sightings[first], self.sightings[second]
            rows, columns = mutual_matches(one.descriptors, two.descriptors, self.ratio)
            self.done[first, second] = Link(first, second, rows, columns, one.points[rows], two.points[columns])
        return self.done[first, second]

    def glance(self, first: int, second: int) -> int:
        one, two = (self.sightings[frame].descriptors[: self.settings.glance] for frame in (first, second))
        return len(mutual_matches(one, two, self.ratio)[0])

    def keyframes(self, step: float) -> list[int]:
        """Frames that each show something else than the keyframe before: most of it moved, or was not found again."""
        chosen = [0]
        for frame in range(1, len(self.sightings)):
            link = self.link(chosen[-1], frame)
            if len(link) < self.settings.min_matches or link.shift > step:
                chosen.append(frame)
        return chosen


def link_frames(sightings: Sequence[Sighting], ratio: float, step: float, settings: LinkSettings) -> Links:
    """Compare each frame with the one before and with its keyframe, and keyframes with those that look alike.

    `step` is how many pixels the picture moves from keyframe to keyframe; it is raised where there would be too many.
    """
    comparing = _Comparing(sightings, ratio, settings)
    keyframes = comparing.keyframes(step)
    while len(keyframes) > settings.max_keyframes and step < 1e4:
        step *= 1.5
        keyframes = comparing.keyframes(step)
    for frame in range(1, len(sightings)):
        comparing.link(frame - 1, frame)
    for first, second in _alike(comparing, keyframes):
        comparing.link(first, second)
    links = [comparing.done[pair] for pair in sorted(comparing.done)]
    return Links(tuple(link for link in links if len(link) >= settings.min_matches), tuple(keyframes), step)


def _alike(comparing: _Comparing, keyframes: list[int]) -> list[tuple[int, int]]:
    counts = {pair: comparing.glance(*pair) for pair in combinations(keyframes, 2)}
    pairs = set()
    for keyframe in keyframes:
        mine = [pair for pair in counts if keyframe in pair and counts[pair] >= comparing.settings.min_matches // 2]
        pairs.update(sorted(mine, key=lambda pair: (-counts[pair], pair))[: comparing.settings.partners])
    return sorted(pairs)
