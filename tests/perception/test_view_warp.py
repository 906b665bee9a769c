from __future__ import annotations

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.perception.similarity.warped_similarity import PosedPicture, warped_onto

WIDTH, HEIGHT = 64, 48
WHOLE = (slice(0, HEIGHT), slice(0, WIDTH))
LENS = np.array([[60.0, 0, 33], [0, 58, 23], [0, 0, 1]])
OTHER_LENS = np.array([[50.0, 0.5, 30], [0, 52, 25], [0, 0, 1]])
RAMP = np.add.outer(2 * np.arange(HEIGHT) + 1.0, 1.5 * np.arange(WIDTH) + 0.75).astype(np.float32)
"""At (x, y), counted from the corner, 1.5 x + 2 y: between pixels, too."""


def pose(degrees=(0, 0, 0), centre=(0, 0, 0)):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_euler("yxz", degrees, degrees=True).as_matrix()
    matrix[:3, 3] = centre
    return matrix


def grid(width, height):
    """[height, width, 3] places of pixels in a picture of the full size, counted from its corner."""
    x, y = (np.arange(width) + 0.5) * WIDTH / width, (np.arange(height) + 0.5) * HEIGHT / height
    return np.stack([*np.meshgrid(x, y), np.ones((height, width))], axis=-1)


def plane_depth(normal, distance, width=WIDTH, height=HEIGHT):
    """Depth of the plane normal . X = distance, in the first camera."""
    return distance / (grid(width, height) @ np.linalg.inv(LENS).T @ np.asarray(normal, float))


def by_homography(normal, distance, first, second):
    """Where the second camera sees the points of the plane."""
    motion = np.linalg.inv(second) @ first
    induced = motion[:3, :3] + np.outer(motion[:3, 3], np.asarray(normal, float) / distance)
    points = grid(WIDTH, HEIGHT) @ (OTHER_LENS @ induced @ np.linalg.inv(LENS)).T
    return points[..., :2] / points[..., 2:]


def warp(depth, second, *, first=None, picture=RAMP, area=WHOLE, lens=OTHER_LENS):
    onto = PosedPicture(np.zeros((HEIGHT, WIDTH), np.float32), pose() if first is None else first, LENS)
    return warped_onto(cv2, onto, depth, PosedPicture(picture, second, lens), area)


@pytest.mark.parametrize("normal", [(0, 0, 1), (0.3, -0.2, 1)])
@pytest.mark.parametrize("step", [1, 4])
def test_a_plane_is_seen_where_its_homography_says(normal, step):
    first, second = pose((10, 4, 0), (1, 2, 3)), pose((16, 1, 5), (1.3, 2.1, 2.8))
    depth = plane_depth(normal, 4.0, WIDTH // step, HEIGHT // step)
    warped, is_valid = warp(depth, second, first=first)
    places = by_homography(normal, 4.0, first, second)
    is_inside = ((places > 0.501) & (places < [WIDTH - 0.501, HEIGHT - 0.501])).all(axis=-1)
    inner = np.zeros_like(is_inside)
    inner[4:-4, 4:-4] = True
    assert (is_valid == is_inside)[inner].all()
    assert 500 < (is_valid & inner).sum() < WIDTH * HEIGHT
    expected = places @ [1.5, 2.0]
    assert np.abs(warped - expected)[is_valid & inner].max() < 1e-3


def test_a_camera_that_has_not_moved_sees_every_pixel_where_it_was():
    picture = np.random.default_rng(0).uniform(0, 255, (HEIGHT, WIDTH)).astype(np.float32)
    place = pose((20, -5, 3), (4, 5, 6))
    warped, is_valid = warp(np.full((12, 16), 2.7, np.float16), place, first=place, picture=picture, lens=LENS)
    assert is_valid.all()
    np.testing.assert_allclose(warped, picture, atol=1e-2)


def test_an_area_is_a_part_of_the_whole():
    second, depth = pose((3, 1, 0), (0.1, 0, 0)), plane_depth((0.1, 0, 1), 3.0)
    whole, is_valid = warp(depth, second)
    area = (slice(7, 30), slice(20, 41))
    part, is_valid_part = warp(depth, second, area=area)
    np.testing.assert_allclose(part, whole[area], atol=1e-4)
    np.testing.assert_array_equal(is_valid_part, is_valid[area])


def test_a_step_to_the_right_moves_near_things_to_the_left_more_than_far_ones():
    shifts = []
    for depth in (2.0, 8.0):
        warped, is_valid = warp(np.full((HEIGHT, WIDTH), depth), pose(centre=(0.4, 0, 0)), lens=LENS)
        shifts.append(((warped - RAMP) / 1.5)[is_valid].mean())
    assert shifts == pytest.approx([-60 * 0.4 / 2, -60 * 0.4 / 8], abs=1e-3)


@pytest.mark.parametrize(("centre", "shape"), [((0.4, 0, 0), (0, 12)), ((0, 0.5, 0), (15, 0))])
def test_just_what_leaves_the_picture_is_not_seen(centre, shape):
    square = np.array([[60.0, 0, 32], [0, 60, 24], [0, 0, 1]])
    for each in (centre, tuple(-part for part in centre)):
        onto, seen = (PosedPicture(RAMP, camera, square) for camera in (pose(), pose(centre=each)))
        _, is_valid = warped_onto(cv2, onto, np.full((HEIGHT, WIDTH), 2.0), seen, WHOLE)
        assert is_valid.sum() == (HEIGHT - shape[0]) * (WIDTH - shape[1])


def test_what_is_behind_the_other_camera_or_beside_its_picture_is_not_seen():
    for second in (pose((180, 0, 0)), pose((90, 0, 0)), pose(centre=(0, 0, 5)), pose(centre=(50, 0, 0))):
        warped, is_valid = warp(np.full((HEIGHT, WIDTH), 3.0), second)
        assert not is_valid.any()
        assert np.isfinite(warped).all()


@pytest.mark.parametrize("unknown", [0.0, -1.0, np.nan, np.inf])
def test_where_depth_is_unknown_nothing_is_seen_and_nothing_else_is_touched(unknown):
    depth = np.full((HEIGHT, WIDTH), 3.0)
    before, _ = warp(depth, pose(), lens=LENS)
    depth[10:20, 30:40] = unknown
    warped, is_valid = warp(depth, pose(), lens=LENS)
    assert not is_valid[10:20, 30:40].any()
    assert is_valid.sum() == WIDTH * HEIGHT - 100
    np.testing.assert_array_equal(warped[is_valid], before[is_valid])


def test_depth_of_half_the_size_that_is_unknown_makes_all_pixels_unknown_that_it_reaches():
    depth = np.full((HEIGHT // 2, WIDTH // 2), 3.0)
    depth[5, 6] = 0
    _, is_valid = warp(depth, pose(), lens=LENS)
    assert not is_valid[9:13, 11:15].any()
    assert is_valid.sum() == WIDTH * HEIGHT - 16
