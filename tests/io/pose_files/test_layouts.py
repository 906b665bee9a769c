from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import ArtifactError, Reason, Timeline
from lookaway.io.pose_files.layouts import READERS
from lookaway.io.pose_files.source import PoseSource
from lookaway.world.exports.memobench import TRACK_COLUMNS
from tests.io.pose_files.written import (
    CAMERA,
    COUNT,
    FRAMES,
    HEAD,
    LENS,
    TIMELINE,
    WHOLE,
    colmap,
    depth,
    image_lines,
    known_path,
    lenses,
    mapanything,
    memobench_array,
    memobench_track,
    vggt,
    vggt_bare,
    vipe,
)

EXTENT = np.linalg.norm(known_path()[:, :3, 3] - known_path()[0, :3, 3], axis=1).max()


def refused(written, **options):
    with pytest.raises(ArtifactError) as raised:
        written.read(**options)
    return raised.value.reason, str(raised.value)


# What was written comes back


@pytest.mark.parametrize("layout", WHOLE)
def test_the_known_path_comes_back(tmp_path, layout):
    trajectory = WHOLE[layout](tmp_path).read(assumed_fov_degrees=60).trajectory
    # COLMAP's text has nine decimals; all others keep doubles.
    tolerance = 5e-9 if layout == "colmap" else 1e-14
    np.testing.assert_allclose(trajectory.camera_to_world, known_path(), atol=tolerance, rtol=0)
    assert trajectory.camera_to_world.dtype == trajectory.intrinsics.dtype == trajectory.median_depth.dtype == "f8"
    assert trajectory.frame_indices.tolist() == FRAMES.tolist()
    assert trajectory.frame_indices.dtype == np.int64
    assert (trajectory.width, trajectory.height, trajectory.frame_count) == (64, 48, COUNT)


@pytest.mark.parametrize("layout", [layout for layout in WHOLE if layout != "vggt poses alone"])
def test_the_lens_that_was_written_comes_back_and_is_not_called_assumed(tmp_path, layout):
    read = WHOLE[layout](tmp_path).read(assumed_fov_degrees=10)
    np.testing.assert_array_equal(read.trajectory.intrinsics, lenses())
    assert "intrinsics" not in read.assumptions


@pytest.mark.parametrize("layout", ["da3", "vggt", "mapanything"])
def test_depth_that_was_written_is_used_and_nothing_is_assumed(tmp_path, layout):
    read = WHOLE[layout](tmp_path).read(assumed_depth=7)
    assert read.trajectory.median_depth.tolist() == [2.0] * COUNT
    assert read.assumptions == {}


@pytest.mark.parametrize("layout", WHOLE)
def test_there_is_a_reader_for_the_layout(layout):
    assert layout.split()[0] in READERS


def test_depth_of_one_channel_is_depth(tmp_path):
    plain, channel = vggt(tmp_path, depth=depth()), vggt(tmp_path, depth=depth()[..., None] * 3)
    assert channel.read().trajectory.median_depth.tolist() == [6.0] * COUNT
    assert (plain.read().trajectory.width, plain.read().trajectory.height) == (64, 48)


def test_intrinsics_of_predictions_belong_to_the_size_of_the_depth(tmp_path):
    half = lenses() * np.array([0.5, 0.5, 1])[None, :, None]
    trajectory = vggt(tmp_path, intrinsic=half, depth=depth()[:, ::2, ::2]).read().trajectory
    assert (trajectory.width, trajectory.height) == (32, 24)
    np.testing.assert_allclose(trajectory.intrinsics_for(64, 48), lenses())


def test_one_camera_or_one_for_each_frame_are_alike(tmp_path):
    one = mapanything(tmp_path).read().trajectory.intrinsics
    each = mapanything(tmp_path, intrinsic=None, intrinsics=lenses()).read().trajectory.intrinsics
    np.testing.assert_array_equal(one, each)


def test_fewer_poses_than_frames_are_spread_over_the_video(tmp_path):
    timeline = Timeline(times_seconds=np.arange(11) / 16, width=64, height=48)
    assert mapanything(tmp_path).read(timeline=timeline).trajectory.frame_indices.tolist() == [0, 2, 4, 6, 8, 10]


