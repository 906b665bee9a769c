from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.io.camera_steps import camera_steps, timed_action
from lookaway.world.cameras import CAMERAS, Viewpoint
from lookaway.world.exports.conventions import (
    inverse,
    poses,
    to_camera_track,
    to_colmap,
    to_first_camera,
    to_unreal,
    yaw_degrees,
)
from lookaway.world.turns import look
from tests.support.pose_conventions import from_camera_track, from_colmap, from_first_camera, from_unreal


def anywhere(count: int = 40) -> np.ndarray:
    rng = np.random.default_rng(5)
    return poses(Rotation.random(count, random_state=5).as_matrix(), rng.uniform(-4, 4, (count, 3)))


def rolled(degrees: float) -> np.ndarray:
    """A camera whose right side has sunk."""
    pose = look((0, 0, 0), 0, 0)
    pose[:3, :3] = pose[:3, :3] @ Rotation.from_euler("z", degrees, degrees=True).as_matrix()
    return pose


def path(name: str, *, frames: int = 36, fps: int = 12, wait: float = 1.0) -> np.ndarray:
    view = Viewpoint(distance=2, eye_height=0.9, target_height=0.2, aspect=1.75)
    return CAMERAS[name].cameras(view, np.arange(frames) / fps, frames / fps, wait)


@pytest.mark.parametrize(
    ("there", "back"), [(to_unreal, from_unreal), (to_colmap, from_colmap), (to_camera_track, from_camera_track)]
)
def test_poses_come_back_from_every_convention(there, back):
    assert np.abs(back(*there(anywhere())) - anywhere()).max() < 1e-12


def test_poses_come_back_from_the_axes_of_the_first_camera():
    relative = to_first_camera(anywhere(), anywhere()[0])
    assert np.abs(relative[0] - np.eye(4)).max() < 1e-12
    assert np.abs(from_first_camera(relative, anywhere()[0]) - anywhere()).max() < 1e-12


def test_a_pose_and_its_inverse_undo_each_other():
    assert np.abs(inverse(anywhere()) @ anywhere() - np.eye(4)).max() < 1e-12


@pytest.mark.parametrize(
    ("camera", "location", "roll_pitch_yaw"),
    [
        (look((0, 0, 0), 0, 0), (0, 0, 0), (0, 0, 0)),
        (look((1, 0, 0), 0, 0), (0, 100, 0), (0, 0, 0)),  # a metre to the right
        (look((0, 2, 0), 0, 0), (200, 0, 0), (0, 0, 0)),  # two metres ahead
        (look((0, 0, 1.5), 0, 0), (0, 0, 150), (0, 0, 0)),
        (look((0, 0, 0), -90, 0), (0, 0, 0), (0, 0, 90)),  # looks right
        (look((0, 0, 0), 30, 0), (0, 0, 0), (0, 0, -30)),  # looks left
        (look((0, 0, 0), 0, 10), (0, 0, 0), (0, 10, 0)),  # looks up
        (rolled(20), (0, 0, 0), (20, 0, 0)),
    ],
)
def test_unreal_counts_centimetres_forward_right_up_and_turns_right(camera, location, roll_pitch_yaw):
    found = to_unreal(camera[None])
    assert found[0][0] == pytest.approx(location, abs=1e-9)
    assert found[1][0] == pytest.approx(roll_pitch_yaw, abs=1e-9)


def test_colmap_turns_the_world_into_the_camera():
    quaternions, translations = to_colmap(look((1, 0, 0), 0, 0)[None])
    # Forward is our y and down our -z: a quarter turn about x. The world's origin lies a metre to the left.
    assert quaternions[0] == pytest.approx([math.sqrt(0.5), math.sqrt(0.5), 0, 0])
    assert translations[0] == pytest.approx([-1, 0, 0], abs=1e-12)


