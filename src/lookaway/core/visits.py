"""What was seen, left and seen again: the views of a trajectory, projected into each other, or a subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from lookaway.core.features import Feature, Floats
from lookaway.core.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class ViewGrid:
    """The points of a view that are followed into other frames."""

    columns: Annotated[int, "points beside each other"] = 24
    rows: Annotated[int, "points one below the other"] = 14
    margin: Annotated[float, "a frame is the partner of a later one only if it shows more of it by this share"] = 0.02

    @property
    def whole(self) -> NDArray[np.bool_]:
        """[rows, columns] all of the view."""
        return np.ones((self.rows, self.columns), np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """For each posed frame, how much of its view is a revisit, and of which earlier frame."""

    shares: Floats
    """[N] share of the view that the partner shows and that was out of view at some frame between."""
    partners: NDArray[np.int64]
    """[N] position of the partner in the trajectory; -1 where nothing of the view is a revisit."""

    @property
    def most(self) -> float:
        """The largest share of a view that was seen, left and seen again."""
        return float(self.shares.max(initial=0.0))


def find_visits(trajectory: Trajectory, grid: ViewGrid) -> Visits:
    """The revisits of a path.

    A point of a view lies at the view's median depth; where the camera only turns, depth makes no difference. The
    partner of a frame is the latest earlier frame that no frame before it beats by more than the margin of the grid.
    """
    count = len(trajectory.frame_indices)
    shares, partners = np.zeros(count), np.full(count, -1, np.int64)
    for frame in range(2, count):
        revisited = revisited_shares(trajectory, frame, grid)
        for earlier in range(frame - 1, -1, -1):
            if revisited[earlier] > shares[frame] + grid.margin:
                shares[frame], partners[frame] = revisited[earlier], earlier
    return Visits(shares, partners)


def revisited_shares(trajectory: Trajectory, frame: int, grid: ViewGrid) -> Floats:
    """[frame] share of a frame's view that each earlier frame shows and that was out of view at a frame between."""
    in_view = _earlier_views(trajectory, frame, (grid.columns, grid.rows))
    return np.asarray((in_view & _was_left(in_view)).mean(axis=1))


def revisited_points(trajectory: Trajectory, first: int, second: int, grid: tuple[int, int]) -> NDArray[np.bool_]:
    """[rows, columns] which points of the second view were out of view at some frame between it and the first."""
    in_view = _earlier_views(trajectory, second, grid)
    return np.asarray(_was_left(in_view)[first].reshape(grid[1], grid[0]))


def view_overlaps(trajectory: Trajectory, frame: int, part: NDArray[np.bool_]) -> Floats:
    """[N] share of a part [rows, columns] of a frame's view that is in view of each frame."""
    others = np.arange(len(trajectory.frame_indices))
    in_view = _in_view(trajectory, frame, others, (part.shape[1], part.shape[0]))
    return np.asarray(in_view[:, part.ravel()].mean(axis=1))


def project_points(trajectory: Trajectory, points: Floats, frame: int, others: NDArray[np.int64]) -> Floats:
    """[K, P, 2] where points [P, 2] of a frame, at its median depth, lie in others; infinite behind the camera."""
    intrinsics, rotations, centres = trajectory.intrinsics, trajectory.rotations, trajectory.centres
    rays = np.column_stack([points, np.ones(len(points))]) @ np.linalg.inv(intrinsics[frame]).T
    world = rays @ rotations[frame].T * float(trajectory.median_depth[frame]) + centres[frame]
    cameras = intrinsics[others] @ rotations[others].transpose(0, 2, 1)
    # One product for all frames at once: a path of some hundred frames takes seconds otherwise.
    seen = (world @ cameras.reshape(-1, 3).T).reshape(len(points), len(others), 3).transpose(1, 0, 2)
    pixels = seen - (cameras @ centres[others, :, None]).transpose(0, 2, 1)
    is_ahead = pixels[..., 2] > 1e-6 * float(trajectory.median_depth[frame])
    depth = np.where(is_ahead, pixels[..., 2], 1.0)
    return np.where(is_ahead[..., None], pixels[..., :2] / depth[..., None], np.inf)


def mirrored_frames(camera_to_world: Floats, tolerance: float, min_way: float = 0.05) -> tuple[int, ...] | None:
    """Frames of the longest mirrored path in poses [N, 4, 4]: frame i has the pose of frame -1 - i.

    Two poses are equal where no number differs by more than the tolerance. The turning point has no partner and is left
    out. The path must lead away by `min_way`, in the unit of the poses: a static camera mirrors itself everywhere.
    `None` if there is no such path.
    """
    count, longest = len(camera_to_world), 0
    outs, backs = np.arange(0), np.arange(0)
    if np.abs(camera_to_world - camera_to_world[:1]).max(initial=0.0) <= min_way:
        return None
    for total in range(1, 2 * count - 2):
        out = np.arange((total - 1) // 2, max(0, total - count + 1) - 1, -1)
        differs = np.abs(camera_to_world[out] - camera_to_world[total - out]).max(axis=(1, 2)) > tolerance
        out = out[: int(np.argmax(differs))] if differs.any() else out
        away = camera_to_world[out]
        if len(out) > longest and np.abs(away - away[0]).max() > min_way:
            longest, outs, backs = len(out), out[::-1], total - out
    return tuple(map(int, (*outs, *backs))) if longest else None


def judgeable_seconds(reobservation: Feature) -> list[bool]:
    """Whether more than half of the repeats say that the subject can be judged, for each second."""
    said = reobservation["judgeable"]
    return [bool(second) for second in 2 * said.sum(axis=1) > said.shape[1]]


def why_gate_closed(reobservation: Feature) -> str | None:
    """Why a rollout is not re-observed, by what a judge said; `None` where it is."""
    return why_not_reobserved(judgeable_seconds(reobservation))


def why_not_reobserved(judgeable: Sequence[bool]) -> str | None:
    """Which of seen, lost and seen again is missing; `None` where none is.

    >>> why_not_reobserved([True, False, True]), why_not_reobserved([True, False])
    (None, 'no_return')
    """
    if all(judgeable):
        return "no_oov"
    first_seen = next((place for place, seen in enumerate(judgeable) if seen), len(judgeable))
    lost = next((place for place in range(first_seen, len(judgeable)) if not judgeable[place]), None)
    if lost is None:
        return "no_initial_judgeable"
    return None if any(judgeable[lost:]) else "no_return"


def _earlier_views(trajectory: Trajectory, frame: int, grid: tuple[int, int]) -> NDArray[np.bool_]:
    return _in_view(trajectory, frame, np.arange(frame), grid)


def _in_view(trajectory: Trajectory, frame: int, others: NDArray[np.int64], grid: tuple[int, int]) -> NDArray[np.bool_]:
    """[K, P] which points of a grid over a frame's view are in view of other frames."""
    columns, rows = grid
    x, y = np.meshgrid(
        (np.arange(columns) + 0.5) * trajectory.width / columns, (np.arange(rows) + 0.5) * trajectory.height / rows
    )
    places = project_points(trajectory, np.stack([x.ravel(), y.ravel()], axis=1), frame, others)
    size = np.array([trajectory.width, trajectory.height])
    return np.asarray(((places >= 0) & (places < size)).all(axis=-1))


def _was_left(in_view: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[K, P] for each earlier frame, which points were out of view at some frame after it."""
    hidden = np.zeros_like(in_view)
    hidden[:-1] = np.logical_or.accumulate(~in_view[::-1], axis=0)[::-1][1:]
    return hidden
