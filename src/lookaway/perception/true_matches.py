"""Points that two frames of the simulated world really have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Extractor, Feature, Features, Floats, Indices, PairSelector, Rollout, Timeline, Trajectory
from lookaway.io.clip_card import ClipArrays
from lookaway.io.world_clips import WorldClip
from lookaway.perception.poses.sift_matches import SiftMatches
from lookaway.perception.truth import TruthExtractor, open_truth


@dataclass(frozen=True, slots=True)
class TrueMatches(TruthExtractor):
    """Points on things, carried along with their things from the earlier frame of each pair to the later one.

    They come from the truth of the simulated world, as the clip shows it: where a thing moved while it was unseen, its
    points contradict the path of the camera. Points are in pixels of frames of the given height, as those of SIFT are.
    """

    name: ClassVar[str] = "true_matches"
    version: ClassVar[int] = 2
    software: ClassVar[tuple[str, ...]] = ("numpy", "scipy")
    seconds_per_frame: ClassVar[float] = 0.01
    bytes_per_frame: ClassVar[float] = 14_000.0
    arrays: ClassVar[Mapping[str, str]] = SiftMatches.arrays

    poses: Annotated[Extractor, "where the camera was, to choose pairs by"]
    pairs: Annotated[PairSelector, "which frames are matched"]
    height: Annotated[int, "frame height in whose pixels points are counted"] = 480
    rows: Annotated[int, "rows of the grid of points in a frame; columns are as far apart"] = 32
    depth_tolerance: Annotated[float, "a point is seen again where its depth is off by no more than this part"] = 0.03

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """Poses, to choose pairs by."""
        return {"poses": self.poses}

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Carry points along with their things."""
        clip = open_truth(rollout, timeline)
        pairs = self.pairs.select(rollout, timeline.frame_count, Trajectory.from_feature(features["poses"]))
        scene = _Scene.read(clip, frozenset(pairs.frames.ravel().tolist()))
        found = [scene.matches(first, second, self.rows, self.depth_tolerance) for first, second in pairs.frames]
        card = clip.card
        size = np.array([max(1, round(card.width * self.height / card.height)), self.height])
        scale = size / (card.width, card.height)
        arrays: dict[str, NDArray[Any]] = {
            "pairs": pairs.frames,
            "points_1": np.concatenate([first * scale for first, _ in found]).astype(np.float32),
            "points_2": np.concatenate([second * scale for _, second in found]).astype(np.float32),
            "offsets": np.cumsum([0, *(len(first) for first, _ in found)], dtype=np.int64),
            "points": np.array([[scene.points(frame, self.rows) for frame in pair] for pair in pairs.frames.tolist()]),
            "size": size,
        }
        return Feature(arrays, {"rule": pairs.rule})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """Depth and instances of some frames, and where cameras and things are in all of them."""

    arrays: ClipArrays
    columns: Indices
    """[256]: which column of the arrays tells of the thing with an id; -1 where there is none."""
    depth: Mapping[int, NDArray[np.float32]]
    instances: Mapping[int, NDArray[np.uint8]]

    @classmethod
    def read(cls, clip: WorldClip, frames: frozenset[int]) -> _Scene:
        columns = np.full(256, -1)
        columns[[thing.id for thing in clip.card.things]] = np.arange(len(clip.card.things))
        return cls(
            arrays=clip.arrays(),
            columns=columns,
            depth={frame: plane for frame, plane in enumerate(clip.depth()) if frame in frames},
            instances={frame: plane for frame, plane in enumerate(clip.instances()) if frame in frames},
        )

    def matches(self, first: int, second: int, rows: int, tolerance: float) -> tuple[Floats, Floats]:
        """[M, 2] points of the one frame, and where they are seen in the other."""
        points, depth, things = self._grid(first, rows)
        camera_1, camera_2 = self.arrays.camera_to_world[[first, second]]
        rays = np.column_stack([points, np.ones(len(points))]) @ np.linalg.inv(self.arrays.intrinsics).T
        before = (rays * depth[:, None]) @ camera_1[:3, :3].T + camera_1[:3, 3]
        after = self._carried(before, self.columns[things], first, second)
        seen = (after - camera_2[:3, 3]) @ camera_2[:3, :3]
        is_ahead = seen[:, 2] > 0
        points, things, seen = points[is_ahead], things[is_ahead], seen[is_ahead]
        there = (seen @ self.arrays.intrinsics.T)[:, :2] / seen[:, 2:]
        kept = self._is_seen(there, seen[:, 2], things, second, tolerance)
        return points[kept], there[kept]

    def points(self, frame: int, rows: int) -> int:
        """How many points of the grid show a thing."""
        return len(self._grid(frame, rows)[0])

    def _grid(self, frame: int, rows: int) -> tuple[Floats, Floats, NDArray[np.uint8]]:
        """Middles of pixels that show a thing, with its depth and id."""
        height, width = self.instances[frame].shape
        columns = max(1, round(rows * width / height))
        at_rows, at_columns = np.meshgrid(_spread(height, rows), _spread(width, columns), indexing="ij")
        depth, things = self.depth[frame][at_rows, at_columns], self.instances[frame][at_rows, at_columns]
        is_thing = (self.columns[things] >= 0) & (depth > 0)
        middles = np.stack([at_columns[is_thing], at_rows[is_thing]], axis=1) + 0.5
        return middles, depth[is_thing].astype(np.float64), things[is_thing]

    def _carried(self, points: Floats, columns: Indices, first: int, second: int) -> Floats:
        """Points of the world at one frame, where their things have taken them at the other."""
        from scipy.spatial.transform import Rotation

        if not len(points):
            return points
        place_1, place_2 = (self.arrays.position[frame, columns] for frame in (first, second))
        turn_1, turn_2 = (
            Rotation.from_quat(self.arrays.quaternion_wxyz[frame, columns], scalar_first=True)
            for frame in (first, second)
        )
        return np.asarray(turn_2.apply(turn_1.inv().apply(points - place_1)) + place_2)

    def _is_seen(
        self, points: Floats, depth: Floats, things: NDArray[np.uint8], frame: int, tolerance: float
    ) -> NDArray[np.bool_]:
        """[M] whether the same thing is in this place of the picture, as far away as it should be."""
        height, width = self.instances[frame].shape
        is_inside: NDArray[np.bool_] = np.all((points >= 0) & (points < (width, height)), axis=1)
        columns, rows = np.where(is_inside[:, None], points, 0).astype(np.int64).T
        is_same = self.instances[frame][rows, columns] == things
        found = self.depth[frame][rows, columns]
        return np.asarray(is_inside & is_same & (np.abs(found - depth) <= tolerance * depth))


def _spread(length: int, count: int) -> Indices:
    """Pixels in the middle of `count` equal parts of a length, each once."""
    return np.unique((2 * np.arange(count) + 1) * length // (2 * count))