def test_the_camera_track_is_what_its_reader_turns_clockwise():
    location, radians = to_camera_track(look((1, 2, 3), 0, 0)[None])
    assert location[0] == pytest.approx([1, 2, 3])
    assert radians[0] == pytest.approx([-math.pi / 2, 0, 0], abs=1e-12)


def test_the_reader_of_camera_tracks_finds_our_poses():
    for camera, location, (x, y, z) in zip(anywhere(), *to_camera_track(anywhere()), strict=True):
        about_x = np.array([[1, 0, 0], [0, math.cos(x), math.sin(x)], [0, -math.sin(x), math.cos(x)]])
        about_y = np.array([[math.cos(y), 0, -math.sin(y)], [0, 1, 0], [math.sin(y), 0, math.cos(y)]])
        about_z = np.array([[math.cos(z), math.sin(z), 0], [-math.sin(z), math.cos(z), 0], [0, 0, 1]])
        read = about_z @ about_y @ about_x @ np.diag([1, -1, -1])
        assert np.abs(read - camera[:3, :3]).max() < 1e-12
        assert location == pytest.approx(camera[:3, 3])


def test_right_of_the_first_camera_is_x_and_ahead_is_z():
    first = look((5, 1, 1), 90, 0)  # looks along -x; its right is +y
    moved = look((5, 2, 1), 90, 0), look((4.5, 1, 1), 90, 0), look((5, 1, 1.25), 90, 0)
    relative = to_first_camera(np.stack(moved), first)
    assert relative[:, :3, 3] == pytest.approx(np.array([[1, 0, 0], [0, 0, 0.5], [0, -0.25, 0]]), abs=1e-12)


def test_yaw_is_negative_to_the_left_and_positive_to_the_right():
    turned = np.stack([look((0, 0, 0), degrees, 0) for degrees in (20, 80, -10)])
    assert yaw_degrees(to_first_camera(turned, turned[0])) == pytest.approx([0, -60, 30], abs=1e-9)


@pytest.mark.parametrize(
    ("camera", "out", "back"),
    [
        ("yaw_left_60", {"lr": 1}, {"lr": 2}),
        ("yaw_right_30", {"lr": 2}, {"lr": 1}),
        ("pan_left", {"ad": 1}, {"ad": 2}),
        ("pan_right", {"ad": 2}, {"ad": 1}),
        ("tilt_up", {"ud": 1}, {"ud": 2}),
        ("forward_backward", {"ws": 1}, {"ws": 2}),
        ("orbit_left", {"ad": 1, "lr": 2}, {"ad": 2, "lr": 1}),
        ("full_turn", {"lr": 2}, {"lr": 2}),
    ],
)
def test_keys_are_held_on_the_way_out_and_on_the_way_back(camera, out, back):
    nothing = {"ws": 0, "ad": 0, "ud": 0, "lr": 0}
    expected = [nothing] * 6 + [nothing | out] * 6 + [nothing] * 12 + [nothing | back] * 6 + [nothing] * 5
    assert camera_steps(path(camera)).held_keys() == expected


def test_an_action_waits_while_the_camera_does():
    words = camera_steps(path("yaw_left_60", frames=80, fps=16)).words()
    assert timed_action(words) == "wait_then_left_then_wait_then_right_then_wait"


@pytest.mark.parametrize("frames", [36, 50, 81, 97, 240])
def test_an_action_asks_for_nothing_that_the_camera_does_not_do(frames):
    words = camera_steps(path("forward_backward", frames=frames, fps=frames // 3)).words()
    phases = timed_action(words).split("_then_")
    asked = [phases[int((step + 0.5) / len(words) * len(phases))] for step in range(len(words))]
    scored = [(want, word) for want, word in zip(asked, words, strict=True) if want != "wait"]
    assert sum(want == word for want, word in scored) >= 0.9 * len(scored)
    for word in ("forward", "backward"):
        assert sum(want == word for want, _ in scored) >= 0.6 * words.count(word)
