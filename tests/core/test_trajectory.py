from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import Trajectory, angles_degrees
from tests.support.room import there_and_back, trajectory


def test_a_trajectory_comes_back_from_its_feature_unchanged():
    path = trajectory(there_and_back("left_then_right", 9), frame_indices=np.arange(9) * 3, frame_count=30)
    copy = Trajectory.from_feature(path.to_feature())
    for name in ("camera_to_world", "intrinsics", "frame_indices", "median_depth"):
        np.testing.assert_array_equal(getattr(copy, name), getattr(path, name))
    assert (copy.width, copy.height, copy.frame_count) == (path.width, path.height, 30)


def test_scaled_intrinsics_project_a_point_to_the_same_part_of_the_image():
    path = trajectory(there_and_back("left_then_right", 1))
    point = np.array([0.3, -0.2, 2.0])
    small = path.intrinsics[0] @ point
    large = path.intrinsics_for(1664, 240)[0] @ point
    np.testing.assert_allclose(large[:2] / large[2], small[:2] / small[2] * (1664 / path.width, 240 / path.height))


def test_intrinsics_of_the_own_size_are_the_intrinsics():
    path = trajectory(there_and_back("left_then_right", 4))
    np.testing.assert_array_equal(path.intrinsics_for(path.width, path.height), path.intrinsics)


def test_relative_centres_span_one_extent_from_the_first():
    path = trajectory(there_and_back("forward_then_backward", 9, metres=2.5))
    centres = path.relative_centres(negligible_extent=1e-3)
    np.testing.assert_allclose(np.linalg.norm(centres, axis=1).max(), 1)
    np.testing.assert_array_equal(centres[0], 0)


def test_a_path_that_is_short_against_the_depth_is_a_turn_on_the_spot():
    path = trajectory(there_and_back("forward_then_backward", 9, metres=0.0029))
    assert not path.relative_centres(negligible_extent=1e-3).any()
    assert path.relative_centres(negligible_extent=1e-4).any()


@pytest.mark.parametrize("degrees", [0.0, 1e-3, 0.02, 1.0, 90.0, 179.0])
def test_angles_are_exact_to_a_thousandth_of_a_degree_in_single_precision(degrees):
    rng = np.random.default_rng(0)
    start = Rotation.random(50, random_state=rng)
    axes = rng.normal(size=(50, 3))
    turns = Rotation.from_rotvec(axes / np.linalg.norm(axes, axis=1, keepdims=True) * np.radians(degrees))
    first, second = (rotation.as_matrix().astype(np.float32) for rotation in (start, start * turns))
    np.testing.assert_allclose(angles_degrees(first, second), degrees, atol=1e-3)


def test_angles_broadcast_over_leading_axes():
    rotations = Rotation.from_euler("y", [[0], [10], [30]], degrees=True).as_matrix()
    expected = [[0, 10, 30], [10, 0, 20], [30, 20, 0]]
    np.testing.assert_allclose(angles_degrees(rotations[:, None], rotations[None]), expected, atol=1e-9)
