from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lookaway.world.clip import build_scene
from lookaway.world.faults.target import lowest_points
from lookaway.world.nouns import Scene
from lookaway.world.physics import simulate
from lookaway.world.states import still_table
from lookaway.world.turns import rotation
from tests.support.scenes import RADIUS

FPS, SECONDS = 24, 3.0
FRAMES = int(FPS * SECONDS)


def simulated(scene: Scene, direction: float = 1.0, frames: int = FRAMES) -> tuple[np.ndarray, np.ndarray]:
    return simulate(scene, direction, frames, FPS, SECONDS)


def lowest(scene: Scene, places: np.ndarray, turns: np.ndarray) -> np.ndarray:
    table = still_table(scene, np.tile(np.eye(4), (len(places), 1, 1)), np.zeros(len(places)))
    position, quaternion = table.position.copy(), table.quaternion.copy()
    position[:, 0], quaternion[:, 0] = places, turns
    return lowest_points(table.edited(position=position, quaternion=quaternion), scene)


@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_a_ball_rolls_without_slipping(direction):
    scene = build_scene("test_room", 0)
    places, turns = simulated(scene, direction)
    way = np.linalg.norm(np.diff(places[:, :2], axis=0), axis=1)
    spins = (rotation(turns[1:]) * rotation(turns[:-1]).inv()).as_rotvec()
    np.testing.assert_allclose(np.linalg.norm(spins, axis=1) * RADIUS, way, rtol=0.02, atol=1e-4)
    # To the right is a turn about +y: the top goes ahead.
    assert np.sign(spins[0, 1]) == direction
    assert abs(spins[:, 1]).sum() > 50 * abs(spins[:, [0, 2]]).sum()
    assert direction * places[-1, 0] == pytest.approx(scene.motion.travel, rel=0.1)


def test_a_thing_slides_about_its_way_and_then_rests():
    scene = build_scene("test_sliding", 0)
    places, _ = simulated(scene)
    assert places[-1, 0] == pytest.approx(scene.motion.travel, rel=0.08)
    np.testing.assert_allclose(places[-3:], np.broadcast_to(places[-1], (3, 3)), atol=2e-3)
    assert abs(places[:, 1]).max() < 0.02


def test_a_thing_that_falls_lands_and_rests():
    scene = build_scene("test_falling", 0)
    places, turns = simulated(scene, frames=3 * FRAMES)
    heights = lowest(scene, places, turns)
    assert heights[0] == pytest.approx(0.3, abs=1e-6)
    assert abs(heights[-1]) < 0.01
    np.testing.assert_allclose(places[-5:], np.broadcast_to(places[-1], (5, 3)), atol=2e-3)


@pytest.mark.parametrize("family", ["test_room", "test_sliding", "test_falling"])
@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_nothing_goes_through_the_floor(family, direction):
    scene = build_scene(family, 1)
    assert lowest(scene, *simulated(scene, direction)).min() > -0.015


def test_nothing_goes_through_a_wall_in_its_way():
    scene = build_scene("test_room", 0)
    fast = replace(scene, motion=replace(scene.motion, travel=12.0))
    places, _ = simulated(fast)
    assert places[:, 0].max() < 3.5 - RADIUS + 0.02


def test_the_same_push_is_the_same_motion_to_the_last_bit():
    first, again = (simulated(build_scene("test_falling", 2)) for _ in range(2))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])


def test_quaternions_have_length_1_and_one_sign():
    _, turns = simulated(build_scene("test_falling", 0))
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1, atol=1e-9)
    assert (turns[:, 0] >= 0).all()


def test_more_frames_to_the_second_see_the_same_motion():
    scene = build_scene("test_sliding", 0)
    coarse, _ = simulate(scene, 1.0, 24, 8, SECONDS)
    fine, _ = simulate(scene, 1.0, 72, 24, SECONDS)
    np.testing.assert_allclose(fine[::3], coarse, atol=1e-9)
