from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import angles_degrees
from lookaway.perception.opencv import load_opencv
from lookaway.perception.poses.tracking.bundle import Observations, SceneEstimate, adjust, local_points
from lookaway.perception.poses.tracking.camera_path import TrackedPath
from lookaway.perception.poses.tracking.focal_prior import FocalPrior
from lookaway.perception.poses.tracking.links import Link, Links, link_frames
from lookaway.perception.poses.tracking.moving import Moving
from lookaway.perception.poses.tracking.reconstruction import meet
from lookaway.perception.poses.tracking.settings import TrackerSettings
from lookaway.perception.poses.tracking.sightings import Sighting
from lookaway.perception.poses.tracking.tracks import Tracks, join_tracks
from lookaway.perception.poses.tracking.turn_adjustment import TurnAdjustment
from lookaway.perception.poses.tracking.turning import Turning, fit_turn, fit_turning, nearest_rotation, rays
from lookaway.perception.poses.tracking.two_views import fit_epipolar, preference_for_moving, rough_focal, verify
from tests.perception.camera_tracking.synthetic import Cloud, orbit, outline, poses, room

SETTINGS = TrackerSettings()
PRIOR = FocalPrior.from_field(60, 448, 0.3, 3.0)
NO_OUTLINE = outline(np.zeros((0, 2)))


def link(cloud, truth, first=0, second=8):
    found = cloud.sightings(truth)
    return next(
        pair
        for pair in link_frames([found[first], found[second]], 0.8, 1e9, SETTINGS.links).links
        if (pair.first, pair.second) == (0, 1)
    )


def test_a_field_of_view_is_a_focal_length():
    assert FocalPrior.from_field(90, 200, 0.3, 3.0).focal == pytest.approx(100)


def test_a_prior_has_bounds_and_grows_stronger_with_matches():
    assert PRIOR.bounded(1e9) == pytest.approx(3 * PRIOR.focal)
    assert PRIOR.bounded(1.0) == pytest.approx(PRIOR.focal / 3)
    assert PRIOR.is_at_bound(PRIOR.bounded(1e9))
    assert PRIOR.is_at_bound(PRIOR.bounded(1.0))
    assert not PRIOR.is_at_bound(2 * PRIOR.focal)
    assert PRIOR.tempered(10).spread == PRIOR.spread
    assert PRIOR.tempered(4000).spread == pytest.approx(PRIOR.spread / 2)


def test_the_nearest_rotation_is_never_a_mirror():
    turn = Rotation.from_rotvec([0.3, -0.2, 0.1]).as_matrix()
    np.testing.assert_allclose(nearest_rotation(turn * 2.5), turn, atol=1e-12)
    assert np.linalg.det(nearest_rotation(-turn)) == pytest.approx(1)


@pytest.mark.parametrize("wrong", [0.0, 0.3])
def test_the_turn_between_two_frames_is_found_among_wrong_matches(wrong):
    truth = poses(25)
    pair = link(Cloud(room(), wrong=wrong), truth)
    turn = fit_turn(pair.points_1, pair.points_2, 350.0, 1.5, SETTINGS.turns)
    angle = np.degrees(Rotation.from_matrix(turn.rotation @ truth[8, :3, :3]).magnitude())
    assert angle < 0.1
    assert turn.inliers.mean() == pytest.approx((1 - wrong) ** 2, abs=0.12)


def test_turns_are_chained_along_links_in_either_direction():
    # Adjustment finds its way even from a wrong start.
    unadjusted = replace(SETTINGS.turns, adjustment=replace(SETTINGS.turns.adjustment, steps=0))
    cloud, truth = Cloud(room()), np.tile(np.eye(4), (3, 1, 1))
    truth[:, :3, :3] = Rotation.from_euler("yz", [[0, 0], [-10, 80], [-5, 40]], degrees=True).as_matrix()
    pairs = [replace(link(cloud, truth, first, 2), first=first, second=2) for first in (0, 1)]
    found = fit_turning(pairs, PRIOR, 1.0, unadjusted, starts=(0,), min_frames=1)
    assert angles_degrees(np.stack([found.rotations[n] for n in range(3)]), truth[:, :3, :3]).max() < 2


