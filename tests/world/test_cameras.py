from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from lookaway.core import UserError
from lookaway.world.cameras import CAMERAS, Viewpoint, camera_path
from lookaway.world.drawing import intrinsics
from lookaway.world.turns import look, project

SECONDS, FPS = 4.0, 20
WIDTH, HEIGHT = 832, 480
VIEW = Viewpoint(distance=2.0, eye_height=0.9, target_height=0.3, aspect=WIDTH / HEIGHT)
TARGET = np.array([[0.0, 0.0, VIEW.target_height]])
TIMES = np.arange(int(SECONDS * FPS) + 1) / FPS
AWAY = sorted(name for name, path in CAMERAS.items() if path.looks_away)


def poses(name: str, *, wait: float = 1.0, seconds: float = SECONDS) -> np.ndarray:
    times = np.arange(int(seconds * FPS) + 1) / FPS
    return camera_path(name).cameras(VIEW, times, seconds, wait)


def middle(name: str) -> np.ndarray:
    return poses(name)[len(TIMES) // 2]


def turned_left(start: np.ndarray, end: np.ndarray) -> float:
    """Degrees, seen from above."""
    headings = [np.arctan2(-pose[0, 2], pose[1, 2]) for pose in (start, end)]
    return float(np.degrees(headings[1] - headings[0]) % 360)


@pytest.mark.parametrize("name", CAMERAS)
def test_every_path_ends_where_it_starts(name):
    path = poses(name)
    np.testing.assert_allclose(path[-1], path[0], atol=1e-12)


@pytest.mark.parametrize("name", CAMERAS)
def test_every_pose_is_a_rotation_and_a_place(name):
    path = poses(name)
    turns = path[:, :3, :3]
    np.testing.assert_allclose(turns @ turns.transpose(0, 2, 1), np.broadcast_to(np.eye(3), turns.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(turns), 1, atol=1e-12)
    np.testing.assert_array_equal(path[:, 3], np.broadcast_to([0, 0, 0, 1], (len(path), 4)))


@pytest.mark.parametrize("degrees", [30, 60, 120])
def test_a_turn_has_the_angle_and_the_side_that_it_is_named_for(degrees):
    assert turned_left(poses(f"yaw_left_{degrees}")[0], middle(f"yaw_left_{degrees}")) == pytest.approx(degrees)
    assert turned_left(poses(f"yaw_right_{degrees}")[0], middle(f"yaw_right_{degrees}")) == pytest.approx(360 - degrees)


def test_a_u_turn_looks_back_and_a_full_turn_goes_on_the_same_way():
    assert turned_left(poses("u_turn")[0], middle("u_turn")) == pytest.approx(180)
    path = poses("full_turn", wait=0.0)
    turns = np.array([turned_left(a, b) for a, b in pairwise(path)])
    way = np.where(turns > 180, turns - 360, turns)
    assert (way < 1e-9).all()
    assert way.sum() == pytest.approx(-360)


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("yaw_left_60", (-3.0, 0.0, 0.5)),
        ("yaw_right_60", (3.0, 0.0, 0.5)),
        ("pan_left", (-3.0, 0.5, 0.5)),
        ("pan_right", (3.0, 0.5, 0.5)),
        ("tilt_up", (0.0, 0.0, 2.9)),
        ("tilt_down", (0.0, -1.6, 0.0)),
    ],
)
def test_what_lies_on_the_named_side_comes_into_view(name, point):
    def is_seen(pose: np.ndarray) -> bool:
        pixels, depth = project(np.array([point]), pose, intrinsics(WIDTH, HEIGHT))
        return bool(depth[0] > 0 and (pixels >= 0).all() and (pixels <= (WIDTH, HEIGHT)).all())

    assert not is_seen(poses(name)[0])
    assert is_seen(middle(name))


