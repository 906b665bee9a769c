from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Case, Reason, Reference, Rollout, Timeline, Trajectory, UnknownName, Unmeasurable, UserError
from lookaway.metrics.relative_pose import RelativeRotationError, RelativeTranslationError
from lookaway.perception.poses.reference_poses import ReferencePoses
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from lookaway.world.exports.mind import images_text
from tests.metrics.camera_paths import drifting, wandering
from tests.support.clips import write_clip
from tests.support.watching import check_documented, perceive

FRAMES, START = 40, 12
PATH = wandering(FRAMES - START)
ANSWER = Timeline(np.arange(20) / 16, 32, 16)
"""Of an answer that is shorter and smaller than what it is compared with."""
MIND_POSES = SuppliedPoses(layout="colmap", first_frame_number=None, assumed_fov_degrees=90.0)


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    path = tmp_path_factory.mktemp("truth") / "video.mp4"
    return write_clip(path, [np.full((48, 64, 3), 90, np.uint8)] * FRAMES)


@pytest.fixture
def rollout(video, tmp_path):
    return rollout_of(video, images(tmp_path, images_text(PATH)))


def images(folder: Path, text: str) -> Path:
    path = folder / "images.txt"
    path.write_text(text, encoding="utf-8")
    return path


def rollout_of(video: Path, poses: Path | None, start: int = START, **artifacts: Path) -> Rollout:
    if poses is not None:
        artifacts["poses"] = poses
    reference = Reference(video=video, start=start, artifacts=artifacts)
    case = Case(id="room", subset="all", scene="room", reference=reference)
    return Rollout(case=case, model="model", video=Path("clip.mp4"))


def read(rollout: Rollout, recipe: ReferencePoses | None = None) -> Trajectory:
    recipe = recipe or ReferencePoses()
    assert recipe.declines(rollout) is None
    return Trajectory.from_feature(recipe.load().start(rollout, ANSWER, {}).finish())


def refused(rollout: Rollout) -> tuple[Reason, str]:
    with pytest.raises(Unmeasurable) as caught:
        read(rollout)
    return caught.value.reason, str(caught.value)


def test_the_poses_of_the_true_video_come_back(rollout):
    trajectory = read(rollout)
    np.testing.assert_allclose(trajectory.camera_to_world, PATH, atol=1e-8)
    assert (trajectory.width, trajectory.height) == (64, 48)


def test_frames_count_from_the_one_that_the_answer_begins_at(rollout):
    trajectory = read(rollout)
    assert trajectory.frame_indices.tolist() == list(range(FRAMES - START))
    assert trajectory.frame_count == FRAMES - START


@pytest.mark.parametrize("first", [1, START, 5000])
def test_the_first_image_is_that_frame_whatever_its_number(video, tmp_path, first):
    text = images_text(PATH)
    for number in reversed(range(len(PATH))):
        text = text.replace(f"frame_{number:06d}", f"frame_{number + first:06d}")
    trajectory = read(rollout_of(video, images(tmp_path, text)))
    assert trajectory.frame_indices.tolist() == list(range(FRAMES - START))
    np.testing.assert_allclose(trajectory.camera_to_world, PATH, atol=1e-8)


def test_a_missing_image_leaves_a_gap_and_shifts_nothing(video, tmp_path):
    lines = images_text(PATH).split("\n\n")
    del lines[3]
    trajectory = read(rollout_of(video, images(tmp_path, "\n\n".join(lines))))
    assert trajectory.frame_indices.tolist() == [0, 1, 2, *range(4, FRAMES - START)]


def test_without_lines_of_points_no_pose_is_lost(video, tmp_path):
    text = images_text(PATH).replace("\n\n", "\n")
    assert len(read(rollout_of(video, images(tmp_path, text))).camera_to_world) == FRAMES - START


