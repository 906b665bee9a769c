"""Faults of the camera and of time. They start with the camera motion, while the target is still visible."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Floats
from lookaway.world.faults.contract import Fault, FaultyCase, doubling, replaced
from lookaway.world.states import StateTable
from lookaway.world.turns import quaternion, rotation, steps

STILL = 1e-9


class CameraDrift(Fault):
    """The camera returns to a different view than the one it left."""

    name = "camera_drift"
    summary = "the camera deviates from the requested path, up to 0.9, 1.8, 3.5, 7 or 14 degrees at the end"
    dose_unit = "degrees at the end"
    begins_unseen = False
    spares = ()
    full = 14.0

    def declines(self, case: FaultyCase) -> str | None:
        """It always applies."""
        return None

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Add a yaw towards the target that grows from the first motion on."""
        start, last = _first_motion(table.camera), case.clip.recipe.frames - 1
        part = np.clip((np.arange(len(table)) - start) / max(1, last - start), 0, 1)
        angles = case.clip.path.inwards * np.radians(doubling(severity, self.full)) * part
        camera = table.camera.copy()
        cosine, sine, zero, one = np.cos(angles), np.sin(angles), np.zeros_like(angles), np.ones_like(angles)
        turn = np.stack([[cosine, -sine, zero], [sine, cosine, zero], [zero, zero, one]]).transpose(2, 0, 1)
        camera[:, :3, :3] = turn @ camera[:, :3, :3]
        camera[: start + 1] = table.camera[: start + 1]
        return table.edited(camera=camera)

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Angle between the requested and the actual last view."""
        last = case.clip.recipe.frames - 1
        return angle_degrees(case.clip.table.camera[last], table.camera[last])


class CameraNeverMoves(Fault):
    """The camera does not follow its path, so memory is not tested."""

    name = "camera_never_moves"
    summary = "the camera path is scaled by 1 - s; at 1 the camera stands still"
    dose_unit = "degrees of the way not done"
    begins_unseen = False
    moves = ("camera_interaction",)
    spares = ()

    def declines(self, case: FaultyCase) -> str | None:
        """It does not apply to a camera that should stand still."""
        return "the camera is asked to stand still" if _is_still(case.clip.table.camera) else None

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Scale every step of the camera."""
        return table.edited(camera=_shortened(table.camera, 1 - severity))

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Missing length of the path in the whole clip, turned or as seen from the target's distance."""
        frames, distance = case.clip.recipe.frames, case.clip.scene.distance
        requested, done = (_way(t.camera[:frames]) for t in (case.clip.table, table))
        return float(np.degrees(requested[0] - done[0] + (requested[1] - done[1]) / distance))


class DraggedAlong(Fault):
    """The target moves along with the camera and never leaves the view."""

    name = "dragged_along"
    summary = "the target follows the camera's view with weight s"
    dose_unit = "diameters at most"
    begins_unseen = False
    spares = ("rendering_lighting", "camera_interaction")

    def declines(self, case: FaultyCase) -> str | None:
        """It does not apply to a camera that stands still."""
        return "the camera is asked to stand still" if _is_still(case.clip.table.camera) else None

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Attach the target to a camera that covers a fraction s of the path."""
        gone = _shortened(table.camera, severity) @ np.linalg.inv(table.camera[0])
        is_off = np.abs(gone - np.eye(4)).max(axis=(1, 2)) > STILL
        place = np.einsum("nij,nj->ni", gone[:, :3, :3], table.position[:, 0]) + gone[:, :3, 3]
        turn = quaternion(Rotation.from_matrix(gone[:, :3, :3]) * rotation(table.quaternion[:, 0]))
        return table.edited(
            position=replaced(table.position, is_off, 0, place[is_off]),
            quaternion=replaced(table.quaternion, is_off, 0, turn[is_off]),
        )

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Distance from its true position in the whole clip, at most: at the return it is none."""
        frames = case.clip.recipe.frames
        away = table.position[:frames, 0] - case.clip.table.position[:frames, 0]
        return float(np.linalg.norm(away, axis=1).max() / case.clip.scene.target.diameter)


class TemporalCut(Fault):
    """A piece of time is missing."""

    name = "temporal_cut"
    summary = "up to s seconds are skipped in mid-clip, camera and all"
    dose_unit = "seconds skipped"
    begins_unseen = False
    moves = ("camera_interaction",)
    spares = ()

    def declines(self, case: FaultyCase) -> str | None:
        """It does not apply if nothing moves."""
        is_idle = case.clip.recipe.event == "none" and _is_still(case.clip.table.camera)
        return "neither the camera nor the target does anything" if is_idle else None

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Take the frames after the cut from a later time."""
        skipped = max(1, round(severity * case.clip.recipe.fps))
        frames = np.arange(len(table))
        later = np.where(frames < _cut_middle(case) - skipped // 2, frames, frames + skipped)
        return table.take(np.minimum(later, len(table) - 1))

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Largest jump in scene time."""
        return float(np.diff(table.time).max() - 1 / case.clip.recipe.fps)


def angle_degrees(first: Floats, second: Floats) -> float:
    """Angle between two camera-to-world matrices."""
    return float(np.degrees(Rotation.from_matrix(first[:3, :3].T @ second[:3, :3]).magnitude()))


def _way(camera: Floats) -> tuple[float, float]:
    turns, moves = steps(camera)
    return float(turns.magnitude().sum()), float(np.linalg.norm(moves, axis=1).sum())


def _is_still(camera: Floats) -> bool:
    return max(_way(camera)) < STILL


def _first_motion(camera: Floats) -> int:
    moved = np.abs(camera - camera[0]).reshape(len(camera), -1).max(axis=1) > STILL
    return int(np.argmax(moved)) if moved.any() else 0


def _shortened(camera: Floats, factor: float) -> Floats:
    """The path with every rotation and translation scaled."""
    turns, moves = steps(camera)
    shorter = Rotation.from_rotvec(turns.as_rotvec() * factor).as_matrix()
    path = camera.copy()
    for frame in range(1, len(camera)):
        before = path[frame - 1]
        path[frame, :3, 3] = before[:3, 3] + before[:3, :3] @ moves[frame - 1] * factor
        path[frame, :3, :3] = before[:3, :3] @ shorter[frame - 1]
    return path


def _cut_middle(case: FaultyCase) -> int:
    """The frame where the camera is fastest on its way back, so that the cut shows; the middle if it stands still."""
    frames = case.clip.recipe.frames
    camera = case.clip.table.camera[:frames]
    turns, moves = steps(camera)
    speed = turns.magnitude() + np.linalg.norm(moves, axis=1)
    return frames // 2 + int(np.argmax(speed[frames // 2 :])) if speed.max() > STILL else frames // 2


CAMERA_FAULTS = (CameraDrift(), CameraNeverMoves(), DraggedAlong(), TemporalCut())