@pytest.mark.parametrize("name", AWAY)
def test_a_path_that_looks_away_loses_a_target_that_stands_still_and_starts_with_it_in_view(name):
    (first, _), (away, depth) = (
        project(TARGET, pose, intrinsics(WIDTH, HEIGHT)) for pose in (poses(name)[0], middle(name))
    )
    assert (first > 0).all()
    assert (first < (WIDTH, HEIGHT)).all()
    assert depth[0] <= 0 or (away < 0).any() or (away > (WIDTH, HEIGHT)).any()


@pytest.mark.parametrize(("name", "side"), [("yaw_right_60", -1), ("yaw_left_60", 1), ("static", 0)])
def test_the_target_stands_in_the_third_that_the_camera_turns_away_from(name, side):
    pixels, _ = project(TARGET, poses(name)[0], intrinsics(WIDTH, HEIGHT))
    part = (pixels[0, 0] / WIDTH - 0.5) * 2
    assert np.sign(np.round(part, 6)) == side
    assert abs(part) <= 0.4


@pytest.mark.parametrize("name", ["orbit_left", "orbit_right"])
def test_an_orbit_keeps_the_target_in_the_middle_and_at_its_distance(name):
    path = poses(name)
    seen = [project(TARGET, pose, intrinsics(WIDTH, HEIGHT)) for pose in path]
    np.testing.assert_allclose([pixels[0, 0] for pixels, _ in seen], WIDTH / 2, atol=1e-6)
    np.testing.assert_allclose([pixels[0, 1] for pixels, _ in seen], seen[0][0][0, 1], atol=1e-6)
    np.testing.assert_allclose([depth[0] for _, depth in seen], seen[0][1][0], atol=1e-9)
    assert np.sign(middle(name)[0, 3]) == (-1 if name == "orbit_left" else 1)


@pytest.mark.parametrize("name", sorted(set(CAMERAS) - {"static"}))
@pytest.mark.parametrize("wait", [0.5, 1.0, 2.0])
def test_the_camera_stands_still_for_the_wait_and_the_way_is_the_same(name, wait):
    # What is left for the ways is 3 s, whatever the wait.
    path = poses(name, wait=wait, seconds=3.0 + wait)
    moved = np.abs(np.diff(path, axis=0)).max(axis=(1, 2)) > 1e-12
    still = np.flatnonzero(~moved)
    inner = still[(still >= 1.5 * FPS) & (still < (1.5 + wait) * FPS)]
    assert len(inner) == round(wait * FPS)
    ways = path[np.concatenate([[True], moved])]
    reference = poses(name, wait=0.0, seconds=3.0)
    travelled = reference[np.concatenate([[True], np.abs(np.diff(reference, axis=0)).max(axis=(1, 2)) > 1e-12])]
    np.testing.assert_allclose(ways, travelled, atol=1e-9)


def test_axes_are_those_of_opencv():
    pose = look((1.0, 2.0, 3.0), 0.0, 0.0)
    right, down, forward, place = pose[:3].T
    np.testing.assert_allclose([right, down, forward, place], [[1, 0, 0], [0, 0, -1], [0, 1, 0], [1, 2, 3]], atol=1e-15)
    assert look((0, 0, 0), 0.0, 30.0)[2, 2] == pytest.approx(0.5)
    assert look((0, 0, 0), 90.0, 0.0)[0, 2] == pytest.approx(-1)


def test_points_behind_the_camera_have_a_negative_depth_and_points_beside_it_no_nan():
    pixels, depth = project(np.array([[0, -1.0, 0], [1.0, 0, 0], [0, 2.0, 0]]), look((0, 0, 0), 0, 0), np.eye(3))
    np.testing.assert_allclose(depth, [-1, 0, 2], atol=1e-15)
    assert not np.isnan(pixels).any()
    np.testing.assert_allclose(pixels[2], 0, atol=1e-15)


def test_an_unknown_path_is_answered_with_the_nearest_name():
    with pytest.raises(UserError, match="'yaw_left_60'"):
        camera_path("yaw_left_61")
