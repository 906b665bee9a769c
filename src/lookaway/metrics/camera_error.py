"""How far the camera of a clip is from the path that was requested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias, get_args

import numpy as np

from lookaway.core import (
    Abstention,
    Features,
    Floats,
    MetricBase,
    Outcome,
    Reason,
    Rollout,
    Score,
    Trajectory,
    Unit,
    UnknownName,
    Unmeasurable,
)
from lookaway.metrics.pose_alignment import ALIGNMENT, align
from lookaway.metrics.relative_pose import turned_degrees

PathAlignment: TypeAlias = Literal["signed", "orientations", "centres"]
"""What is fitted to what: rotations to rotations with a scale of any sign, the same with a scale of at least 0, or a
similarity to camera centres (Umeyama)."""
STILL: Final = 1e-9
"""Mean squared distance from the mean below which a path is a point, as in SANA-WM-Bench's own code."""


@dataclass(frozen=True, slots=True)
class AlignedPath:
    """An estimated path after alignment, beside the requested one."""

    estimated: Floats
    """[N, 4, 4] camera to world."""
    requested: Floats
    scale: float


def align_paths(estimated: Floats, requested: Floats, alignment: PathAlignment) -> AlignedPath:
    """Bring an estimated path [N, 4, 4] onto a requested one; both are first made relative to their first pose.

    `signed` is SANA-WM-Bench's own: the rotation is fitted to rotations, and nothing keeps the scale from being
    negative, so that a camera that translates the opposite way has no error.
    """
    if not (np.isfinite(estimated).all() and np.isfinite(requested).all()):
        raise Unmeasurable(Reason.POSE_FAILED, "a camera pose is not finite: the pose estimator failed.")
    estimated, requested = (np.linalg.inv(path[0]) @ path for path in (estimated, requested))
    if alignment == "centres":
        similarity = align(estimated[:, :3, 3], requested[:, :3, 3], "sim3")
        return AlignedPath(similarity.moved(estimated), requested, similarity.scale)
    rotation = _mean_rotation(
        requested[:, :3, :3] @ estimated[:, :3, :3].transpose(0, 2, 1), is_proper=alignment != "signed"
    )
    # In camera axes: with c = -R^T t, R_src^T t_tgt is where the requested centre lies as the estimated camera turns.
    own = -estimated[:, :3, 3]
    turned = estimated[:, :3, :3] @ requested[:, :3, :3].transpose(0, 2, 1)
    wanted = -np.einsum("nij,nj->ni", turned, requested[:, :3, 3])
    own_offsets, wanted_offsets = own - own.mean(axis=0), wanted - wanted.mean(axis=0)
    scale = float((own_offsets * wanted_offsets).mean() / max(float((own_offsets**2).mean()), STILL))
    if alignment != "signed":
        scale = max(scale, 0.0)
    moved = np.tile(np.eye(4), (len(estimated), 1, 1))
    moved[:, :3, :3] = rotation @ estimated[:, :3, :3]
    shift = wanted.mean(axis=0) - scale * own.mean(axis=0)
    moved[:, :3, 3] = -(scale * own + shift) @ rotation.T
    return AlignedPath(moved, requested, scale)


def _mean_rotation(rotations: Floats, *, is_proper: bool) -> Floats:
    """The rotation nearest to the mean of rotations."""
    left, _, right = np.linalg.svd(rotations.mean(axis=0))
    sign = np.sign(np.linalg.det(left) * np.linalg.det(right)) if is_proper else 1.0
    return np.asarray((left * np.array([1.0, 1.0, sign])) @ right)