def test_the_answer_s_own_poses_do_not_matter(rollout, tmp_path):
    (tmp_path / "answer").mkdir()
    own = images(tmp_path / "answer", images_text(drifting(PATH, 3)))
    with_own = Rollout(case=rollout.case, model="model", video=rollout.video, artifacts={"poses": own})
    np.testing.assert_array_equal(read(with_own).camera_to_world, read(rollout).camera_to_world)


def test_a_lens_that_nobody_wrote_down_is_assumed_and_told(rollout):
    feature = ReferencePoses().load().start(rollout, ANSWER, {}).finish()
    check_documented(ReferencePoses(), feature)
    assert feature["intrinsics"][0].tolist() == [[pytest.approx(32), 0, 32], [0, pytest.approx(32), 24], [0, 0, 1]]
    assert feature.detail["intrinsics"] == "assumed: a horizontal field of view of 90 degrees"


def test_a_lens_beside_the_true_video_is_used(rollout, video, tmp_path):
    lens = tmp_path / "cameras.txt"
    lens.write_text("1 PINHOLE 64 48 50 55 32 24\n", encoding="utf-8")
    posed = rollout_of(video, rollout.case.reference.artifacts["poses"], intrinsics=lens)
    assert read(posed).intrinsics[0].tolist() == [[50, 0, 32], [0, 55, 24], [0, 0, 1]]


def test_it_asks_for_no_frame_and_is_there_for_the_engine(rollout, video):
    assert ReferencePoses().load().start(rollout, ANSWER, {}).request is None
    watched = Rollout(case=rollout.case, model="model", video=video)
    assert len(perceive(ReferencePoses(), watched)["frame_indices"]) == FRAMES - START


def test_other_layouts_are_read_too(video, tmp_path):
    np.savez(tmp_path / "poses.npz", data=PATH, inds=np.arange(FRAMES - START))
    trajectory = read(rollout_of(video, tmp_path / "poses.npz"), ReferencePoses(layout="vipe"))
    np.testing.assert_array_equal(trajectory.camera_to_world, PATH)


# What must be declined


def test_a_case_without_a_true_video_is_declined():
    bare = Rollout(case=Case(id="a", subset="all", scene="a"), model="model", video=Path("clip.mp4"))
    declined = ReferencePoses().declines(bare)
    assert (declined.reason, declined.message) == (Reason.MISSING_INPUT, "the case names no reference video.")
    with pytest.raises(Unmeasurable, match="no reference video"):
        ReferencePoses().load().start(bare, ANSWER, {}).finish()


def test_a_true_video_without_poses_is_declined(video, tmp_path):
    unposed = rollout_of(video, None)
    with_own = Rollout(case=unposed.case, model="m", video=video, artifacts={"poses": images(tmp_path, "")})
    for rollout in (unposed, with_own):
        declined = ReferencePoses().declines(rollout)
        assert declined.reason is Reason.MISSING_INPUT
        assert declined.message == (
            f"there is no images.txt beside the reference video {video.parent.name}/video.mp4. Put its camera from "
            "frame 12 on there, as COLMAP writes it."
        )


def test_poses_that_are_not_there_are_declined(video, tmp_path):
    declined = ReferencePoses().declines(rollout_of(video, tmp_path / "images.txt"))
    assert declined.reason is Reason.MISSING_INPUT
    assert declined.message == "the reference video: there is no file of camera poses at images.txt."


def test_poses_of_more_frames_than_follow_are_those_of_other_frames(video, tmp_path):
    whole = rollout_of(video, images(tmp_path, images_text(wandering(FRAMES))))
    reason, message = refused(whole)
    assert reason is Reason.INVALID_INPUT
    assert message == (
        "the reference video from frame 12 on: images.txt: numbers in image names must increase within 0 to 27, found "
        "0 to 39. Leave out the poses of other frames."
    )


