"""What is asked of a reader of poses, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lookaway.core import Json, Timeline, Trajectory
from lookaway.io.pose_files.checks import DEPTH_STRIDE, ROTATION_TOLERANCE, Convention


@dataclass(frozen=True, slots=True, kw_only=True)
class PoseSource:
    """Poses of one video: where they are, and how to take them."""

    path: Path
    timeline: Timeline
    lens: Path | None = None
    """A file of intrinsics, where the layout keeps them apart from the poses."""
    convention: Convention = "world_to_camera"
    """Only where the layout leaves it open."""
    rotation_tolerance: float = ROTATION_TOLERANCE
    depth_stride: int = DEPTH_STRIDE
    depth_maps: int | None = None
    """How many depth maps of `results.npz` are read; later poses have the depth of the last one. `None` reads all."""
    assumed_fov_degrees: float | None = None
    assumed_depth: float | None = None
    first_frame_number: int | None = 0
    """The number that the first frame of the video has in the names of images; `None` is the lowest of them."""
    may_outlast_video: bool = False
    """Whether COLMAP's images may go on after the last frame of the video; they are then as many frames."""


@dataclass(frozen=True, slots=True)
class PosesRead:
    """A trajectory, and what of it was not in the files."""

    trajectory: Trajectory
    assumptions: Mapping[str, Json] = field(default_factory=dict)
