from __future__ import annotations

import cv2
import numpy as np
import pytest

from lookaway.core import Reason, Unmeasurable
from lookaway.io.sampling import EveryFrame
from lookaway.perception.motion.dis_flow import DisFlow
from lookaway.perception.motion.realised_motion import RealisedMotion
from tests.support.watching import check_documented, perceive_frames

WIDTH, HEIGHT = 320, 240
FLOW = DisFlow(frames=EveryFrame())


def scene(seed: int = 0) -> np.ndarray:
    """A picture with something to see everywhere, larger than a frame."""
    noise = np.random.default_rng(seed).integers(0, 256, (400, 500, 3)).astype(np.float32)
    blurred = cv2.GaussianBlur(noise, (0, 0), 2.5)
    return np.clip((blurred - blurred.mean()) * 5 + 128, 0, 255).astype(np.uint8)


def view(picture: np.ndarray, x: int, y: int) -> np.ndarray:
    return np.ascontiguousarray(picture[y : y + HEIGHT, x : x + WIDTH])


def motion(frames):
    flow = perceive_frames(FLOW, frames)
    return flow, perceive_frames(RealisedMotion(FLOW), frames, {"flow": flow})


def panning(step: int, count: int = 4) -> list[np.ndarray]:
    picture = scene()
    return [view(picture, 40 + step * number, 60) for number in range(count)]


def test_features_hold_what_is_documented():
    flow, split = motion(panning(3))
    check_documented(FLOW, flow)
    check_documented(RealisedMotion(), split)


def test_a_shift_of_the_picture_is_found_to_a_twentieth_of_it():
    flow, _ = motion(panning(3))
    inner = flow["flow"][:, 3:-3, 3:-3].astype(np.float64)
    np.testing.assert_allclose(np.median(inner, axis=(1, 2)), [[-3, 0]] * 3, atol=0.15)


def test_a_moving_camera_before_a_still_scene_is_all_camera():
    _, split = motion(panning(4))
    np.testing.assert_allclose(split["camera"], 4 / HEIGHT * 8, rtol=0.05)
    assert split["moving"].max() < 0.02
    assert split["trusted"].min() > 0.8


def test_nothing_moves_in_a_frozen_video():
    _, split = motion([view(scene(), 40, 60)] * 3)
    assert split["camera"].max() < 1e-3
    assert split["moving"].max() == 0


def test_a_thing_that_moves_by_itself_is_scene_and_not_camera():
    frames = []
    for number in range(4):
        frame = view(scene(), 40, 60).copy()
        left = 100 + 5 * number
        frame[80:160, left : left + 90] = scene(1)[:80, :90]
        frames.append(frame)
    _, split = motion(frames)
    assert split["camera"].max() < 0.02
    assert split["scene"].min() > 0.005
    share = 80 * 90 / (WIDTH * HEIGHT)
    np.testing.assert_allclose(split["moving"], share, rtol=0.35)


def test_a_moving_thing_does_not_pull_the_camera_along():
    frames = panning(4)
    for number, frame in enumerate(frames):
        frame[80:180, 60 + 9 * number : 160 + 9 * number] = scene(1)[:100, :100]
    _, split = motion(frames)
    np.testing.assert_allclose(split["camera"], 4 / HEIGHT * 8, rtol=0.1)


def test_a_flat_wall_tells_nothing_and_is_not_trusted():
    _, split = motion([np.full((HEIGHT, WIDTH, 3), 90, np.uint8)] * 3)
    assert split["trusted"].max() == split["camera"].max() == split["scene"].max() == 0


def test_two_pictures_that_have_nothing_in_common_are_hardly_trusted():
    _, split = motion([view(scene(seed), 40, 60) for seed in range(3)])
    assert split["trusted"].max() < 0.2


def test_brightness_alone_moves_nothing():
    picture = view(scene(), 40, 60)
    _, split = motion([picture, np.clip(picture.astype(int) + 12, 0, 255).astype(np.uint8)])
    assert split["camera"].max() < 0.02
    assert split["moving"].max() < 0.05


def test_speeds_are_counted_in_seconds_not_in_frames():
    fast, slow = motion(panning(4))[1], motion(panning(2))[1]
    np.testing.assert_allclose(fast["camera"] / slow["camera"], 2, rtol=0.1)


def test_one_frame_has_no_motion():
    with pytest.raises(Unmeasurable, match="two frames") as declined:
        perceive_frames(FLOW, panning(3, count=1))
    assert declined.value.reason is Reason.TOO_SHORT


def warped(matrix: np.ndarray) -> np.ndarray:
    """The middle of the picture, seen through a matrix about its own middle."""
    picture = scene()
    return view(cv2.warpAffine(picture, matrix, picture.shape[1::-1], borderMode=cv2.BORDER_REFLECT), 90, 80)


def turned_and_grown(degrees: float, scale: float) -> np.ndarray:
    return cv2.getRotationMatrix2D((90 + WIDTH / 2, 80 + HEIGHT / 2), degrees, scale)


def test_the_shift_of_the_picture_has_its_direction():
    _, split = motion(panning(4))
    np.testing.assert_allclose(split["shift"], [[-4 / HEIGHT, 0]] * 3, atol=2e-3)
    assert np.abs(split["zoom"]).max() < 5e-3
    assert np.abs(split["roll"]).max() < 5e-3


def test_a_picture_that_grows_zooms_and_hardly_shifts():
    _, split = motion([warped(turned_and_grown(0, scale)) for scale in (1.0, 1.04)])
    np.testing.assert_allclose(split["zoom"], 0.04, atol=5e-3)
    assert np.abs(split["shift"]).max() < 5e-3
    assert np.abs(split["roll"]).max() < 5e-3


def test_a_picture_that_turns_rolls_and_hardly_shifts():
    _, split = motion([warped(turned_and_grown(degrees, 1.0)) for degrees in (0.0, -2.0)])
    np.testing.assert_allclose(split["roll"], np.radians(2), atol=5e-3)
    assert np.abs(split["shift"]).max() < 5e-3


def test_ground_that_slides_by_neither_zooms_nor_rolls():
    sheared = np.array([[1.0, 0.04, -0.04 * (80 + HEIGHT / 2)], [0.0, 1.0, 0.0]])
    _, split = motion([warped(np.eye(2, 3)), warped(sheared)])
    assert np.abs(split["zoom"]).max() < 5e-3
    assert np.abs(split["roll"]).max() < 5e-3