def test_the_published_way_takes_the_first_images_however_many_frames_follow(video, tmp_path):
    path = wandering(FRAMES)
    trajectory = read(rollout_of(video, images(tmp_path, images_text(path))), ReferencePoses(counts_images=True))
    assert trajectory.frame_indices.tolist() == list(range(FRAMES))
    assert trajectory.frame_count == FRAMES
    np.testing.assert_allclose(trajectory.camera_to_world, path, atol=1e-8)


def test_the_published_way_does_not_shorten_a_video_that_has_fewer_images_than_frames(video, tmp_path):
    rollout = rollout_of(video, images(tmp_path, images_text(PATH[:9])))
    trajectory = read(rollout, ReferencePoses(counts_images=True))
    assert (len(trajectory.frame_indices), trajectory.frame_count) == (9, FRAMES - START)


def test_images_that_are_counted_are_images_of_colmap():
    with pytest.raises(UserError, match="Only COLMAP's images can be counted, found the layout 'vipe'"):
        ReferencePoses(layout="vipe", counts_images=True)


def test_an_answer_that_begins_after_the_true_video_ends_is_unmeasurable(video, tmp_path):
    reason, message = refused(rollout_of(video, images(tmp_path, images_text(PATH)), start=FRAMES))
    assert reason is Reason.INVALID_RECORD
    assert "generated videos begin at frame 40, but video.mp4 has 40 frames" in message
    last = rollout_of(video, images(tmp_path, images_text(PATH[:1])), start=FRAMES - 1)
    assert read(last).frame_indices.tolist() == [0]


def test_a_true_video_that_is_not_there_is_missing(tmp_path):
    reason, message = refused(rollout_of(tmp_path / "video.mp4", images(tmp_path, images_text(PATH))))
    assert reason is Reason.MISSING_VIDEO
    assert message.startswith("the reference video from frame 12 on: video.mp4")


def test_a_recipe_that_makes_no_sense_is_refused():
    with pytest.raises(UnknownName, match="Did you mean 'colmap'"):
        ReferencePoses(layout="colnap")
    with pytest.raises(UserError, match="field of view"):
        ReferencePoses(assumed_fov_degrees=0)


def test_matrices_that_are_nearly_rotations_are_as_good_as_the_recipe_says(video, tmp_path):
    sheared = PATH.copy()
    sheared[:, 0, 1] += 0.02
    np.savez(tmp_path / "poses.npz", data=sheared, inds=np.arange(len(PATH)))
    rollout = rollout_of(video, tmp_path / "poses.npz")
    assert len(read(rollout, ReferencePoses(layout="vipe", rotation_tolerance=0.1)).frame_indices) == len(PATH)
    with pytest.raises(
        Unmeasurable, match=r"the reference video from frame 12 on: .* data holds matrices that are not rotations"
    ):
        read(rollout, ReferencePoses(layout="vipe"))


# Together with the poses of an answer, as MIND is exported


@pytest.mark.parametrize("degrees", [0.0, 0.25, 2.0])
def test_what_is_written_for_mind_has_the_errors_that_were_put_in(rollout, tmp_path, degrees):
    (tmp_path / "answer").mkdir()
    own = images(tmp_path / "answer", images_text(drifting(PATH, degrees)))
    answer = Rollout(case=rollout.case, model="model", video=rollout.video, artifacts={"poses": own})
    timeline = Timeline(np.arange(FRAMES - START) / 16, 64, 48)
    features = {
        "poses": MIND_POSES.load().start(answer, timeline, {}).finish(),
        "reference_poses": ReferencePoses().load().start(answer, timeline, {}).finish(),
    }
    rotation = RelativeRotationError().measure(answer, features)
    assert rotation.detail["count"] == FRAMES - START - 1
    assert rotation.value == pytest.approx(degrees, rel=1e-5, abs=1e-6)
    translation = RelativeTranslationError().measure(answer, features)
    assert translation.value == pytest.approx(0, abs=1e-6) if degrees == 0 else translation.value > 1e-6
