import subprocess
import sys

import numpy as np
import pytest

from lookaway.core import ArtifactError, Reason, Timeline
from lookaway.io.pose_files.layouts import read_da3
from lookaway.io.pose_files.source import PoseSource

TIMELINE = Timeline(times_seconds=np.arange(41) / 16, width=64, height=48)
COUNT = 5


def turn(degrees):
    """A camera that looks `degrees` to the right: x right, y down, z forward."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def camera_to_world(count=COUNT):
    """A camera that turns to the right by ten degrees and steps aside, frame by frame."""
    poses = np.tile(np.eye(4), (count, 1, 1))
    for index in range(count):
        poses[index, :3, :3] = turn(10 * index)
        poses[index, :3, 3] = (0.1 * index, 0, -1)
    return poses


def arrays(count=COUNT, **changes):
    """Everything that a `results.npz` holds, with changes; None leaves an array out."""
    whole = {
        "extrinsics": np.linalg.inv(camera_to_world(count))[:, :3],
        "intrinsics": np.tile(np.array([[50.0, 0, 32], [0, 50, 24], [0, 0, 1]]), (count, 1, 1)),
        "depth": np.full((count, 48, 64), 2.0, np.float32),
        **changes,
    }
    return {name: values for name, values in whole.items() if values is not None}


def read(folder, *, convention="world_to_camera", save=np.savez, timeline=TIMELINE, **changes):
    save(folder / "results.npz", **arrays(**changes))
    return read_da3(PoseSource(path=folder / "results.npz", timeline=timeline, convention=convention)).trajectory


def refused(folder, **changes):
    with pytest.raises(ArtifactError) as raised:
        read(folder, **changes)
    assert str(raised.value).startswith("results.npz: ")
    return raised.value.reason, str(raised.value)


def same(first, second):
    for name in ("camera_to_world", "intrinsics", "median_depth"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), atol=1e-6)
    np.testing.assert_array_equal(first.frame_indices, second.frame_indices)
    assert (first.width, first.height, first.frame_count) == (second.width, second.height, second.frame_count)


def test_a_trajectory_is_read(tmp_path):
    trajectory = read(tmp_path)
    np.testing.assert_allclose(trajectory.camera_to_world, camera_to_world(), atol=1e-12)
    np.testing.assert_allclose(trajectory.centres[3], (0.3, 0, -1), atol=1e-12)
    assert trajectory.intrinsics.shape == (COUNT, 3, 3)
    assert trajectory.median_depth.tolist() == [2.0] * COUNT
    assert (trajectory.width, trajectory.height, trajectory.frame_count) == (64, 48, 41)


def test_both_conventions_give_one_trajectory(tmp_path):
    to_camera = read(tmp_path, extrinsics=np.linalg.inv(camera_to_world()))
    to_world = read(tmp_path, extrinsics=camera_to_world(), convention="camera_to_world")
    same(to_camera, to_world)


def test_the_wrong_convention_gives_another_trajectory(tmp_path):
    right, wrong = (read(tmp_path, convention=name) for name in ("world_to_camera", "camera_to_world"))
    assert np.abs(right.camera_to_world - wrong.camera_to_world).max() > 0.1


def test_an_unknown_convention_is_a_mistake_of_the_caller(tmp_path):
    with pytest.raises(ValueError, match="world_to_camera or camera_to_world, not 'c2w'"):
        read(tmp_path, convention="c2w")


@pytest.mark.parametrize("rows", [3, 4])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_three_and_four_rows_are_read_alike(tmp_path, rows, save):
    same(read(tmp_path), read(tmp_path, extrinsics=np.linalg.inv(camera_to_world())[:, :rows], save=save))


def test_column_order_of_small_arrays_is_read(tmp_path):
    same(read(tmp_path), read(tmp_path, extrinsics=np.asfortranarray(arrays()["extrinsics"])))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4"])
def test_precision_of_storage_hardly_matters(tmp_path, dtype):
    found = read(tmp_path, extrinsics=arrays()["extrinsics"].astype(dtype))
    assert found.camera_to_world.dtype == np.float64
    np.testing.assert_allclose(found.camera_to_world, camera_to_world(), atol=5e-3)


# Frames


def test_poses_without_indices_are_spread_over_the_video(tmp_path):
    assert read(tmp_path).frame_indices.tolist() == [0, 10, 20, 30, 40]


def test_as_many_poses_as_frames_belong_to_one_each(tmp_path):
    assert read(tmp_path, count=41).frame_indices.tolist() == list(range(41))
    assert read(tmp_path, count=1).frame_indices.tolist() == [0]


@pytest.mark.parametrize("dtype", ["i8", "i4", "u2", "u8"])
def test_given_indices_are_kept(tmp_path, dtype):
    found = read(tmp_path, frame_indices=np.array([0, 1, 5, 6, 40], dtype)).frame_indices
    assert found.tolist() == [0, 1, 5, 6, 40]
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    "indices",
    [
        [0, 1, 2, 3, 41],
        [-1, 1, 2, 3, 4],
        [0, 2, 1, 3, 4],
        [0, 1, 1, 3, 4],
        [0, 1, 2, 3],
        [[0], [1], [2], [3], [4]],
        [0.0, 1.0, 2.0, 3.0, 4.0],
        np.array([0, 2**62, 2**63 - 1, -(2**62), 5]),
        np.array([0, 1, 2, 3, 2**64 - 1], np.uint64),
        7,
    ],
)
def test_indices_that_are_no_frames_in_order_are_refused(tmp_path, indices):
    reason, message = refused(tmp_path, frame_indices=np.asarray(indices))
    assert reason is Reason.INVALID_INPUT
    assert "frame_indices" in message


def test_more_poses_than_frames_need_indices(tmp_path):
    reason, message = refused(tmp_path, count=42)
    assert reason is Reason.INVALID_INPUT
    assert "42 poses for a video of 41 frames" in message


# Arrays that are not what they should be


@pytest.mark.parametrize("name", ["extrinsics", "intrinsics", "depth"])
def test_a_missing_array_is_named(tmp_path, name):
    reason, message = refused(tmp_path, **{name: None})
    assert reason is Reason.INVALID_INPUT
    assert f"no array named {name!r}; found: " in message


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("extrinsics", np.eye(4)),
        ("extrinsics", np.zeros((0, 3, 4))),
        ("extrinsics", np.zeros((COUNT, 3, 3))),
        ("extrinsics", np.zeros((COUNT, 4, 3))),
        ("extrinsics", np.zeros((1, COUNT, 3, 4))),
        ("extrinsics", np.float64(1)),
        ("intrinsics", np.eye(3)),
        ("intrinsics", np.tile(np.eye(3), (COUNT + 1, 1, 1))),
        ("intrinsics", np.tile(np.eye(4), (COUNT, 1, 1))),
        ("depth", np.ones((COUNT, 48 * 64))),
        ("depth", np.ones((COUNT - 1, 48, 64))),
        ("depth", np.ones((COUNT, 48, 0))),
        ("depth", np.ones((COUNT, 48, 64, 1))),
    ],
)
def test_a_wrong_shape_is_told(tmp_path, name, values):
    reason, message = refused(tmp_path, **{name: values})
    assert reason is Reason.INVALID_INPUT
    assert f"{name} has the shape {values.shape}, expected" in message


@pytest.mark.parametrize("name", ["extrinsics", "intrinsics", "depth"])
@pytest.mark.parametrize("dtype", ["complex128", "bool"])
def test_numbers_have_to_be_real(tmp_path, name, dtype):
    reason, message = refused(tmp_path, **{name: arrays()[name].astype(dtype)})
    assert reason is Reason.INVALID_INPUT
    assert "expected real numbers" in message


@pytest.mark.parametrize("name", ["extrinsics", "intrinsics"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e13, -1e200])
def test_poses_that_are_not_finite_or_beyond_all_measure_have_failed(tmp_path, name, value):
    values = arrays()[name]
    values[2, 0, 0] = value
    reason, message = refused(tmp_path, **{name: values})
    assert reason is Reason.POSE_FAILED
    assert name in message


def scaled(matrices):
    matrices[1, :3, :3] *= 1.1


def mirrored(matrices):
    matrices[1, :3, 0] *= -1


def zero(matrices):
    matrices[1, :3, :3] = 0


def sheared(matrices):
    matrices[1, 0, 1] += 0.1


def large(matrices):
    matrices[1, :3, :3] = 1e11


@pytest.mark.parametrize("change", [scaled, mirrored, zero, sheared, large])
@pytest.mark.parametrize("convention", ["world_to_camera", "camera_to_world"])
def test_matrices_that_are_no_rotations_have_failed(tmp_path, change, convention):
    values = arrays()["extrinsics"]
    change(values)
    reason, message = refused(tmp_path, extrinsics=values, convention=convention)
    assert reason is Reason.POSE_FAILED
    assert "not rotations" in message


def test_transposed_matrices_are_not_taken_for_poses(tmp_path):
    reason, message = refused(tmp_path, extrinsics=camera_to_world().transpose(0, 2, 1))
    assert reason is Reason.INVALID_INPUT
    assert "transposed" in message


@pytest.mark.parametrize("entry", [(0, 0), (1, 1)])
@pytest.mark.parametrize("focal", [0, -50])
def test_a_focal_length_has_to_be_positive(tmp_path, entry, focal):
    values = arrays()["intrinsics"]
    values[3][entry] = focal
    reason, message = refused(tmp_path, intrinsics=values)
    assert reason is Reason.POSE_FAILED
    assert "focal length" in message


def test_transposed_intrinsics_are_refused(tmp_path):
    reason, message = refused(tmp_path, intrinsics=arrays()["intrinsics"].transpose(0, 2, 1))
    assert reason is Reason.INVALID_INPUT
    assert "[[fx, s, cx]" in message


# Depth


def test_the_median_is_over_valid_depths_only(tmp_path):
    depth = np.full((COUNT, 48, 64), 3.0)
    depth[:, :, :32] = np.nan
    depth[:, :8] = -1
    depth[:, 8:16] = np.inf
    depth[:, 16:24] = 0
    depth[4] = 7
    assert read(tmp_path, depth=depth).median_depth.tolist() == [3, 3, 3, 3, 7]


def test_where_only_some_depth_maps_are_read_the_last_of_them_stands_for_the_rest(tmp_path):
    depth = np.arange(1.0, COUNT + 1)[:, None, None] * np.ones((COUNT, 48, 64))
    depth[3] = np.nan  # never looked at
    path = tmp_path / "results.npz"
    np.savez(path, **arrays(depth=depth))
    some = read_da3(PoseSource(path=path, timeline=TIMELINE, depth_maps=2)).trajectory
    assert some.median_depth.tolist() == [1, 2, 2, 2, 2]


@pytest.mark.parametrize("dtype", ["f2", "f4", "u2", "i4"])
def test_depth_in_any_number_type_is_read(tmp_path, dtype):
    assert read(tmp_path, depth=np.full((COUNT, 48, 64), 4).astype(dtype)).median_depth.tolist() == [4.0] * COUNT


def test_a_depth_map_smaller_than_the_stride_has_a_median(tmp_path):
    assert read(tmp_path, depth=np.full((COUNT, 2, 3), 4.0)).median_depth.tolist() == [4.0] * COUNT


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf])
def test_a_depth_map_without_any_valid_depth_has_failed(tmp_path, value):
    depth = np.ones((COUNT, 48, 64))
    depth[2] = value
    reason, message = refused(tmp_path, depth=depth)
    assert reason is Reason.POSE_FAILED
    assert "depth map" in message


MEASURE_MEMORY = """
import re, sys
from pathlib import Path
import numpy as np
from lookaway.core import Timeline
from lookaway.io.pose_files.layouts import read_da3
from lookaway.io.pose_files.source import PoseSource

def peak_megabytes():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

before = peak_megabytes()
timeline = Timeline(times_seconds=np.arange(100) / 16, width=64, height=48)
trajectory = read_da3(PoseSource(path=Path(sys.argv[1]), timeline=timeline)).trajectory
print(len(trajectory.median_depth), peak_megabytes() - before)
"""


def test_200_megabytes_of_depth_are_streamed(tmp_path):
    depth = np.broadcast_to(np.float32(2), (100, 720, 728))
    assert depth.size * 4 > 200_000_000
    np.savez(tmp_path / "results.npz", **arrays(count=100, depth=depth))
    run = subprocess.run(
        [sys.executable, "-c", MEASURE_MEMORY, str(tmp_path / "results.npz")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    poses, grown = run.stdout.split()
    print(f"{grown} MB for 200 MB of depth")
    assert int(poses) == 100
    assert float(grown) < 30
