from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Trajectory, ViewGrid, find_visits, revisited_points, view_overlaps
from tests.support import panorama


def path_of(degrees, centres=None):
    trajectory = Trajectory.from_feature(panorama.poses(tuple(degrees)))
    if centres is not None:
        trajectory.camera_to_world[:, :3, 3] = centres
    return trajectory


def test_a_camera_that_turns_away_and_back_revisits_all_that_left_the_view():
    visits = find_visits(path_of(panorama.OUT_AND_BACK), ViewGrid())
    # At 48 degrees, the left 65-degree view still shows what lies within 17 degrees of its first right edge.
    assert 0.7 < visits.most <= 1
    assert visits.partners[-1] == 0


@pytest.mark.parametrize("degrees", [[0.0] * 12, range(0, 66, 6), [0, 1, 2, 3, 2, 1, 0]])
def test_a_camera_that_stands_still_or_never_returns_or_hardly_turns_revisits_next_to_nothing(degrees):
    assert find_visits(path_of(degrees), ViewGrid()).most < 0.1


def test_a_full_circle_is_a_revisit_of_the_whole_view():
    visits = find_visits(path_of(range(0, 361, 15)), ViewGrid())
    assert visits.shares[-1] == pytest.approx(1)
    assert visits.partners[-1] == 0


def test_stepping_aside_and_back_is_a_revisit_of_what_left_the_view():
    aside = np.zeros((9, 3))
    aside[:, 0] = [0, 0.3, 0.6, 0.9, 1.2, 0.9, 0.6, 0.3, 0]
    visits = find_visits(path_of([0.0] * 9, aside), ViewGrid())
    assert visits.most == pytest.approx(1.2 * panorama.LENS[0, 0] / panorama.WIDTH, abs=0.06)


def test_only_points_that_were_out_of_view_count_as_left():
    trajectory = path_of(panorama.OUT_AND_BACK)
    left = revisited_points(trajectory, 0, len(panorama.OUT_AND_BACK) - 1, (48, 28))
    # The camera turned left, so that its right side was out of view.
    assert left[:, -1].all()
    assert not left[14, 0]


def test_a_view_overlaps_itself_wholly_and_its_back_not_at_all():
    assert view_overlaps(path_of([0, 30, 180]), 0, ViewGrid().whole)[[0, 2]].tolist() == [1, 0]
