from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from lookaway.world.clip import build_clip
from lookaway.world.states import StateTable
from lookaway.world.turns import between_frames, quaternion, quaternion_from_degrees, rotation, steps
from tests.support.scenes import small_recipe

COLUMNS = [field.name for field in fields(StateTable)]


@pytest.fixture(scope="module")
def table() -> StateTable:
    return build_clip(small_recipe()).table


@pytest.mark.parametrize("column", COLUMNS)
def test_the_key_of_a_row_changes_with_all_that_is_drawn_and_with_nothing_else(table, column):
    row = table.take(np.array([3]))
    other = row.edited(**{column: getattr(row, column) + 1e-9})
    assert (other.drawn_key() == row.drawn_key()) == (column in ("progress", "time"))


def test_two_rows_with_the_same_numbers_have_one_key(table):
    zeros = table.take(np.array([0])).edited(style=np.zeros(1))
    assert zeros.drawn_key() == zeros.edited(style=-np.zeros(1)).drawn_key()


def test_rows_are_the_table(table):
    rows = list(table.rows())
    assert len(rows) == len(table)
    for column in COLUMNS:
        np.testing.assert_array_equal(np.concatenate([getattr(row, column) for row in rows]), getattr(table, column))


def test_an_edit_leaves_the_table_alone(table):
    before = table.drawn_key()
    table.edited(opacity=np.zeros_like(table.opacity))
    assert table.drawn_key() == before


def test_copies_wait_unseen(table):
    scene = build_clip(small_recipe()).scene
    roles = np.array([thing.role for thing in scene.things])
    np.testing.assert_array_equal(table.opacity[:, roles == "copy"], 0)
    np.testing.assert_array_equal(table.opacity[:, roles != "copy"], 1)


def test_a_turn_about_three_axes_is_done_in_their_order():
    turned = rotation(quaternion_from_degrees((90, 0, 90))).apply([0, 1, 0])
    np.testing.assert_allclose(turned, [0, 0, 1], atol=1e-15)


def test_equal_turns_have_equal_numbers():
    turn = rotation(np.array([-0.6, 0, 0.8, 0]))
    np.testing.assert_allclose(quaternion(turn), [0.6, 0, -0.8, 0], atol=1e-15)


def test_a_track_is_read_between_its_frames():
    track = np.stack([quaternion_from_degrees((0, 0, degrees)) for degrees in (0, 40, 60)])
    read = between_frames(track, np.array([0.5, 1.0, 1.5, 9.0]))
    np.testing.assert_allclose(np.degrees(rotation(read).magnitude()), [20, 40, 50, 60], atol=1e-9)
    np.testing.assert_array_equal(between_frames(track[:1], np.array([0.0, 3.0])), np.repeat(track[:1], 2, axis=0))


def test_the_steps_of_a_path_lead_along_it(table):
    turns, moves = steps(table.camera)
    pose = table.camera[0].copy()
    for turn, move in zip(turns.as_matrix(), moves, strict=True):
        pose[:3, 3] += pose[:3, :3] @ move
        pose[:3, :3] = pose[:3, :3] @ turn
    np.testing.assert_allclose(pose, table.camera[-1], atol=1e-12)