@dataclass(frozen=True, slots=True)
class CameraError(MetricBase):
    """Mean over posed frames of the distance between the estimated camera and the requested one."""

    higher_is_better = False
    needs = ("poses", "commanded_poses")
    constants = (f"{__name__}:STILL", *ALIGNMENT)

    alignment: Annotated[
        PathAlignment,
        "`orientations` fits rotations and a scale of 0 or more, `signed` any scale, `centres` a similarity of centres",
    ] = "orientations"
    stride: Annotated[int, "every so many frames are compared, where they have poses"] = 1
    skips_first: Annotated[bool, "leaves out the first of them"] = False
    min_frames: Annotated[int, "fewer posed frames than this say nothing"] = 8

    def __post_init__(self) -> None:
        if self.alignment not in get_args(PathAlignment):
            raise UnknownName("alignment", self.alignment, get_args(PathAlignment))

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per posed frame."""
        estimated, requested = (Trajectory.from_feature(features[name]) for name in self.needs)
        frames, ours, theirs = np.intersect1d(
            estimated.frame_indices, requested.frame_indices, assume_unique=True, return_indices=True
        )
        kept = np.flatnonzero(frames % self.stride == 0)[int(self.skips_first) :]
        if len(kept) < self.min_frames:
            return Abstention(
                Reason.TOO_SHORT, f"{len(kept)} frames have both poses, at least {self.min_frames} are needed."
            )
        path = align_paths(
            estimated.camera_to_world[ours[kept]], requested.camera_to_world[theirs[kept]], self.alignment
        )
        errors = self.errors(path)
        units = tuple(
            Unit(f"f{frame}", Score(error)) for frame, error in zip(frames[kept].tolist(), errors.tolist(), strict=True)
        )
        extent = float(np.linalg.norm(path.requested[:, :3, 3], axis=1).max())
        detail = {"scale": path.scale, "extent": extent, "frames": len(kept)}
        value = float(errors.mean())
        if extent > 0 and self.unit != "degrees":
            detail["part_of_extent"] = value / extent
        return Score(value, units=units, detail=detail)

    def errors(self, path: AlignedPath) -> Floats:
        """[N] the part of the error that is measured."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class CameraRotationError(CameraError):
    """Mean angle between the estimated and the requested orientation of the camera, after alignment.

    Both paths are relative to their first pose. A camera that never turns has the angles of the requested path, about
    their mean, as its error.

    Abstains: `missing_input` without poses or a requested path; `too_short` where fewer than `min_frames` frames have
    both; `pose_failed` where poses hold no valid camera.
    """

    name = "camera_rotation_error"
    unit = "degrees"
    range = (0.0, 180.0)

    def errors(self, path: AlignedPath) -> Floats:
        """[N] angles."""
        return turned_degrees(path.estimated[:, :3, :3].transpose(0, 2, 1) @ path.requested[:, :3, :3])


@dataclass(frozen=True, slots=True)
class CameraTranslationError(CameraError):
    """Mean distance between the estimated and the requested camera centre, after alignment, in units of the request.

    Both paths are relative to their first pose. Of a camera that stands still it is the mean distance of the requested
    path from a point. `detail.part_of_extent` is the same divided by the extent of the requested path: without that,
    large scenes weigh more than small ones.

    Abstains: `missing_input` without poses or a requested path; `too_short` where fewer than `min_frames` frames have
    both; `pose_failed` where poses hold no valid camera.
    """

    name = "camera_translation_error"
    unit = "unit of the requested poses"
    range = (0.0, None)

    def errors(self, path: AlignedPath) -> Floats:
        """[N] lengths."""
        return np.asarray(np.linalg.norm(path.estimated[:, :3, 3] - path.requested[:, :3, 3], axis=1))


@dataclass(frozen=True, slots=True)
class CameraMatrixError(CameraError):
    """Mean Frobenius norm of the difference of estimated and requested 3 x 4 camera-to-world matrices (CamMC).

    Both paths are relative to their first pose, and aligned. Rotation counts without a unit, translation in units of
    the requested path, so that their balance depends on the scene; `detail.part_of_extent` is the value divided by the
    extent of that path.

    Abstains: `missing_input` without poses or a requested path; `too_short` where fewer than `min_frames` frames have
    both; `pose_failed` where poses hold no valid camera.
    """

    name = "camera_matrix_error"
    unit = "norm"
    range = (0.0, None)

    def errors(self, path: AlignedPath) -> Floats:
        """[N] norms."""
        return np.asarray(np.linalg.norm((path.estimated - path.requested)[:, :3], axis=(1, 2)))


CAMERA_ERRORS: Final[dict[str, Callable[..., CameraError]]] = {
    "rot_err": CameraRotationError,
    "trans_err": CameraTranslationError,
    "cam_mc": CameraMatrixError,
}
"""By the names that SANA-WM-Bench has for them."""