# MemoBench


def test_memobench_has_archives_of_mapanything_too(tmp_path):
    archive = mapanything(tmp_path)
    again = READERS["memobench"](PoseSource(path=archive.path, timeline=TIMELINE)).trajectory
    np.testing.assert_array_equal(again.camera_to_world, archive.read().trajectory.camera_to_world)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("loc_x,loc_y\n0,0\n", "there is no column loc_z"),
        (",".join(TRACK_COLUMNS) + "\n", "the table has no rows"),
        (",".join(TRACK_COLUMNS) + "\n" + ",".join(["left"] * 10) + "\n", "a cell is not a number"),
        (",".join(TRACK_COLUMNS) + "\n1,2\n", "a cell is not a number"),
        (",".join(TRACK_COLUMNS) + "\n" + ",".join(["nan"] * 10) + "\n", "holds NaN"),
    ],
)
def test_a_damaged_camera_track_is_refused_with_what_is_wrong(tmp_path, text, message):
    assert message in refused(memobench_track(tmp_path, text))[1]


def test_a_lens_for_other_poses_is_refused(tmp_path):
    reason, message = refused(memobench_array(tmp_path, lens=np.ones((COUNT - 1, 4))))
    assert reason is Reason.INVALID_INPUT
    assert "intrinsics.npy: it has the shape (5, 4), expected (6, 4)" in message


# What the files do not say


@pytest.mark.parametrize("layout", ["vggt poses alone", "vipe", "colmap"])
def test_without_intrinsics_a_field_of_view_has_to_be_named(tmp_path, layout):
    reason, message = refused(WHOLE[layout](tmp_path), lens=None)
    assert reason is Reason.MISSING_INPUT
    assert "`assumed_fov_degrees`" in message


@pytest.mark.parametrize("layout", ["vggt poses alone", "vipe", "colmap"])
def test_an_assumed_field_of_view_spans_the_width_and_is_told(tmp_path, layout):
    read = WHOLE[layout](tmp_path).read(lens=None, assumed_fov_degrees=90)
    np.testing.assert_allclose(
        read.trajectory.intrinsics, np.tile([[32, 0, 32], [0, 32, 24], [0, 0, 1]], (COUNT, 1, 1))
    )
    assert read.assumptions["intrinsics"] == "assumed: a horizontal field of view of 90 degrees"


def test_predictions_without_intrinsics_need_a_field_of_view_too(tmp_path):
    written = mapanything(tmp_path, intrinsic=None)
    assert refused(written)[0] is Reason.MISSING_INPUT
    assert "assumed" in written.read(assumed_fov_degrees=60).assumptions["intrinsics"]


@pytest.mark.parametrize("layout", ["vggt poses alone", "vipe", "colmap"])
def test_without_depth_the_extent_of_the_path_stands_in_and_is_told(tmp_path, layout):
    read = WHOLE[layout](tmp_path).read(assumed_fov_degrees=60)
    np.testing.assert_allclose(read.trajectory.median_depth, EXTENT)
    assert read.assumptions["median_depth"] == "assumed: the extent of the path"


def test_without_depth_no_path_is_too_short_to_be_a_motion(tmp_path):
    short = known_path()
    short[:, :3, 3] *= 1e-6
    trajectory = vggt_bare(tmp_path, short).read(assumed_fov_degrees=60).trajectory
    assert np.linalg.norm(trajectory.relative_centres(0.02), axis=1).max() == pytest.approx(1)


def test_a_named_depth_makes_a_short_path_no_motion(tmp_path):
    read = vggt_bare(tmp_path).read(assumed_fov_degrees=60, assumed_depth=1000)
    assert not read.trajectory.relative_centres(0.02).any()
    assert read.assumptions["median_depth"] == "assumed: 1000 in the units of the poses"


def test_cameras_in_one_place_only_turn(tmp_path):
    turning = known_path()
    turning[:, :3, 3] = 4
    trajectory = vggt_bare(tmp_path, turning).read(assumed_fov_degrees=60).trajectory
    assert (trajectory.median_depth > 0).all()
    assert not trajectory.relative_centres(0.02).any()


