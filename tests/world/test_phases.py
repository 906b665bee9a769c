from __future__ import annotations

import numpy as np
import pytest

from lookaway.world.clip import build_clip
from lookaway.world.drawing import intrinsics
from lookaway.world.phases import Phases, find_phases
from tests.support.scenes import small_recipe

WIDTH, HEIGHT = 224, 128


def mask(kind: str) -> np.ndarray:
    """`.` unseen, `x` whole, `|` cut off by the edge."""
    drawn = np.zeros((HEIGHT, WIDTH), bool)
    if kind != ".":
        drawn[40:60, 0 if kind == "|" else 20 : 40] = True
    return drawn


def phases(kinds: str, *, camera: str = "static", opacity: float = 1.0) -> Phases:
    clip = build_clip(small_recipe(camera=camera, event="none"))
    table = clip.table.edited(opacity=clip.table.opacity * opacity)
    return find_phases([mask(kind) for kind in kinds], table, clip.scene, intrinsics(WIDTH, HEIGHT))


@pytest.mark.parametrize(
    ("kinds", "d_start", "r_start"),
    [
        ("xx|....|xx", 3, 8),
        ("xx....xxxx", 2, 6),
        ("xx.x....xx", 4, 8),
        ("xxxxxxxxxx", 10, 10),
        ("xxxx......", 4, 10),
        ("xx|...||||", 3, 10),
        ("....xxxxxx", 0, 4),
    ],
    ids=[
        "cut on the way",
        "at once",
        "the longest absence",
        "never lost",
        "never back",
        "never whole",
        "lost at first",
    ],
)
def test_boundaries_are_found_in_the_masks(kinds, d_start, r_start):
    found = phases(kinds)
    assert (found.d_start, found.r_start, found.frames) == (d_start, r_start, 10)
    assert found.is_lost == (d_start < 10)
    assert found.returns == (r_start < 10)


def test_a_target_that_is_in_view_but_not_seen_is_occluded():
    assert set(phases("xx....xxxx").causes) == {"visible", "occluded"}


def test_a_target_that_the_camera_has_left_is_out_of_view():
    causes = phases("." * 24, camera="u_turn").causes
    assert causes[0] == "occluded"
    assert causes[12] == "out_of_view"


def test_a_target_that_is_not_there_is_absent():
    assert set(phases("xx....xxxx", opacity=0.2).causes) == {"visible", "absent"}


def test_the_cause_is_sought_where_a_turned_target_is():
    clip = build_clip(small_recipe(camera="static", event="none"))
    table = clip.table
    part, turn = table.part_position.copy(), table.quaternion.copy()
    part[:, 0] = (5.0, 0, 0)  # far to the right of its origin; turned by 90 degrees, far behind it
    turn[12:, 0] = (np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    turn[:12, 0] = (1, 0, 0, 0)
    moved = table.edited(part_position=part, quaternion=turn)
    found = find_phases([mask(".")] * 24, moved, clip.scene, intrinsics(WIDTH, HEIGHT))
    assert found.causes == ("out_of_view",) * 12 + ("occluded",) * 12
