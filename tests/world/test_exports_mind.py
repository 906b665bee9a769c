from __future__ import annotations

import json

import av
import numpy as np
import pytest

from lookaway.core import mirrored_frames
from lookaway.world.exports import export_world
from lookaway.world.exports.mind import SAME_POSE
from tests.support.exported import (
    FRAMES,
    LEFT,
    ORBIT,
    QUIET,
    RIGHT,
    STATIC,
    clip_of,
    world_root,
    world_root_with_a_quiet_case,
)
from tests.support.pose_conventions import from_colmap, from_unreal

pytestmark = pytest.mark.render


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    root = tmp_path_factory.mktemp("mind") / "out"
    return root, export_world(world_root(), "mind", root)


@pytest.fixture
def truth(exported):
    return exported[0] / "MIND-Data/1st_data/test/mem_test" / LEFT.case


def predicted(exported, model):
    return exported[0] / f"models/{model}/1st_data/mem_test" / LEFT.case


def actions(folder):
    return json.loads((folder / "action.json").read_text())


def vectors(rows, name):
    return np.array([[row[name][axis] for axis in "xyz"] for row in rows])


def cameras_in(path):
    """As MIND reads it: every second line that is no comment, quaternion first."""
    lines = [line for line in path.read_text().split("\n") if not line.startswith("#")]
    rows = [line.split() for line in lines[:-1:2]]
    assert all(not line for line in lines[1::2])
    assert [row[0] for row in rows] == [str(number + 1) for number in range(len(rows))]
    assert [row[8:] for row in rows] == [["1", f"images/frame_{number:06d}.jpg"] for number in range(len(rows))]
    numbers = np.array([row[1:8] for row in rows], float)
    return from_colmap(numbers[:, :4], numbers[:, 4:])


def planes(path):
    """Brightness as decoded, without any conversion."""
    with av.open(str(path)) as file:
        return [picture.reformat(format="gray").to_ndarray() for picture in file.decode(video=0)]


def test_the_context_ends_where_the_target_is_lost(truth):
    content = actions(truth)
    assert content["mark_time"] == clip_of(LEFT).card.phases.disappeared[0]
    assert content["total_time"] == FRAMES == len(content["data"])
    assert content["caption"] == clip_of(LEFT).card.caption
    assert 0 < content["mark_time"] < FRAMES


def test_every_frame_has_its_keys_and_the_actor_s_place(truth):
    for frame, row in enumerate(actions(truth)["data"]):
        assert set(row) == {"time", "ws", "ad", "ud", "lr", "actor_pos", "actor_rpy"}
        assert row["time"] == frame
        assert all(isinstance(row[key], int) and 0 <= row[key] <= 2 for key in ("ws", "ad", "ud", "lr"))
        assert all(isinstance(row[name][axis], float) for name in ("actor_pos", "actor_rpy") for axis in "xyz")


def test_keys_say_where_the_camera_turns_next(truth):
    held = [row["lr"] for row in actions(truth)["data"]]
    assert held == [0] * 6 + [1] * 6 + [0] * 12 + [2] * 6 + [0] * 6
    yaw = vectors(actions(truth)["data"], "actor_rpy")[:, 2]
    assert all(yaw[frame + 1] < yaw[frame] for frame in range(6, 12))  # Unreal counts turns to the right


def test_the_actor_is_the_true_camera_in_unreal_s_terms(truth):
    rows = actions(truth)["data"]
    cameras = clip_of(LEFT).arrays().camera_to_world
    assert np.abs(from_unreal(vectors(rows, "actor_pos"), vectors(rows, "actor_rpy")) - cameras).max() < 1e-6
    assert vectors(rows, "actor_pos")[0, 2] == pytest.approx(100 * cameras[0, 2, 3])


@pytest.mark.parametrize("model", ["perfect", "still"])
def test_poses_begin_at_the_mark_and_are_the_executed_cameras(exported, truth, model):
    mark = actions(truth)["mark_time"]
    executed = clip_of(LEFT, model).arrays().camera_to_world[mark:]
    assert np.abs(cameras_in(predicted(exported, model) / "images.txt") - executed).max() < 1e-6
    if model == "perfect":
        assert np.abs(cameras_in(truth / "images.txt") - executed).max() < 1e-6


@pytest.mark.parametrize("model", ["perfect", "still"])
def test_a_prediction_is_what_the_model_made_from_the_mark_on_without_loss(exported, truth, model):
    mark = actions(truth)["mark_time"]
    made, cut = planes(clip_of(LEFT, model).video)[mark:], planes(predicted(exported, model) / "video.mp4")
    assert len(cut) == FRAMES - mark
    assert all(np.array_equal(one, other) for one, other in zip(made, cut, strict=True))


def test_the_prediction_of_the_perfect_model_is_the_end_of_the_truth(exported, truth):
    whole, cut = planes(truth / "video.mp4"), planes(predicted(exported, "perfect") / "video.mp4")
    assert np.array_equal(np.stack(whole[-len(cut) :]), np.stack(cut))
    assert (truth / "video.mp4").samefile(clip_of(LEFT).video)