def test_intrinsics_of_an_unknown_size_keep_their_field_of_view(tmp_path):
    small = lenses() * np.array([0.25, 0.125, 1])[None, :, None]
    read = mapanything(tmp_path, intrinsic=small, depth=None).read()
    np.testing.assert_allclose(read.trajectory.intrinsics, lenses())
    assert read.assumptions["size"] == "assumed: the principal point is the middle of the image"


def test_a_principal_point_outside_the_image_has_failed(tmp_path):
    assert refused(mapanything(tmp_path, intrinsic=LENS * [[1, 1, 0], [1, 1, 1], [1, 1, 1]], depth=None))[0] is (
        Reason.POSE_FAILED
    )


# ViPE


def test_poses_of_some_frames_stay_with_their_frames(tmp_path):
    timeline = Timeline(times_seconds=np.arange(40) / 16, width=64, height=48)
    inds = np.array([0, 3, 4, 20, 30, 39])
    trajectory = vipe(tmp_path, inds=inds).read(timeline=timeline, lens=None, assumed_fov_degrees=60).trajectory
    assert trajectory.frame_indices.tolist() == inds.tolist()


@pytest.mark.parametrize(
    ("lens", "told"),
    [
        ({"data": np.ones((COUNT, 5))}, "pinhole"),
        ({"data": np.ones((COUNT - 1, 4)), "inds": FRAMES[1:]}, "expected (6, 4)"),
        ({"inds": FRAMES + 1}, "inds differ from the frames of the poses"),
        ({"inds": None}, "no array named 'inds'"),
    ],
)
def test_a_lens_that_does_not_fit_the_poses_is_refused(tmp_path, lens, told):
    reason, message = refused(vipe(tmp_path, lens=lens))
    assert reason is Reason.INVALID_INPUT
    assert told in message


def test_a_lens_that_is_named_but_not_there_is_missing(tmp_path):
    assert refused(vipe(tmp_path), lens=tmp_path / "none.npz")[0] is Reason.MISSING_INPUT
    assert refused(colmap(tmp_path), lens=tmp_path / "none.txt")[0] is Reason.MISSING_INPUT


# COLMAP


@pytest.mark.parametrize("points", ["\n", "", "12.5 3.25 -1 400 20.5 77\n", "\n\n"])
def test_the_line_of_points_makes_no_difference(tmp_path, points):
    read = colmap(tmp_path, HEAD + "".join(image_lines(points))).read()
    np.testing.assert_allclose(read.trajectory.camera_to_world, known_path(), atol=5e-9)


def test_the_order_of_images_makes_no_difference(tmp_path):
    read = colmap(tmp_path, HEAD + "".join(reversed(image_lines()))).read()
    np.testing.assert_allclose(read.trajectory.camera_to_world, known_path(), atol=5e-9)
    assert read.trajectory.frame_indices.tolist() == FRAMES.tolist()


def test_names_that_count_from_one_are_read_when_the_recipe_says_so(tmp_path):
    written = colmap(tmp_path, "".join(image_lines(first=1, name="v2/frame{}.png")))
    assert written.read(first_frame_number=1).trajectory.frame_indices.tolist() == FRAMES.tolist()
    assert "numbers in image names must increase within 0 to 5" in refused(written)[1]


@pytest.mark.parametrize("points", ["\n", ""])
@pytest.mark.parametrize("first", [0, 1, 480])
def test_the_lowest_number_is_that_of_the_first_frame_where_the_recipe_names_none(tmp_path, first, points):
    written = colmap(tmp_path, HEAD + "".join(reversed(image_lines(points, first=first))))
    trajectory = written.read(first_frame_number=None).trajectory
    assert trajectory.frame_indices.tolist() == FRAMES.tolist()
    np.testing.assert_allclose(trajectory.camera_to_world, known_path(), atol=5e-9)


def test_a_gap_in_the_numbers_stays_a_gap_where_the_recipe_names_no_first(tmp_path):
    lines = image_lines(first=3)
    written = colmap(tmp_path, "".join([*lines[:2], *lines[4:]]))
    assert written.read(first_frame_number=None).trajectory.frame_indices.tolist() == [0, 1, 4, 5]


