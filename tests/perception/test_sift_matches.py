from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest

from lookaway.core import Case, Frame, Pairs, Rollout, Timeline
from lookaway.perception.poses.sift_matches import SiftMatches, mutual_matches
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from tests.support.room import Room, pose, trajectory

ROLLOUT = Rollout(case=Case(id="room", subset="all", scene="room"), model="model", video=Path("clip.mp4"))
ROOM = Room(seed=3, width=320, height=240)


@dataclass(frozen=True)
class GivenPairs:
    frames: tuple[tuple[int, int], ...] = ((0, 1),)

    def select(self, rollout, frame_count, trajectory):
        return Pairs(np.array(self.frames), "given")


def watch(*pictures, pairs=((0, 1),), **constants):
    """Show pictures to the extractor, as many as it asks for."""
    height, width = pictures[0].shape[:2]
    recipe = SiftMatches(poses=SuppliedPoses(), pairs=GivenPairs(pairs), **{"height": height, **constants})
    timeline = Timeline(np.arange(len(pictures)) / 8, width, height)
    poses = trajectory(np.tile(np.eye(4), (len(pictures), 1, 1))).to_feature()
    watching = recipe.load().start(ROLLOUT, timeline, {"poses": poses})
    for index in sorted(watching.request.indices):
        watching.add_frame(Frame(index, index / 8, pictures[index]))
    return watching.finish()


@pytest.fixture(scope="module")
def view():
    return ROOM.render(pose())


def test_points_count_from_the_corner_so_that_an_upside_down_picture_maps_exactly(view):
    found = watch(view, np.ascontiguousarray(view[::-1, ::-1]))
    errors = np.array([ROOM.width, ROOM.height]) - found["points_1"] - found["points_2"]
    assert len(errors) > 100
    # A quarter of a pixel of bias in one picture would be half a pixel here.
    np.testing.assert_allclose(np.median(errors, axis=0), 0, atol=0.02)
    assert np.median(np.linalg.norm(errors, axis=1)) < 0.1


@pytest.mark.parametrize(("right", "down"), [(0.5, 0.0), (7.25, -3.5)])
def test_a_shift_by_parts_of_a_pixel_is_found_to_a_twentieth_of_a_pixel(view, right, down):
    shift = np.array([[1, 0, right], [0, 1, down]])
    moved = cv2.warpAffine(view, shift, (ROOM.width, ROOM.height), flags=cv2.INTER_CUBIC)
    found = watch(view, moved)
    shifts = found["points_2"] - found["points_1"]
    assert len(shifts) > 100
    np.testing.assert_allclose(np.median(shifts, axis=0), (right, down), atol=0.05)


def test_the_homography_of_a_turning_camera_is_found_to_a_third_of_a_pixel(view):
    turn = pose(yaw_degrees=6)
    homography = ROOM.intrinsics @ turn[:3, :3].T @ np.linalg.inv(ROOM.intrinsics)
    found = watch(view, ROOM.render(turn))
    expected = np.column_stack([found["points_1"], np.ones(len(found["points_1"]))]) @ homography.T
    errors = np.linalg.norm(expected[:, :2] / expected[:, 2:] - found["points_2"], axis=1)
    assert len(errors) > 100
    assert np.median(errors) < 0.2
    assert errors.mean() < 0.33


@pytest.mark.parametrize("pictures", [("flat", "flat"), ("flat", "view"), ("view", "flat")])
def test_a_picture_without_texture_has_no_matches(view, pictures):
    flat = np.full_like(view, 90)
    found = watch(*(view if name == "view" else flat for name in pictures))
    assert found["offsets"].tolist() == [0, 0]
    assert found["points_1"].shape == found["points_2"].shape == (0, 2)


def test_matches_of_each_pair_lie_between_its_offsets(view):
    flat = np.full_like(view, 90)
    found = watch(view, flat, view, pairs=((0, 1), (0, 2)))
    first, second, third = found["offsets"].tolist()
    assert (first, second) == (0, 0)
    assert third == len(found["points_1"]) == len(found["points_2"]) > 100
    np.testing.assert_array_equal(found["points_1"], found["points_2"])
    assert (found["pairs"].tolist(), found.detail["rule"]) == ([[0, 1], [0, 2]], "given")
    (points, none), (again, same) = found["points"].tolist()
    assert none == 0
    assert points == again == same >= third


