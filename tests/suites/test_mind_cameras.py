"""MIND's camera errors from the command line's point of view: what is chosen, and what the published code would do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lookaway
from lookaway.core import Case, Floats, Reference, Rollout
from lookaway.engine.locking import content_key
from lookaway.world.exports.mind import images_text
from tests.metrics.camera_paths import drifting, wandering
from tests.support.clips import numbered_frames, write_clip
from tests.support.command import lookaway as command
from tests.support.mind import MindWriter, actions

MARK, FRAMES = 4, 24
TRUE = wandering(FRAMES - MARK)
METRICS = ["mind.corrected.action.rpe_trans", "mind.corrected.action.rpe_rot"]


def larger(path: Floats) -> Floats:
    """The same camera in a world of half the unit."""
    return np.concatenate([np.concatenate([path[:, :3, :3], 2 * path[:, :3, 3:]], axis=2), path[:, 3:]], axis=1)


@pytest.fixture(scope="module")
def clips(tmp_path_factory) -> tuple[bytes, bytes]:
    """The true video, and an answer that goes on after it ends."""
    folder = tmp_path_factory.mktemp("clips")
    return tuple(
        write_clip(folder / f"{count}.mp4", numbered_frames(count, width=64, height=36)).read_bytes()
        for count in (FRAMES, FRAMES + 6)
    )


def dataset(root: Path, clips: tuple[bytes, bytes], true: Floats | None, made: Floats, **record: object) -> Path:
    writer = MindWriter(root)
    poses = None if true is None else images_text(true)
    writer.case(record=actions(MARK, FRAMES, **record), video=clips[0], poses=poses)
    writer.answer(video=clips[1], poses=images_text(made))
    return root


def rows(root: Path, run: Path, **options: object) -> dict[str, dict[str, object]]:
    found = lookaway.evaluate(root, run, metrics=METRICS, **options)
    return {row["metric"].rpartition(".")[2]: row for row in found.items()}


def steps(row: dict[str, object]) -> int:
    return json.loads(row["detail"])["steps"]


def test_the_alignment_that_was_chosen_is_in_the_lock_and_in_the_value(tmp_path, clips):
    root = dataset(tmp_path / "data", clips, TRUE, larger(TRUE))
    values, locks = {}, set()
    for alignment in ("sim3", "se3", "none"):
        output = tmp_path / alignment
        arguments = ("eval", root, "--metrics", ",".join(METRICS), "--alignment", alignment, "-o", output, "--quiet")
        assert command(*arguments).code == 0
        run = lookaway.Run(output)
        assert run.lock.entries["dataset"]["settings"]["alignment"] == alignment
        assert run.lock.entries["metrics"]["mind.corrected.action.rpe_trans"]["metric"]["alignment"] == alignment
        assert run.about["requested"]["reading"] == {"alignment": alignment}
        locks.add(run.lock.sha256)
        values[alignment] = {row["metric"].rpartition(".")[2]: row["value"] for row in run.items()}
    assert len(locks) == 3
    assert values["sim3"]["rpe_trans"] == pytest.approx(0, abs=1e-6)
    lengths = np.linalg.norm(np.diff(TRUE[:, :3, 3], axis=0), axis=1)
    assert values["se3"]["rpe_trans"] == pytest.approx(lengths.mean(), rel=1e-4)
    assert values["none"]["rpe_trans"] == pytest.approx(lengths.mean(), rel=1e-4)
    assert [value["rpe_rot"] for value in values.values()] == [pytest.approx(0, abs=1e-4)] * 3


def test_more_true_images_than_frames_belong_to_other_frames(tmp_path, clips):
    path = wandering(FRAMES + 6)
    root = dataset(tmp_path / "data", clips, path, drifting(path, 1.0), data=actions(MARK, 99)["data"])
    row = rows(root, tmp_path / "run")["rpe_rot"]
    assert (row["status"], row["reason"]) == ("abstention", "invalid_input")
    assert "must increase within 0 to 19, found 0 to 29" in row["message"]


def test_actions_that_end_before_the_mark_have_no_step_to_be_measured(tmp_path, clips):
    root = dataset(tmp_path / "data", clips, TRUE, TRUE, data=actions(MARK, FRAMES)["data"][: MARK - 1])
    for row in rows(root, tmp_path / "run").values():
        assert (row["status"], row["reason"]) == ("abstention", "too_short")
        assert "What is steered is stated for no more" in row["message"]


def test_published_cameras_are_those_of_vipe_and_without_it_the_command_that_makes_it_is_named(tmp_path, clips):
    root = dataset(tmp_path / "data", clips, TRUE, TRUE)
    for row in lookaway.evaluate(root, tmp_path / "run", metrics=["mind.action.rpe_rot"]).items():
        assert (row["status"], row["reason"]) == ("abstention", "missing_weights")
        assert "lookaway.perception.isolation.entry" in row["message"]


def test_a_true_video_without_its_camera_is_told_with_the_file_that_is_missing(tmp_path, clips):
    root = dataset(tmp_path / "data", clips, None, TRUE)
    row = rows(root, tmp_path / "run")["rpe_rot"]
    assert row["reason"] == "missing_input"
    assert (
        "no images.txt beside the reference video street/video.mp4. Put its camera from frame 4 on there"
        in row["message"]
    )


def test_what_is_said_of_a_true_video_and_of_its_controls_is_part_of_what_was_measured():
    def key(end: int | None, controls: tuple[str, ...] | None) -> str:
        reference = Reference(video=Path("true.mp4"), end=end)
        case = Case(id="a", subset="all", scene="a", controls=controls, reference=reference)
        return content_key(Rollout(case=case, model="model", video=Path("clip.mp4")))

    said = [(end, controls) for end in (None, 24, 30) for controls in (None, (), ("forward",))]
    assert len({key(*each) for each in said}) == len(said)


def test_the_command_line_refuses_to_compare_an_answer_with_itself(tmp_path, clips):
    root = dataset(tmp_path / "data", clips, None, TRUE)
    result = command("eval", root, "--use", "reference_poses=tracked_poses", "-o", tmp_path / "run")
    assert result.code == 2
    assert "would be compared with itself" in result.err
    assert not (tmp_path / "run").exists()


def test_only_who_opens_the_videos_is_told_that_a_true_one_is_not_as_long_as_it_says(tmp_path, clips):
    root = dataset(tmp_path / "data", clips, TRUE, TRUE, total_time=30, data=actions(MARK, 30)["data"])
    arguments = ("validate", root, "--metrics", "mind.corrected.action.rpe_rot", "--json")
    assert (command(*arguments).code, command(*arguments).json["problems"]) == (0, [])
    opened = command(*arguments, "--open-videos")
    assert opened.code == 2
    assert opened.json["problems"] == [
        {
            "where": "1st_data/mem_test/street",
            "message": "the reference video has 24 frames, but the dataset says 30",
        }
    ]


def test_who_opens_the_videos_is_told_of_a_true_one_that_cannot_be_read(tmp_path, clips):
    root = dataset(tmp_path / "data", (b"no video", clips[1]), TRUE, TRUE)
    (problem,) = command("validate", root, "--open-videos", "--json").json["problems"]
    assert problem["message"].startswith("the reference video: video.mp4")


def test_a_true_video_as_long_as_it_says_is_no_problem(tmp_path, clips):
    root = dataset(tmp_path / "data", clips, TRUE, TRUE)
    assert command("validate", root, "--open-videos", "--metrics", "mind.corrected.action.rpe_rot").code == 0