def test_a_simple_pinhole_has_one_focal_length(tmp_path):
    intrinsics = colmap(tmp_path, cameras="1 SIMPLE_PINHOLE 128 96 70 64 48\n").read().trajectory
    assert intrinsics.intrinsics[0].tolist() == [[70, 0, 64], [0, 70, 48], [0, 0, 1]]
    assert (intrinsics.width, intrinsics.height) == (128, 96)


def test_a_quaternion_of_nearly_length_one_is_a_rotation(tmp_path):
    lines = image_lines()
    first = lines[0].split()
    first[1:5] = [f"{float(number) * 1.001:.9f}" for number in first[1:5]]
    read = colmap(tmp_path, "".join([" ".join(first) + "\n\n", *lines[1:]])).read()
    np.testing.assert_allclose(read.trajectory.camera_to_world, known_path(), atol=1e-8)


FIRST, *OTHERS = image_lines()


@pytest.mark.parametrize(
    ("images", "reason", "told"),
    [
        ("", Reason.INVALID_INPUT, "no image"),
        (HEAD, Reason.INVALID_INPUT, "no image"),
        (FIRST + FIRST, Reason.INVALID_INPUT, "repeats an image"),
        (FIRST + FIRST.replace("images/", "more/"), Reason.INVALID_INPUT, "must increase"),
        (FIRST.replace("frame_000000", "frame"), Reason.INVALID_INPUT, "does not end in the number"),
        (FIRST.replace("000000", "9" * 40), Reason.INVALID_INPUT, "does not end in the number"),
        (FIRST.replace("000000", "000099"), Reason.INVALID_INPUT, "must increase within 0 to 5"),
        (FIRST.replace(".jpg", " copy.jpg"), Reason.INVALID_INPUT, "neither an image"),
        (FIRST.strip() + "\n" + OTHERS[0].replace(".jpg", " of two.jpg"), Reason.INVALID_INPUT, "neither an image"),
        (FIRST[:30], Reason.INVALID_INPUT, "neither an image"),
        ("1 2 3\n" + FIRST, Reason.INVALID_INPUT, "line 1 is neither an image"),
        ("1 one 0 0 0 0 0 0 1 1.jpg\n", Reason.INVALID_INPUT, "where numbers should be"),
        ("1 1 0 0 0 0 0 0 1.5 1.jpg\n", Reason.INVALID_INPUT, "where numbers should be"),
        ("1 1 0 0 0 0 0 0 " + "1" * 5000 + " 1.jpg\n", Reason.INVALID_INPUT, "where numbers should be"),
        ("1 nan 0 0 0 0 0 0 1 1.jpg\n", Reason.POSE_FAILED, "NaN"),
        ("1 1 0 0 0 1e999 0 0 1 1.jpg\n", Reason.POSE_FAILED, "infinity"),
        ("1 0 0 0 0 0 0 0 1 1.jpg\n", Reason.POSE_FAILED, "length 1"),
        ("1 2 0 0 0 0 0 0 1 1.jpg\n", Reason.POSE_FAILED, "length 1"),
    ],
)
def test_images_that_are_none_are_refused(tmp_path, images, reason, told):
    found, message = refused(colmap(tmp_path, images))
    assert (found, message[:12]) == (reason, "images.txt: ")
    assert told in message


@pytest.mark.parametrize(
    ("cameras", "told"),
    [
        ("", "the camera 1 of an image is not listed"),
        ("2 PINHOLE 64 48 50 55 32 24\n", "the camera 1 of an image is not listed"),
        ("1 OPENCV 64 48 50 55 32 24 0 0 0 0\n", "undistort"),
        ("1\n", "undistort"),
        ("1 PINHOLE 64 48 50 55 32\n", "3 parameters, expected 4"),
        ("1 SIMPLE_PINHOLE 64 48 50 55 32 24\n", "4 parameters, expected 3"),
        ("1 PINHOLE 64 zero 50 55 32 24\n", "where numbers should be"),
        ("1 PINHOLE 0 48 50 55 32 24\n", "an image of 0 by 48"),
        ("1 PINHOLE 64 9999999999999 50 55 32 24\n", "an image of 64 by"),
        ("1 PINHOLE 64 48 nan 55 32 24\n", "NaN"),
        ("1 PINHOLE 64 48 -50 55 32 24\n", "focal length"),
    ],
)
def test_cameras_that_are_none_are_refused(tmp_path, cameras, told):
    reason, message = refused(colmap(tmp_path, cameras=cameras))
    assert reason in {Reason.INVALID_INPUT, Reason.POSE_FAILED}
    assert message.startswith("cameras.txt: ")
    assert told in message