def test_all_folders_are_there_without_which_the_evaluator_does_not_start(exported):
    for view in ("1st_data", "3rd_data"):
        for test in ("mem_test", "action_space_test"):
            assert (exported[0] / "MIND-Data" / view / "test" / test).is_dir()
        for test in ("mem_test", "action_space_test", "mirror_test"):
            assert (exported[0] / "models/perfect" / view / test).is_dir()


def test_takes_compete_under_names_of_their_own(exported):
    assert {path.name for path in (exported[0] / "models").iterdir()} == {"perfect", "still", "still_take1"}
    assert {path.name for path in (exported[0] / "models/still_take1/1st_data/mem_test").iterdir()} == {LEFT.case}
    assert {path.name for path in (exported[0] / "models/still/1st_data/mem_test").iterdir()} == {LEFT.case, RIGHT.case}


def test_cases_in_which_nothing_is_lost_are_left_out_by_name(exported):
    left_out = exported[1].left_out
    assert exported[1].written == 5
    assert [ORBIT.case in left_out[0], STATIC.case in left_out[1]] == [True, True]
    assert all("does not leave the view" in text for text in left_out)
    notes = json.loads((exported[0] / "lookaway_export.json").read_text())
    assert notes["left_out"] == list(left_out)
    assert notes["cases"].keys() == {LEFT.case, RIGHT.case}


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """With a memory test in which nothing happens by itself."""
    root = tmp_path_factory.mktemp("mind") / "out"
    export_world(world_root_with_a_quiet_case(), "mind", root)
    return root


def way_back(root, case):
    return json.loads((root / "lookaway_export.json").read_text())["cases"][case.case]["mirror_test"]


def test_a_quiet_way_out_and_back_is_a_mirror_test_of_every_model(quiet):
    found = sorted(path.relative_to(quiet / "models") for path in quiet.glob("models/*/*/mirror_test/*/*"))
    assert [str(path) for path in found] == [
        f"{model}/1st_data/mirror_test/{QUIET.case}/path-1.mp4" for model in ("perfect", "still")
    ]


def test_a_mirror_test_shows_every_view_again_in_the_opposite_order(quiet):
    frames = way_back(quiet, QUIET)["frames"]
    assert frames == [*range(1, 18), *range(19, 36)]  # the camera turns at frame 18
    cameras = clip_of(LEFT).arrays().camera_to_world[frames]
    assert np.abs(cameras - cameras[::-1]).max() < 1e-6


@pytest.mark.parametrize("model", ["perfect", "still"])
def test_a_mirror_test_is_cut_from_what_the_model_made_without_loss(quiet, model):
    made = planes(clip_of(LEFT, model).video)
    cut = planes(quiet / f"models/{model}/1st_data/mirror_test/{QUIET.case}/path-1.mp4")
    frames = way_back(quiet, QUIET)["frames"]
    assert all(np.array_equal(made[frame], picture) for frame, picture in zip(frames, cut, strict=True))


def test_a_target_that_changes_by_itself_is_no_mirror_test_and_the_notes_say_so(quiet):
    assert way_back(quiet, LEFT) == {"left_out": "the target changes: its event is 'in_place'"}


def turning(degrees):
    """A camera that stands still and turns."""
    angles = np.radians(degrees)
    poses = np.tile(np.eye(4), (len(angles), 1, 1))
    poses[:, 0, 0] = poses[:, 2, 2] = np.cos(angles)
    poses[:, 0, 2], poses[:, 2, 0] = np.sin(angles), -np.sin(angles)
    return poses


@pytest.mark.parametrize(
    ("degrees", "frames"),
    [
        ([0, 10, 20, 20, 10, 0], (0, 1, 2, 3, 4, 5)),
        ([0, 10, 20, 10, 0], (0, 1, 3, 4)),
        ([50, 0, 10, 20, 20, 10, 0, 70], (1, 2, 3, 4, 5, 6)),
        ([0, 0, 0, 0, 0, 10, 20, 10, 5, 9], None),  # one view that is seen again leads nowhere
        ([0, 10, 0, 30, 40, 50, 40, 30, 0, 10, 0], (0, 1, 2, 3, 4, 6, 7, 8, 9, 10)),
    ],
)
def test_the_longest_way_that_is_gone_back_is_found(degrees, frames):
    assert mirrored_frames(turning(degrees), SAME_POSE) == frames


@pytest.mark.parametrize("degrees", [[0] * 8, list(range(0, 360, 30)), [0, 10, 20, 15, 5, 0], [0], [0, 10]])
def test_a_camera_that_stays_or_comes_back_another_way_has_no_way_back(degrees):
    assert mirrored_frames(turning(degrees), SAME_POSE) is None


def test_a_camera_that_comes_back_beside_its_way_has_no_way_back():
    poses = turning([0, 10, 20, 20, 10, 0])
    poses[3:, 1, 3] = 0.01
    assert mirrored_frames(poses, SAME_POSE) is None