def test_a_path_is_told_in_the_axes_and_the_unit_of_its_first_pose():
    sightings = [Sighting(frame, np.zeros((0, 2)), np.zeros((0, 128)), NO_OUTLINE) for frame in (4, 6, 8)]
    turned = Rotation.from_euler("y", 90, degrees=True).as_matrix()
    first, second = np.eye(4), np.eye(4)
    first[:3, :3], first[:3, 3], second[:3, 3] = turned, [1, 0, 0], [3, 0, 0]
    moving = Moving(
        camera_to_world={0: first, 2: second},
        median_depth={0: 4.0, 2: 2.0},
        focal=300.0,
        error=0.1,
        inliers=1,
        matches=1,
        points=1,
        known={},
    )
    path = TrackedPath.from_moving(moving, sightings)
    assert path.frame_indices.tolist() == [4, 8]
    assert path.median_depth.tolist() == [1, 0.5]
    np.testing.assert_allclose(path.camera_to_world[0], np.eye(4), atol=1e-12)
    # The first camera looks to the right, so what is to the right of the world is ahead of it.
    np.testing.assert_allclose(path.camera_to_world[1, :3, 3], [0, 0, 0.5], atol=1e-12)
    np.testing.assert_allclose(path.camera_to_world[1, :3, :3], turned.T, atol=1e-12)


def test_a_wrong_focal_length_makes_a_turn_explain_less():
    pair = link(Cloud(room()), poses(25))
    right, wrong = (fit_turn(pair.points_1, pair.points_2, focal, 1.5, SETTINGS.turns).cost for focal in (350.0, 250.0))
    assert right < 0.3 * wrong


def test_a_turn_prefers_to_be_a_turn_and_a_way_prefers_to_be_a_way():
    for truth, expected in ((poses(15), -1), (orbit(15), 1)):
        pair = link(Cloud(room()), truth)
        epipolar = fit_epipolar(load_opencv(), pair, 1.0, SETTINGS.geometry)
        turn = fit_turn(pair.points_1, pair.points_2, 350.0, 1.5, SETTINGS.turns)
        assert np.sign(preference_for_moving(turn.errors, epipolar.errors, 0.5)) == expected


def test_points_beside_their_epipolar_lines_are_ruled_out():
    pair = link(Cloud(room(), noise=0.1), orbit(15))
    is_beside = pair.rows % 4 == 0
    beside = replace(pair, points_2=pair.points_2 + np.where(is_beside[:, None], [0.0, 5.0], 0.0))
    found = fit_epipolar(load_opencv(), beside, 1.0, SETTINGS.geometry)
    assert (found.inliers == ~is_beside).mean() > 0.97


def test_a_link_whose_points_obey_no_geometry_is_left_out():
    random, rows = np.random.default_rng(0), np.arange(100)
    noise = Link(0, 1, rows, rows, *random.uniform(-100, 100, (2, 100, 2)))
    right = replace(link(Cloud(room()), orbit(15)), first=1, second=2)
    rotations, pieces = {n: np.eye(3) for n in range(3)}, dict.fromkeys(range(3), 0)
    still = Turning(rotations=rotations, pieces=pieces, focal=350.0, error=0.0, inliers=0, matches=0)
    verified = verify(load_opencv(), Links((noise, right), (0, 1, 2), 5.0), still, 1.0, SETTINGS)
    assert [(one.first, one.second) for one in verified.links] == [(1, 2)]
    assert [(one.first, one.second) for one in verified.wide] == [(1, 2)]


def test_points_that_stand_still_have_no_epipolar_geometry_that_rules_any_out():
    points = np.random.default_rng(0).uniform(-100, 100, (60, 2))
    rows = np.arange(60)
    found = fit_epipolar(load_opencv(), Link(0, 1, rows, rows, points, points), 1.0, SETTINGS.geometry)
    assert found.inliers.all() or not found.inliers.any()


