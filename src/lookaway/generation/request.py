"""What is asked of a model: a camera path as poses, prompt segments and a first frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from lookaway.core import Case, Floats

JITTER: Final = 1e-6
"""Shorter offsets are rounding errors. Models that normalise translations would make a random walk of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraRequest:
    """A camera path in OpenCV axes, relative to its first pose; make it with `of`."""

    camera_to_world: Floats
    """[F, 4, 4], the first one the identity."""
    intrinsics: Floats
    """[3, 3] in pixels of a picture of `width` by `height`."""
    width: int
    height: int
    fps: float

    @classmethod
    def of(cls, poses: Floats, intrinsics: Floats, size: tuple[int, int], fps: float) -> Self:
        """Any path of camera-to-world poses [F, 4, 4], of a picture of a width and a height."""
        if poses.ndim != 3 or poses.shape[1:] != (4, 4) or len(poses) < 2:
            raise ValueError(f"a path has the shape {poses.shape}, expected [2 or more, 4, 4].")
        if not np.isfinite(poses).all() or not fps > 0:
            raise ValueError("a path holds NaN or infinity, or its frame rate is not above 0.")
        return cls(
            camera_to_world=canonical(poses),
            intrinsics=np.array(intrinsics, np.float64),
            width=size[0],
            height=size[1],
            fps=float(fps),
        )

    @property
    def frames(self) -> int:
        """Number of poses, one for each frame of the request."""
        return len(self.camera_to_world)

    @property
    def seconds(self) -> float:
        """From the first pose to the last."""
        return (self.frames - 1) / self.fps

    def at(self, seconds: Floats) -> Floats:
        """[N, 4, 4] poses at some times; the camera rests before the first and after the last pose."""
        return poses_between(self.camera_to_world, np.asarray(seconds) * self.fps)

    def intrinsics_for(self, width: float, height: float) -> Floats:
        """[3, 3] for the same view, stretched to another size."""
        return np.asarray(self.intrinsics * np.array([width / self.width, height / self.height, 1.0])[:, None])


def canonical(poses: Floats) -> Floats:
    """[F, 4, 4] relative to the first pose, with exact rotations, and without rounding errors in translations.

    >>> still = np.tile(np.eye(4), (2, 1, 1))
    >>> still[1, 0, 3] = 1e-15
    >>> canonical(still)[1, 0, 3].item()
    0.0
    """
    poses = np.asarray(poses, np.float64)
    relative = np.linalg.inv(poses[0]) @ poses
    u, _, v = np.linalg.svd(relative[:, :3, :3])
    found = np.tile(np.eye(4), (len(poses), 1, 1))
    found[:, :3, :3] = u @ v
    found[0, :3, :3] = np.eye(3)
    # Single precision far from the origin of its world has larger errors.
    negligible = JITTER * max(1.0, float(np.abs(poses[:, :3, 3]).max()))
    moves = relative[:, :3, 3]
    found[:, :3, 3] = np.where(np.abs(moves) < negligible, 0.0, moves)
    return found


def poses_between(poses: Floats, positions: Floats) -> Floats:
    """[N, 4, 4] at fractional positions in a path: rotations by slerp, centres by straight lines."""
    positions = np.clip(np.asarray(positions, np.float64), 0, len(poses) - 1)
    if len(poses) == 1:
        return np.repeat(poses, len(positions), axis=0)
    found = np.tile(np.eye(4), (len(positions), 1, 1))
    whole = np.rint(positions).astype(int)
    is_whole = np.abs(positions - whole) < 1e-9
    found[is_whole] = poses[whole[is_whole]]
    rest = ~is_whole
    if rest.any():
        known = np.arange(len(poses))
        found[rest, :3, :3] = Slerp(known, Rotation.from_matrix(poses[:, :3, :3]))(positions[rest]).as_matrix()
        for axis in range(3):
            found[rest, axis, 3] = np.interp(positions[rest], known, poses[:, axis, 3])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFrame:
    """The picture that a model starts from."""

    suffix: str
    """`.png` or `.jpg`."""
    content: bytes
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """One case as it is asked of a model."""

    case: Case
    camera: CameraRequest | None
    """`None` where the case asks for no camera path."""
    first_frame: FirstFrame | None = None
    camera_source: str = ""
    """Which file or rule of the dataset the path is from."""
    world_recipe: dict[str, object] | None = field(default=None)
    """How the simulated world made the case, where it did."""

    @property
    def prompt(self) -> str:
        """All prompt segments as one text."""
        return " ".join(" ".join(segment.split()) for segment in self.case.prompt if segment.strip())
