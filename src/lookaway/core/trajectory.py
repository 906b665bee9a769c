"""A camera path: poses and intrinsics at some frames of a video; and pairs of frames that show one place twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lookaway.core.cases import Rollout
from lookaway.core.features import Feature, Features, Floats, Indices
from lookaway.core.frames import Timeline
from lookaway.core.outcomes import Abstention


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """Camera poses in OpenCV axes: x right, y down, z forward.

    Pixel coordinates start at the corner of the image: the centre of the first pixel is (0.5, 0.5).
    """

    camera_to_world: Floats
    """[N, 4, 4]"""
    intrinsics: Floats
    """[N, 3, 3], for an image of `width` by `height`."""
    frame_indices: Indices
    """[N] increasing: which frame of the video each pose belongs to."""
    median_depth: Floats
    """[N]: scale of the scene, since monocular translations have none of their own."""
    width: int
    height: int
    frame_count: int
    """Frames of the whole video, posed or not."""

    @property
    def rotations(self) -> Floats:
        """[N, 3, 3] camera to world."""
        return self.camera_to_world[:, :3, :3]

    @property
    def centres(self) -> Floats:
        """[N, 3] in world units."""
        return self.camera_to_world[:, :3, 3]

    def relative_centres(self, negligible_extent: float) -> Floats:
        """[N, 3] from the first centre, divided by the path's extent; all zero if the camera only rotates.

        The extent is the largest distance from the first centre. A camera whose path is shorter than
        `negligible_extent`, as a fraction of the median depth, only rotates.
        """
        offsets = self.centres - self.centres[0]
        extent = float(np.linalg.norm(offsets, axis=1).max())
        if extent <= negligible_extent * float(np.median(self.median_depth)):
            return np.zeros_like(offsets)
        return np.asarray(offsets / extent)

    def intrinsics_for(self, width: float, height: float) -> Floats:
        """[N, 3, 3] for the same view at another image size."""
        scale = np.array([width / self.width, height / self.height, 1.0])
        return np.asarray(self.intrinsics * scale[None, :, None])

    def to_feature(self) -> Feature:
        """As named arrays."""
        arrays = {
            "camera_to_world": self.camera_to_world,
            "intrinsics": self.intrinsics,
            "frame_indices": self.frame_indices,
            "median_depth": self.median_depth,
            "size": np.array([self.width, self.height, self.frame_count]),
        }
        return Feature(arrays)

    @classmethod
    def from_feature(cls, feature: Feature) -> Trajectory:
        """Back from named arrays."""
        width, height, frame_count = (int(n) for n in feature["size"])
        return cls(
            camera_to_world=feature["camera_to_world"],
            intrinsics=feature["intrinsics"],
            frame_indices=feature["frame_indices"],
            median_depth=feature["median_depth"],
            width=width,
            height=height,
            frame_count=frame_count,
        )


EXTENT_AS_DEPTH = "assumed: the extent of the path"
"""What the detail of poses says as `median_depth` where no file holds depth, so that lengths have no scale."""

TRAJECTORY_ARRAYS = {
    "camera_to_world": "float64 [poses, 4, 4]: camera to world in OpenCV axes",
    "intrinsics": "float64 [poses, 3, 3]: for an image of `size`",
    "frame_indices": "int64 [poses]: the frame of each pose",
    "median_depth": "float64 [poses]: scale of the scene",
    "size": "int64 [3]: width, height, and frames of the whole video",
}
"""What the feature of a trajectory holds."""


def angles_degrees(rotations: Floats, others: Floats) -> Floats:
    """Angle between rotations, broadcasting over leading axes.

    From the chord, not the trace: the trace of single-precision matrices cannot resolve angles below 0.03 degrees.
    """
    chord = np.linalg.norm(rotations - others, axis=(-2, -1)) / np.sqrt(8)
    return np.asarray(np.degrees(2 * np.arcsin(np.clip(chord, 0, 1))))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Frame indices [P, 2], earlier frame first, and the rule that chose them."""

    frames: Indices
    rule: str

    @property
    def partner_frames(self) -> int:
        """How many later frames there are, each counted once."""
        return len(np.unique(self.frames[:, 1]))


class PairSelector(Protocol):
    """Chooses which frames to compare. A frozen dataclass: its constants are part of the lock."""

    @property
    def version(self) -> int:
        """Raised whenever the same fields would give other pairs."""
        ...

    def select(self, rollout: Rollout, frame_count: int, trajectory: Trajectory | None) -> Pairs:
        """Pairs of frames, or an `Unmeasurable` where there are none."""
        ...


class RevisitSelector(Protocol):
    """Chooses frames that should show one view, by their times. A frozen dataclass: its constants are part of the lock.

    It is given whatever features the extractor that it serves needs: `poses`, `flow`, or none.
    """

    @property
    def version(self) -> int:
        """Raised whenever the same fields would give other pairs."""
        ...

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Why there are no pairs, as far as the case tells."""
        ...

    def choose(self, rollout: Rollout, timeline: Timeline, features: Features) -> Pairs:
        """Pairs of frames, or an `Unmeasurable` where there are none."""
        ...