def test_essential_matrices_tell_the_focal_length_of_a_camera_that_turns_on_its_way_only():
    cv2 = load_opencv()
    both = [link(Cloud(room(), focal=200), poses(30, way=(0.5, 0, 0.5)), 0, last) for last in (5, 6, 8)]
    assert rough_focal(cv2, both, PRIOR, 1.0, SETTINGS.geometry) == pytest.approx(200, rel=0.2)
    straight = [link(Cloud(room(), focal=200), poses(way=(0.5, 0, 0.5)), 0, last) for last in (5, 6, 8)]
    assert rough_focal(cv2, straight, PRIOR, 1.0, SETTINGS.geometry) == pytest.approx(PRIOR.focal)


def test_rays_meet_where_the_point_is_unless_they_are_nearly_parallel():
    point, origins = np.array([0.2, -0.1, 4.0]), np.array([[0, 0, 0], [1.0, 0, 0], [0, 0.5, 0]])
    directions = (point - origins) / np.linalg.norm(point - origins, axis=1, keepdims=True)
    places = meet(directions, origins, np.zeros(3, int), 2, np.radians(1.5))
    np.testing.assert_allclose(places[0], point)
    assert np.isnan(places[1]).all()
    close = origins * 0.01
    directions = (point - close) / np.linalg.norm(point - close, axis=1, keepdims=True)
    assert np.isnan(meet(directions, close, np.zeros(3, int), 1, np.radians(1.5))).all()


def test_a_track_with_two_points_of_one_frame_is_dropped():
    sightings = [Sighting(frame, np.zeros((3, 2)), np.zeros((3, 128)), NO_OUTLINE) for frame in range(3)]

    def matched(first, second, rows, columns):
        return Link(first, second, np.array(rows), np.array(columns), np.zeros((2, 2)), np.zeros((2, 2)))

    links = [matched(0, 1, [0, 1], [0, 1]), matched(1, 2, [0, 1], [0, 1]), matched(0, 2, [0, 2], [0, 1])]
    tracks = join_tracks(sightings, links)
    assert tracks.count == 1
    assert tracks.frames.tolist() == [0, 1, 2]


def test_of_each_frame_the_tracks_are_kept_that_max_frames_see():
    # Track 0 is in all three frames, 1 in two, 2 in two, 3 in one.
    frames, tracks = np.array([0, 0, 0, 0, 1, 1, 2, 2]), np.array([3, 2, 1, 0, 0, 1, 0, 2])
    kept = Tracks(frames, tracks, np.arange(16.0).reshape(8, 2), 4, 3).longest([0, 1, 2], 1)
    assert kept.count == 1
    assert kept.tracks.tolist() == [0, 0, 0]
    assert kept.points[:, 0].tolist() == [6, 8, 12]


def test_more_points_of_the_same_kind_do_not_outvote_the_belief_about_the_focal_length():
    truth, places = orbit(20, frames=8), np.random.default_rng(0).uniform([-2, -1, 3], [2, 1, 7], (130, 3))
    rotations = truth[:, :3, :3].transpose(0, 2, 1)
    shifts = -np.einsum("nij,nj->ni", rotations, truth[:, :3, 3])

    def focal(copies):
        scene = SceneEstimate(rotations, shifts, np.tile(places, (copies, 1)), 300.0)
        cameras, points = (grid.ravel() for grid in np.meshgrid(np.arange(8), np.arange(130 * copies), indexing="ij"))
        local = local_points(scene, Observations(cameras, points, np.zeros(0)))
        seen = Observations(cameras, points, 300 * local[:, :2] / local[:, 2:])
        return adjust(scene, seen, FocalPrior(focal=330.0, spread=0.02, widest=3.0), 1.0, 60, SETTINGS.scene.bundle)[
            0
        ].focal

    assert 301 < focal(1) < 329
    assert focal(3) == pytest.approx(focal(1), abs=0.3)


