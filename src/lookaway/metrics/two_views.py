"""Two-view geometry: errors of matched points between two posed views."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats, Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoViews:
    """Two cameras; points of the first are moved into the second by x2 = rotation x1 + translation."""

    intrinsics_1: Floats
    intrinsics_2: Floats
    rotation: Floats
    translation: Floats
    is_pure_rotation: bool
    """The baseline is negligible, so that depth and epipolar lines are undefined."""

    @classmethod
    def of(
        cls, trajectory: Trajectory, first: int, second: int, size: tuple[float, float], negligible: float
    ) -> TwoViews:
        """Two poses of a trajectory, for images of a given width and height."""
        intrinsics = trajectory.intrinsics_for(*size)
        rotations, centres = trajectory.rotations, trajectory.centres
        baseline = centres[first] - centres[second]
        depth = min(float(trajectory.median_depth[first]), float(trajectory.median_depth[second]))
        return cls(
            intrinsics_1=intrinsics[first],
            intrinsics_2=intrinsics[second],
            rotation=rotations[second].T @ rotations[first],
            translation=rotations[second].T @ baseline,
            is_pure_rotation=bool(np.linalg.norm(baseline) < negligible * depth),
        )


def epipolar_distances(views: TwoViews, points_1: Floats, points_2: Floats) -> Floats:
    """[M] mean of the distances in pixels of a match's two points to each other's epipolar line."""
    tx, ty, tz = views.translation
    cross = np.array([[0, -tz, ty], [tz, 0, -tx], [-ty, tx, 0]])
    inverse_1, inverse_2 = np.linalg.inv(views.intrinsics_1), np.linalg.inv(views.intrinsics_2)
    fundamental = inverse_2.T @ cross @ views.rotation @ inverse_1
    first, second = _homogeneous(points_1), _homogeneous(points_2)
    lines_2, lines_1 = first @ fundamental.T, second @ fundamental
    offsets = np.abs(np.einsum("mi,mi->m", second, lines_2))
    lengths_1 = np.maximum(np.linalg.norm(lines_1[:, :2], axis=1), np.finfo(float).tiny)
    lengths_2 = np.maximum(np.linalg.norm(lines_2[:, :2], axis=1), np.finfo(float).tiny)
    return np.asarray((offsets / lengths_1 + offsets / lengths_2) / 2)


def transfer_distances(views: TwoViews, points_1: Floats, points_2: Floats) -> Floats:
    """[M] mean of the distances in pixels between a match's points after turning either view into the other."""
    turn = views.intrinsics_2 @ views.rotation @ np.linalg.inv(views.intrinsics_1)
    forth = np.linalg.norm(_project(_homogeneous(points_1) @ turn.T) - points_2, axis=1)
    back = np.linalg.norm(_project(_homogeneous(points_2) @ np.linalg.inv(turn).T) - points_1, axis=1)
    return np.asarray((forth + back) / 2)


def reprojection_distances(views: TwoViews, points_1: Floats, points_2: Floats) -> Floats:
    """[M] mean over both views of the distance in pixels between a match and its triangulated point."""
    rays_1, rays_2 = _rays(views.intrinsics_1, points_1), _rays(views.intrinsics_2, points_2)
    camera_1 = np.eye(3, 4)
    # Depth in units of the baseline keeps the equations well scaled whatever the unit of the poses is.
    translation = views.translation / np.linalg.norm(views.translation)
    camera_2 = np.column_stack([views.rotation, translation])
    points = _triangulate(camera_1, camera_2, rays_1, rays_2)
    seen_1 = _project(points @ camera_1.T @ views.intrinsics_1.T)
    seen_2 = _project(points @ camera_2.T @ views.intrinsics_2.T)
    return np.asarray((np.linalg.norm(seen_1 - points_1, axis=1) + np.linalg.norm(seen_2 - points_2, axis=1)) / 2)


def possible_distances(views: TwoViews, points_1: Floats, points_2: Floats, nearest_depth: float) -> Floats:
    """[M] mean over both views of the distance in pixels of a point to where its partner can be seen.

    A point that is at least `nearest_depth` away is seen on a segment of its epipolar line, which ends where it would
    be at infinity; without a baseline the segment is a point. Infinite where it would be behind the camera.
    """
    rays_1, rays_2 = _rays(views.intrinsics_1, points_1), _rays(views.intrinsics_2, points_2)
    there, back = views.translation, -views.rotation.T @ views.translation
    in_second = _to_segment(points_2, views.intrinsics_2, rays_1 @ views.rotation.T, there, nearest_depth)
    in_first = _to_segment(points_1, views.intrinsics_1, rays_2 @ views.rotation, back, nearest_depth)
    return np.asarray((in_second + in_first) / 2)


def _to_segment(points: Floats, intrinsics: Floats, rays: Floats, translation: Floats, nearest_depth: float) -> Floats:
    """[M] distance of points to the projections of rays x + translation w, for inverse depths w up to the nearest."""
    ahead = 1e-6
    low, high = np.zeros(len(rays)), np.full(len(rays), 1 / nearest_depth)
    forward = translation[2]
    if forward < 0:
        high = np.minimum(high, (rays[:, 2] - ahead) / -forward)
    elif forward > 0:
        low = np.maximum(low, (ahead - rays[:, 2]) / forward)
    else:
        high = np.where(rays[:, 2] >= ahead, high, -1.0)
    is_seen = low <= high
    starts = _project((rays + low[:, None] * translation) @ intrinsics.T)
    ends = _project((rays + high[:, None] * translation) @ intrinsics.T)
    ways = ends - starts
    lengths = np.maximum(np.einsum("mi,mi->m", ways, ways), np.finfo(float).tiny)
    along = np.clip(np.einsum("mi,mi->m", points - starts, ways) / lengths, 0, 1)
    return np.where(is_seen, np.linalg.norm(points - starts - along[:, None] * ways, axis=1), np.inf)


def _rays(intrinsics: Floats, points: Floats) -> Floats:
    return np.asarray(_homogeneous(points) @ np.linalg.inv(intrinsics).T)


def _triangulate(camera_1: Floats, camera_2: Floats, rays_1: Floats, rays_2: Floats) -> Floats:
    """[M, 4] homogeneous points by the linear method: the least singular vector of the projection equations."""
    equations = np.stack(
        [
            rays_1[:, :1] * camera_1[2] - camera_1[0],
            rays_1[:, 1:2] * camera_1[2] - camera_1[1],
            rays_2[:, :1] * camera_2[2] - camera_2[0],
            rays_2[:, 1:2] * camera_2[2] - camera_2[1],
        ],
        axis=1,
    )
    return np.asarray(np.linalg.svd(equations)[2][:, 3])


def _homogeneous(points: Floats) -> Floats:
    return np.column_stack([points, np.ones(len(points))]).astype(np.float64)


def _project(points: Floats) -> Floats:
    depth = points[:, 2:]
    tiny = np.where(depth < 0, -1e-12, 1e-12)
    return np.asarray(points[:, :2] / np.where(np.abs(depth) < 1e-12, tiny, depth))
