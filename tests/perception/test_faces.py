from __future__ import annotations

import cv2
import numpy as np
import pytest

from lookaway.perception.faces import Found, aligned
from lookaway.perception.faces.detection import Choice, boxed, cells
from lookaway.perception.faces.recognition import TEMPLATE

UPRIGHT = np.stack([TEMPLATE.real, TEMPLATE.imag], axis=1)


def found(*boxes: tuple[float, float, float, float], scores: list[float]) -> Found:
    return Found(np.array(boxes, np.float32), np.zeros((len(boxes), 5, 2), np.float32), np.array(scores, np.float32))


def test_of_two_that_cover_each_other_the_surer_stays():
    kept = Choice(0.5, 0.4, 9)(found((0, 0, 10, 10), (1, 0, 11, 10), (50, 0, 60, 10), scores=[0.7, 0.9, 0.6]))
    assert kept.boxes[:, 0].tolist() == [1, 50]
    assert kept.scores.tolist() == pytest.approx([0.9, 0.6])


def test_neighbours_that_share_little_both_stay():
    # They share 5 x 10 of 15 x 10: a third.
    side_by_side = found((0, 0, 10, 10), (5, 0, 15, 10), scores=[0.7, 0.9])
    assert len(Choice(0.5, 0.34, 9)(side_by_side).scores) == 2
    assert len(Choice(0.5, 0.33, 9)(side_by_side).scores) == 1


def test_the_unsure_are_left_out_and_the_surest_are_kept():
    many = found(*((20 * n, 0, 20 * n + 10, 10) for n in range(4)), scores=[0.6, 0.49, 0.9, 0.7])
    assert Choice(0.5, 0.4, 2)(many).scores.tolist() == pytest.approx([0.9, 0.7])
    assert Choice(0.95, 0.4, 2)(many).boxes.shape == (0, 4)


def test_a_find_without_area_ends_the_search_all_the_same():
    assert len(Choice(0.5, 0.4, 9)(found((5, 5, 5, 5), (5, 5, 5, 5), scores=[0.9, 0.8])).scores) == 2


def test_cells_go_row_by_row():
    assert cells(64, 32).tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]


def test_a_wide_picture_fills_the_width_of_the_square_and_the_rest_is_black():
    square, scale = boxed(cv2, np.full((30, 60, 3), 200, np.uint8), 64)
    assert scale == pytest.approx(64 / 60)
    assert (square[:32] == 200).all()
    assert not square[32:].any()


def test_an_upright_face_stays_as_it_is():
    picture = np.random.default_rng(0).integers(0, 256, (112, 112, 3), np.uint8)
    np.testing.assert_array_equal(aligned(cv2, picture, UPRIGHT), picture)


@pytest.mark.parametrize("degrees", [-140, 35])
def test_a_turned_enlarged_and_moved_face_is_brought_upright(degrees):
    picture = cv2.GaussianBlur(np.random.default_rng(0).integers(0, 256, (112, 112, 3), np.uint8), (0, 0), 6)
    turn = 1.7 * np.exp(1j * np.radians(degrees))
    centre = 56 + 56j
    points = (TEMPLATE - centre) * turn + 200 + 180j
    matrix = np.array([[turn.real, -turn.imag, 0], [turn.imag, turn.real, 0]])
    matrix[:, 2] = [200, 180] - matrix[:, :2] @ [56, 56]
    scene = cv2.warpAffine(picture, matrix, (400, 400))
    face = aligned(cv2, scene, np.stack([points.real, points.imag], axis=1))
    # OpenCV places pixels in steps of 1/32; at the corners the scene was cut.
    assert np.abs(face.astype(int) - picture)[2:-2, 2:-2].max() <= 4