def test_bundle_adjustment_finds_cameras_points_and_focal_length_back():
    truth, random = orbit(40, frames=12), np.random.default_rng(0)
    places = random.uniform([-2, -1, 3], [2, 1, 7], (120, 3))
    rotations = truth[:, :3, :3].transpose(0, 2, 1)
    shifts = -np.einsum("nij,nj->ni", rotations, truth[:, :3, 3])
    cameras, points = (grid.ravel() for grid in np.meshgrid(np.arange(12), np.arange(120), indexing="ij"))
    local = np.einsum("oij,oj->oi", rotations[cameras], places[points]) + shifts[cameras]
    pixels = 300 * local[:, :2] / local[:, 2:]
    pixels[::20] += 40  # outliers
    rough = SceneEstimate(
        Rotation.from_rotvec(random.normal(0, 0.02, (12, 3))).as_matrix() @ rotations,
        shifts + random.normal(0, 0.05, shifts.shape),
        places + random.normal(0, 0.1, places.shape),
        330.0,
    )
    no_belief = FocalPrior(focal=PRIOR.focal, spread=100.0, widest=3.0)
    scene, errors = adjust(rough, Observations(cameras, points, pixels), no_belief, 1.0, 100, SETTINGS.scene.bundle)
    assert np.quantile(errors, 0.9) < 0.05
    assert scene.focal == pytest.approx(300, rel=0.005)
    turned = scene.rotations[4] @ scene.rotations[0].T
    assert np.degrees(Rotation.from_matrix(turned.T @ rotations[4] @ rotations[0].T).magnitude()) < 0.1


def test_turns_are_adjusted_although_a_third_of_the_points_moves_by_itself():
    cloud, truth = Cloud(room(), noise=0.1), poses(20, frames=6)
    links = link_frames(cloud.sightings(truth), 0.8, 20.0, SETTINGS.links).links
    pulled = [replace(one, points_2=one.points_2 + np.where(one.rows % 3 == 0, 15, 0)[:, None]) for one in links]
    rough = Rotation.from_rotvec(np.random.default_rng(0).normal(0, 0.01, (6, 3))).as_matrix() @ truth[:, :3, :3]
    adjustment = TurnAdjustment.of(pulled, range(6), PRIOR, 1.0, SETTINGS.turns.adjustment)
    rotations, focal = adjustment.solve(rough, 330.0)
    assert angles_degrees(rotations[0].T @ rotations, truth[:, :3, :3]).max() < 0.1
    assert focal == pytest.approx(350, rel=0.01)


def test_there_are_never_too_many_keyframes():
    truth = poses(300, frames=100)
    links = link_frames(Cloud(room()).sightings(truth), 0.8, 1.0, SETTINGS.links)
    assert 10 < len(links.keyframes) <= SETTINGS.links.max_keyframes
    assert links.keyframes[0] == 0


def test_frames_are_linked_to_their_neighbours_and_keyframes_to_those_that_show_the_same_place():
    links = link_frames(Cloud(room()).sightings(poses(60, frames=30)), 0.8, 22.0, SETTINGS.links)
    pairs = {(link.first, link.second) for link in links.links}
    assert all((frame - 1, frame) in pairs for frame in range(1, 30))
    # The way out and the way back show the same.
    out, back = (set(links.keyframes) & set(range(*ends)) for ends in ((6, 12), (18, 24)))
    assert len(out) >= 3
    assert sum(any((one, two) in pairs for two in back) for one in out) >= 3
    # The start and the far end have nothing in common.
    assert not any((one, two) in pairs for one in range(4) for two in range(13, 16))


def test_a_link_is_wide_where_a_quarter_of_the_points_of_two_keyframes_moved_by_more_than_the_step():
    start = np.random.default_rng(0).uniform(-100, 100, (40, 2))

    def moved(share, first=0):
        way = np.where(np.arange(40) < share * 40, 12.0, 0.0)[:, None] * [0.6, 0.8]
        return Link(first, 5, np.arange(40), np.arange(40), start, start + way)

    links = Links((), (0, 5), 10.0)
    assert links.is_wide(moved(0.3))
    assert not links.is_wide(moved(0.2))
    assert not links.is_wide(moved(0.3, first=1))


def test_a_still_camera_has_one_keyframe():
    assert link_frames(Cloud(room()).sightings(poses()), 0.8, 20.0, SETTINGS.links).keyframes == (0,)


def test_rays_are_of_length_one_and_go_through_their_points():
    found = rays(np.array([[3.0, -4.0]]), 12.0)
    np.testing.assert_allclose(found, [[3 / 13, -4 / 13, 12 / 13]])
