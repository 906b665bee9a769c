from __future__ import annotations

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import Trajectory
from lookaway.metrics.two_views import TwoViews, epipolar_distances, reprojection_distances, transfer_distances
from tests.metrics.two_view_scenes import seen, world_points

INTRINSICS = (
    np.array([[600.0, 0, 420], [0, 590, 230], [0, 0, 1]]),
    np.array([[500.0, 0, 400], [0, 510, 250], [0, 0, 1]]),
)
DISTANCES = [epipolar_distances, reprojection_distances, transfer_distances]


def two_cameras(*, centre=(0.4, -0.1, 0.2), rotation_degrees=(4.0, -9.0, 2.0)) -> Trajectory:
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[0, :3, :3] = Rotation.from_euler("xyz", [10, 20, -5], degrees=True).as_matrix()
    poses[0, :3, 3] = (1, 2, 3)
    poses[1, :3, :3] = poses[0, :3, :3] @ Rotation.from_euler("xyz", rotation_degrees, degrees=True).as_matrix()
    poses[1, :3, 3] = poses[0, :3, 3] + poses[0, :3, :3] @ centre
    return Trajectory(
        camera_to_world=poses,
        intrinsics=np.stack(INTRINSICS),
        frame_indices=np.arange(2),
        median_depth=np.full(2, 3.0),
        width=832,
        height=480,
        frame_count=2,
    )


def noisy_matches(cameras: Trajectory, *, noise_pixels: float, count: int = 30):
    rng = np.random.default_rng(1)
    points = world_points(cameras, 0, count)
    return [
        seen(points, cameras.camera_to_world[view], cameras.intrinsics[view]) + rng.normal(0, noise_pixels, (count, 2))
        for view in (0, 1)
    ]


def views_of(cameras: Trajectory) -> TwoViews:
    return TwoViews.of(cameras, 0, 1, (832, 480), 1e-3)


def naive_epipolar(cameras: Trajectory, points_1, points_2):
    """From the camera matrices: F = [e'] P' P^+, then the distance from a point to a line, point by point."""
    first, second = (
        intrinsics @ np.linalg.inv(pose)[:3]
        for intrinsics, pose in zip(cameras.intrinsics, cameras.camera_to_world, strict=True)
    )
    epipole = second @ np.append(cameras.camera_to_world[0, :3, 3], 1)
    distances = []
    for a, b in zip(points_1, points_2, strict=True):
        a, b = np.append(a, 1), np.append(b, 1)
        line_2 = np.cross(epipole, second @ np.linalg.pinv(first) @ a)
        fundamental = np.cross(epipole, (second @ np.linalg.pinv(first)).T).T
        line_1 = fundamental.T @ b
        to_line_2 = abs(line_2 @ b) / np.sqrt(line_2[0] ** 2 + line_2[1] ** 2)
        to_line_1 = abs(line_1 @ a) / np.sqrt(line_1[0] ** 2 + line_1[1] ** 2)
        distances.append((to_line_1 + to_line_2) / 2)
    return distances


def naive_reprojection(cameras: Trajectory, points_1, points_2):
    """OpenCV's triangulation and projection, point by point, in the frame of the first camera."""
    to_second = np.linalg.inv(cameras.camera_to_world[1]) @ cameras.camera_to_world[0]
    rotation, translation = to_second[:3, :3], to_second[:3, 3] / np.linalg.norm(to_second[:3, 3])
    first, second = np.eye(3, 4), np.column_stack([rotation, translation])
    distances = []
    for a, b in zip(points_1, points_2, strict=True):
        rays = [(np.linalg.inv(k) @ np.append(p, 1))[:2] for k, p in zip(cameras.intrinsics, (a, b), strict=True)]
        point = cv2.triangulatePoints(first, second, *rays)[:, 0]
        point = (point[:3] / point[3])[None]
        again_1, _ = cv2.projectPoints(point, np.zeros(3), np.zeros(3), cameras.intrinsics[0], None)
        again_2, _ = cv2.projectPoints(point, cv2.Rodrigues(rotation)[0], translation, cameras.intrinsics[1], None)
        distances.append((np.linalg.norm(again_1.ravel() - a) + np.linalg.norm(again_2.ravel() - b)) / 2)
    return distances