def test_images_of_two_sizes_are_refused(tmp_path):
    images = "".join([FIRST, OTHERS[0].replace(" 1 images/", " 2 images/")])
    written = colmap(tmp_path, images, CAMERA + "2 PINHOLE 32 48 50 55 16 24\n")
    assert "not of one size" in refused(written)[1]


def test_two_cameras_of_one_size_keep_their_lenses(tmp_path):
    images = "".join([FIRST, OTHERS[0].replace(" 1 images/", " 2 images/")])
    read = colmap(tmp_path, images, CAMERA + "2 PINHOLE 64 48 40 45 32 24\n").read()
    assert read.trajectory.intrinsics[:, 0, 0].tolist() == [50, 40]


# Wrong arrays


@pytest.mark.parametrize(
    "poses",
    [np.eye(4), np.zeros((0, 4, 4)), np.zeros((COUNT, 3, 3)), np.zeros(3), np.float64(2), np.zeros((1, COUNT, 4, 4))],
)
def test_matrices_of_a_wrong_shape_are_told(tmp_path, poses):
    for written in (vggt_bare(tmp_path, poses), mapanything(tmp_path, cam_c2w=poses), vipe(tmp_path, data=poses)):
        reason, message = refused(written, assumed_fov_degrees=60)
        assert reason is Reason.INVALID_INPUT
        assert "expected [N, 3, 4] or [N, 4, 4]" in message


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e13])
def test_poses_that_are_not_finite_have_failed_in_every_layout(tmp_path, value):
    poses = known_path()
    poses[2, 0, 3] = value
    for written in (
        vggt_bare(tmp_path, poses),
        vggt(tmp_path, extrinsic=poses),
        mapanything(tmp_path, cam_c2w=poses),
        vipe(tmp_path, data=poses),
    ):
        assert refused(written, assumed_fov_degrees=60)[0] is Reason.POSE_FAILED


def test_world_to_camera_matrices_in_the_wrong_layout_are_taken_as_they_are_named(tmp_path):
    poses = known_path()
    right = mapanything(tmp_path, cam_c2w=poses).read().trajectory.camera_to_world
    turned = vggt(tmp_path, extrinsic=poses).read().trajectory.camera_to_world
    np.testing.assert_allclose(turned, np.linalg.inv(right))


@pytest.mark.parametrize("values", [np.array([{}, {}], object), np.array(["a"]), np.zeros(2, [("x", "f4")])])
def test_an_array_of_anything_but_numbers_is_never_loaded(tmp_path, values):
    reason, message = refused(vggt_bare(tmp_path, values), assumed_fov_degrees=60)
    assert reason is Reason.INVALID_INPUT
    assert message.startswith("poses.npy: ")


def test_more_poses_than_frames_are_refused(tmp_path):
    timeline = Timeline(times_seconds=np.arange(3) / 16, width=64, height=48)
    assert "6 poses for a video of 3 frames" in refused(mapanything(tmp_path), timeline=timeline)[1]


def test_a_pose_file_that_is_not_there_is_missing(tmp_path):
    for make in WHOLE.values():
        written = make(tmp_path)
        written.path.unlink()
        assert refused(written, assumed_fov_degrees=60)[0] is Reason.MISSING_INPUT


def test_depth_that_does_not_fit_the_poses_is_refused(tmp_path):
    for maps in (depth()[1:], depth()[..., None, None], np.zeros((COUNT, 0, 4)), depth()[..., None].repeat(2, axis=3)):
        assert "depth has the shape" in refused(vggt(tmp_path, depth=maps))[1]


def test_the_timeline_of_the_tests_is_the_size_of_the_lens():
    assert (TIMELINE.width / 2, TIMELINE.height / 2) == (LENS[0, 2], LENS[1, 2])
