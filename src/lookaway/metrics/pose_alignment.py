"""The similarity that brings an estimated camera path onto the true one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from lookaway.core import Floats, Reason, Unmeasurable

Alignment: TypeAlias = Literal["sim3", "se3", "none"]
"""Whether scale, rotation and translation are fitted, all but the scale, or nothing."""

STILL_VARIANCE: Final = 1e-12
"""Added to the variance of the estimated centres, as MIND does.

A camera that only jitters, by less than a millionth of the unit of its poses, counts as standing still: its noise is
not blown up into a path. Paths that are spread over less than a hundred thousandth lose more than 1 % of scale by it.
"""
ALIGNMENT: Final = (f"{__name__}:STILL_VARIANCE",)
"""What the lock of whoever aligns paths holds."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """Takes x to scale * rotation x + translation."""

    scale: float
    rotation: Floats
    translation: Floats

    def moved(self, camera_to_world: Floats) -> Floats:
        """[N, 4, 4] the same cameras after it; they stay rigid, whatever the scale."""
        moved = np.array(camera_to_world, dtype=np.float64)
        moved[:, :3, :3] = self.rotation @ moved[:, :3, :3]
        moved[:, :3, 3] = self.scale * moved[:, :3, 3] @ self.rotation.T + self.translation
        return moved


def align(estimated: Floats, true: Floats, alignment: Alignment) -> Similarity:
    """The least-squares similarity from estimated to true camera centres, [N, 3] each (Umeyama 1991).

    What the centres leave open is still a proper rotation: where either path is a line, the turn about it is any that
    the decomposition finds; where either is a point, the whole rotation is. Neither the scale nor a relative pose
    error depends on it. Where either camera stands still, the scale is 0: all centres come to lie on the mean of the
    true ones.
    """
    if not (np.isfinite(estimated).all() and np.isfinite(true).all()):
        raise Unmeasurable(Reason.POSE_FAILED, "a camera centre is not finite: the pose estimator failed.")
    if alignment == "none":
        return Similarity(1.0, np.eye(3), np.zeros(3))
    estimated_mean, true_mean = estimated.mean(axis=0), true.mean(axis=0)
    offsets = estimated - estimated_mean
    left, strengths, right = np.linalg.svd((true - true_mean).T @ offsets / len(offsets))
    # Without this, a path could be fitted by its mirror image.
    proper = np.array([1.0, 1.0, np.sign(np.linalg.det(left) * np.linalg.det(right))])
    rotation = (left * proper) @ right
    variance = float((offsets**2).sum(axis=1).mean())
    scale = float(strengths @ proper) / (variance + STILL_VARIANCE) if alignment == "sim3" else 1.0
    return Similarity(scale, rotation, true_mean - scale * rotation @ estimated_mean)