def naive_transfer(cameras: Trajectory, points_1, points_2):
    """Each point as a direction in the world, seen by the other camera, point by point."""
    distances = []
    for a, b in zip(points_1, points_2, strict=True):
        errors = []
        for here, there, point, wanted in ((0, 1, a, b), (1, 0, b, a)):
            direction = np.linalg.inv(cameras.intrinsics[here]) @ np.append(point, 1)
            direction = cameras.camera_to_world[here, :3, :3] @ direction
            found = cameras.intrinsics[there] @ cameras.camera_to_world[there, :3, :3].T @ direction
            errors.append(np.linalg.norm(found[:2] / found[2] - wanted))
        distances.append(sum(errors) / 2)
    return distances


@pytest.mark.parametrize("noise_pixels", [0.3, 5.0])
@pytest.mark.parametrize(
    ("distances", "naive"),
    [
        (epipolar_distances, naive_epipolar),
        (reprojection_distances, naive_reprojection),
        (transfer_distances, naive_transfer),
    ],
)
def test_distances_equal_a_naive_loop(distances, naive, noise_pixels):
    cameras = two_cameras()
    points = noisy_matches(cameras, noise_pixels=noise_pixels)
    np.testing.assert_allclose(distances(views_of(cameras), *points), naive(cameras, *points), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("distances", [epipolar_distances, reprojection_distances])
def test_points_of_a_rigid_world_have_no_distance(distances):
    cameras = two_cameras()
    assert distances(views_of(cameras), *noisy_matches(cameras, noise_pixels=0)).max() < 1e-6


def test_points_of_any_depth_transfer_exactly_where_the_camera_only_turns():
    cameras = two_cameras(centre=(0, 0, 0))
    assert transfer_distances(views_of(cameras), *noisy_matches(cameras, noise_pixels=0)).max() < 1e-9


@pytest.mark.parametrize("shift_pixels", [0.5, 4.0])
def test_a_shift_across_level_epipolar_lines_is_the_epipolar_distance_and_twice_the_reprojection_distance(shift_pixels):
    cameras = two_cameras(centre=(0.3, 0, 0), rotation_degrees=(0, 0, 0))
    cameras.intrinsics[1] = cameras.intrinsics[0]
    points_1, points_2 = noisy_matches(cameras, noise_pixels=0)
    points_2 = points_2 + np.array([0, shift_pixels])
    np.testing.assert_allclose(epipolar_distances(views_of(cameras), points_1, points_2), shift_pixels, rtol=1e-6)
    np.testing.assert_allclose(
        reprojection_distances(views_of(cameras), points_1, points_2), shift_pixels / 2, rtol=1e-3
    )


def test_a_shift_along_the_epipolar_line_costs_nothing():
    cameras = two_cameras(centre=(0.3, 0, 0), rotation_degrees=(0, 0, 0))
    points_1, points_2 = noisy_matches(cameras, noise_pixels=0)
    assert epipolar_distances(views_of(cameras), points_1, points_2 + np.array([3, 0])).max() < 1e-6


def test_a_turn_of_one_degree_moves_the_middle_of_the_image_by_its_tangent():
    cameras = two_cameras(centre=(0, 0, 0), rotation_degrees=(0, 1, 0))
    cameras.intrinsics[1] = cameras.intrinsics[0]
    middle = INTRINSICS[0][:2, 2][None]
    expected = INTRINSICS[0][0, 0] * np.tan(np.radians(1))
    np.testing.assert_allclose(transfer_distances(views_of(cameras), middle, middle), expected)


@pytest.mark.parametrize("distances", DISTANCES)
def test_every_distance_is_finite_for_points_at_the_epipole_and_far_outside(distances):
    cameras = two_cameras(centre=(0, 0, 0.5), rotation_degrees=(0, 0, 0))
    points = np.array([INTRINSICS[0][:2, 2], (0, 0), (1e6, -1e6)])
    assert np.isfinite(distances(views_of(cameras), points, points)).all()


@pytest.mark.parametrize(("baseline", "is_turn"), [(0.0, True), (0.0029, True), (0.0031, False)])
def test_a_baseline_below_a_thousandth_of_the_depth_is_a_pure_rotation(baseline, is_turn):
    assert views_of(two_cameras(centre=(baseline, 0, 0))).is_pure_rotation is is_turn


def test_the_nearer_of_the_two_depths_decides_what_is_negligible():
    cameras = two_cameras(centre=(0.0015, 0, 0))
    cameras.median_depth[1] = 1.0
    assert not views_of(cameras).is_pure_rotation