def test_no_more_than_the_strongest_points_are_matched(view):
    many, few = watch(view, view), watch(view, view, keypoints=40)
    assert 20 < len(few["points_1"]) <= 40 < len(many["points_1"])


def test_only_the_frames_of_pairs_are_asked_for_at_the_matching_height(view):
    recipe = SiftMatches(poses=SuppliedPoses(), pairs=GivenPairs(((1, 5), (2, 5))), height=120)
    poses = trajectory(np.tile(np.eye(4), (9, 1, 1))).to_feature()
    request = recipe.load().start(ROLLOUT, Timeline(np.arange(9) / 8, 320, 240), {"poses": poses}).request
    assert (request.indices, request.height) == ({1, 2, 5}, 120)


def test_the_size_is_that_of_the_pictures_seen(view):
    assert watch(view[:, :301], view[:, :301])["size"].tolist() == [301, 240]


def test_a_smaller_video_is_matched_as_it_is_and_its_points_are_counted_at_the_given_height(view):
    moved = np.roll(view, 4, axis=1)
    own, twice = watch(view, moved), watch(view, moved, height=480)
    assert twice["size"].tolist() == [640, 480]
    np.testing.assert_allclose(twice["points_2"], 2 * own["points_2"], rtol=1e-6)
    assert np.median(twice["points_2"] - twice["points_1"], axis=0) == pytest.approx((8, 0), abs=0.1)
    recipe = SiftMatches(poses=SuppliedPoses(), pairs=GivenPairs())
    poses = trajectory(np.tile(np.eye(4), (2, 1, 1))).to_feature()
    assert recipe.load().start(ROLLOUT, Timeline(np.arange(2) / 8, 320, 240), {"poses": poses}).request.height == 240


def naive_matches(first, second, ratio):
    """Every distance, every rule, one descriptor after another."""

    def nearest(one, others):
        order = sorted(range(len(others)), key=lambda index: float(np.linalg.norm(one - others[index])))
        near, next_near = (float(np.linalg.norm(one - others[index])) for index in order[:2])
        return order[0], near < ratio * next_near

    matches = []
    for row, descriptor in enumerate(first):
        column, is_clear = nearest(descriptor, second)
        back, is_clear_back = nearest(second[column], first)
        if back == row and is_clear and is_clear_back:
            matches.append((row, column))
    return matches


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ratio", [0.6, 0.8, 1.0])
def test_matches_equal_a_naive_search(seed, ratio):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 256, (40, 128)).astype(np.float32)
    second = np.concatenate([first[:25] + rng.integers(-90, 90, (25, 128)), rng.integers(0, 256, (20, 128))])
    second = rng.permutation(second.clip(0, 255).astype(np.float32))
    rows, columns = mutual_matches(first, second, ratio)
    found = list(zip(rows.tolist(), columns.tolist(), strict=True))
    assert found == naive_matches(first.astype(np.float64), second.astype(np.float64), ratio)
    assert len(found) >= 10


def test_a_descriptor_with_a_twin_matches_neither():
    first = np.eye(4, 128, dtype=np.float32) * 100
    rows, columns = mutual_matches(first, first[[0, 0, 1, 2, 3]], 0.8)
    assert (rows.tolist(), columns.tolist()) == ([1, 2, 3], [2, 3, 4])


def test_a_match_must_be_clear_seen_from_both_sides():
    first = np.array([[0, 0], [0, 1]], np.float32)
    second = np.array([[0, 0.1], [9, 9]], np.float32)
    # From the second picture the two candidates lie at 0.1 and 0.9; from the first at 0.1 and far away.
    assert mutual_matches(first, second, 0.8)[0].tolist() == [0]
    assert mutual_matches(first, second, 0.1)[0].tolist() == []


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 5), (1, 5), (5, 1)])
def test_too_few_descriptors_to_tell_a_clear_match_give_none(rows, columns):
    found = mutual_matches(np.ones((rows, 128), np.float32), np.ones((columns, 128), np.float32), 0.8)
    assert [len(indices) for indices in found] == [0, 0]
