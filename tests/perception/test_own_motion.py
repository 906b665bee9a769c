from __future__ import annotations

from statistics import median

import cv2
import numpy as np
import pytest

from lookaway.core import Trajectory
from lookaway.engine.reading import read
from lookaway.io.pictures import picture_pixels
from lookaway.metrics.revisit_numbers import Remembered
from lookaway.metrics.revisit_pairs import RevisitPairs
from lookaway.perception.poses.tracked_poses import TrackedPoses
from lookaway.perception.revisit.change_map import find_changes
from lookaway.perception.revisit.own_motion import PairLimits, VisitFrames, choose_visit_frames, set_aside
from lookaway.perception.revisit.revisit_changes import RevisitChanges
from lookaway.world.grid import Grid
from lookaway.world.recipe import ClipRecipe
from tests.support import panorama
from tests.support.rendered import copy_clips
from tests.support.watching import check_documented, perceive, perceive_frames

LIMITS = PairLimits()
RECIPE = RevisitChanges(poses=TrackedPoses(), pairs=RevisitPairs())
DEGREES = (0, 0, 0, *panorama.OUT_AND_BACK[1:-1], 0, 0, 0)
LEFT, TOP = panorama.WIDE[0] // 2 + 20, panorama.WIDE[1] // 2
"""A place of the backdrop that the first frames show on their right side, which leaves the view."""
COLOURS = ((150, 60, 60), (60, 110, 150))
AWAY = int(np.argmax(DEGREES))


def seen(paint):
    """What is found where `paint` changes the backdrop of each frame."""
    shown = []
    for frame in range(len(DEGREES)):
        backdrop = panorama.backdrop()
        paint(backdrop, frame)
        shown.append(panorama.pictures(DEGREES[frame : frame + 1], backdrop)[0])
    return perceive_frames(RECIPE, shown, {"poses": panorama.poses(DEGREES)})


def patch(backdrop, colour, width=30, left=LEFT):
    backdrop[TOP - 12 : TOP + 12, left : left + width] = colour


def flicker(backdrop, frame):
    """Another colour in every frame; first visit and return differ as well."""
    patch(backdrop, COLOURS[(frame + (frame >= AWAY)) % 2])


def test_a_place_that_changes_within_both_visits_is_set_aside():
    found = seen(flicker)
    check_documented(RECIPE, found)
    assert found["changed_area"].max() == 0
    assert 2 < found["set_aside"].max() < 30


def test_a_place_that_changes_between_the_visits_alone_is_not_set_aside():
    found = seen(lambda backdrop, frame: patch(backdrop, COLOURS[frame >= AWAY]))
    assert found["changed_area"].min() > 2
    assert found["set_aside"].max() == 0


@pytest.mark.parametrize("is_first", [True, False])
def test_a_place_that_changes_within_one_visit_alone_is_not_set_aside(is_first):
    def paint(backdrop, frame):
        is_moving = (frame < AWAY) == is_first
        patch(backdrop, COLOURS[frame % 2] if is_moving else (40, 170, 40))

    found = seen(paint)
    assert found["changed_area"].min() > 2
    assert found["set_aside"].max() < 2  # edges of the patch, at this size


def test_what_changed_much_more_than_it_does_by_itself_is_not_set_aside():
    def paint(backdrop, frame):
        level = 12 * (frame % 2)
        patch(backdrop, (200, 40 + level, 40) if frame < AWAY else (40, 200 - level, 200))

    assert seen(paint)["changed_area"].min() > 2


def test_what_is_set_aside_is_striped_in_the_picture():
    found = seen(flicker)
    pair = int(found["set_aside"].argmax())
    start, stop = found["offsets"][pair : pair + 2]
    _, back, marked = np.split(
        np.delete(
            picture_pixels(found["pictures"][start:stop].tobytes()),
            [*range(panorama.WIDTH, panorama.WIDTH + 4), *range(2 * panorama.WIDTH + 4, 2 * panorama.WIDTH + 8)],
            axis=1,
        ),
        3,
        axis=1,
    )
    rows, columns = np.nonzero(np.abs(back.astype(int) - marked).max(axis=-1)[:, 90:] > 25)
    assert abs(rows.mean() - panorama.HEIGHT / 2) < 15
    assert columns.size > 20


def still_changes():
    backdrop = panorama.backdrop()
    first = backdrop[:108, :192].copy()
    second = first.copy()
    second[40:60, 100:130] = (220, 30, 30)
    return find_changes(cv2, [first], second, np.ones(first.shape[:2], bool), LIMITS.changes)


def test_where_nothing_moves_by_itself_changes_are_those_of_the_two_visits_bit_by_bit():
    changes = still_changes()
    none = np.zeros(changes.mask.shape, np.float32)
    found = set_aside(cv2, changes, (none, none), np.eye(3), LIMITS)
    assert changes.changed.any()
    assert found.changed.tobytes() == changes.changed.tobytes()
    assert not found.aside.any()


def test_motion_near_a_place_counts_in_one_visit_and_not_in_both():
    changes = still_changes()
    at, beside = (np.zeros(changes.mask.shape, np.float32) for _ in range(2))
    at[36:64, 96:134] = beside[36:64, 140:150] = 200.0
    assert not set_aside(cv2, changes, (at, beside), np.eye(3), LIMITS).changed[:, 130:].any()
    assert set_aside(cv2, changes, (beside, beside), np.eye(3), LIMITS).changed.any()


def test_frames_of_a_visit_are_those_before_the_view_is_left_and_after_the_return():
    trajectory = Trajectory.from_feature(panorama.poses(DEGREES))
    last = len(DEGREES) - 1
    found = choose_visit_frames(trajectory, 1, last, LIMITS.part, LIMITS.own_motion)
    assert len(found.first) == len(found.second) == 4
    assert max(found.first) < AWAY < min(found.second)
    assert 1 not in found.first
    assert last not in found.second
    assert choose_visit_frames(trajectory, last - 1, last, LIMITS.part, LIMITS.own_motion) == VisitFrames()


@pytest.mark.merge
def test_moving_water_is_no_change_and_a_boat_that_vanished_from_it_is(tmp_path):
    form = ClipRecipe(family="", event="none", camera="", seed=0, width=448, height=256, fps=12, seconds=3.0)
    grid = Grid(
        families=("pond",),
        events=("none",),
        cameras=("yaw_left_60",),
        seeds=(0,),
        faults=("vanish",),
        severities=(1.0,),
    )
    rollouts = read(copy_clips(grid.recipes(form), tmp_path), suite="revisit").rollouts
    found = {rollout.model: perceive(RECIPE, rollout) for rollout in rollouts}
    areas = {model: median(changes["changed_area"].tolist()) for model, changes in found.items()}
    limit = Remembered().max_changed_area
    assert areas["perfect"] <= limit < 2 * limit < areas["vanish-1.00"]
    assert found["perfect"]["set_aside"].max() > 5
