from __future__ import annotations

import csv
import json
import re

import cv2
import numpy as np
import openpyxl
import pytest

from lookaway.io.video import Video
from lookaway.world.exports import export_world
from tests.support.exported import FRAMES, LEFT, RIGHT, clip_of, world_root
from tests.support.pose_conventions import from_camera_track

pytestmark = pytest.mark.render

NAMES = {RIGHT.case: "playroom_001", LEFT.case: "playroom_002"}
DIMENSIONS = {"Instruction Following", "Object and Background", "Continuity of Memory", "Physics Adherence"}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    root = tmp_path_factory.mktemp("memobench") / "out"
    return root, export_world(world_root(), "memobench", root)


@pytest.fixture
def truth(exported):
    return exported[0] / "data/Synthetic_processed/playroom/playroom_002"


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def sheet(path):
    """The cells of the only sheet, row by row."""
    (only,) = openpyxl.load_workbook(path).worksheets
    return [list(row) for row in only.iter_rows(values_only=True)]


def test_a_clip_has_all_folders_with_its_number(truth):
    assert {path.name for path in truth.iterdir()} == {"RGB2", "Depth2", "2", "camera_full2.csv"}
    assert {path.name for path in (truth / "2").iterdir()} == {"intrinsics.npy", "poses.npy"}
    for folder, suffix in (("RGB2", "jpg"), ("Depth2", "npy")):
        names = sorted(path.name for path in (truth / folder).iterdir())
        assert names == [f"NewLevelSequence2.{frame:04d}.{suffix}" for frame in range(FRAMES)]


def test_poses_are_the_true_cameras_twice(truth):
    cameras = clip_of(LEFT).arrays().camera_to_world
    stored = np.load(truth / "2/poses.npy")
    assert stored.shape == (FRAMES, 4, 4)
    assert np.abs(stored - cameras).max() < 1e-6
    rows = table(truth / "camera_full2.csv")
    location, turns = (
        np.array([[float(row[f"{kind}_{axis}"]) for axis in "xyz"] for row in rows]) for kind in ("loc", "rot")
    )
    assert np.abs(from_camera_track(location, turns) - cameras).max() < 1e-6


def test_the_lens_stands_in_every_row_as_two_lengths_and_a_middle(truth):
    lens = clip_of(LEFT).arrays().intrinsics
    stored = np.load(truth / "2/intrinsics.npy")
    assert stored.shape == (FRAMES, 4)
    assert np.abs(stored - [lens[0, 0], lens[1, 1], lens[0, 2], lens[1, 2]]).max() < 1e-9
    row = table(truth / "camera_full2.csv")[-1]
    assert [float(row[name]) for name in ("fx", "fy", "cx", "cy")] == pytest.approx(stored[-1].tolist())


def test_frames_and_depth_are_those_of_the_truth(truth):
    with Video(clip_of(LEFT).video) as video:
        first = next(iter(video.windows(1)))[0].pixels
    stored = cv2.imread(str(truth / "RGB2/NewLevelSequence2.0000.jpg"))[..., ::-1]
    assert stored.shape == first.shape
    assert np.abs(stored.astype(int) - first).mean() < 1
    for frame, depth in enumerate(clip_of(LEFT).depth()):
        assert np.array_equal(np.load(truth / f"Depth2/NewLevelSequence2.{frame:04d}.npy"), depth)


def test_keyframes_are_where_the_target_is_lost_and_found(exported):
    rows = sheet(exported[0] / "data/Synthetic_processed/Synthetic_ExitReenter.xlsx")
    assert rows[0] == ["video_folder", "exits", "re-enter", "prompt"]
    for case, row in zip((RIGHT, LEFT), rows[1:], strict=True):
        phases = clip_of(case).card.phases
        assert row[:3] == [NAMES[case.case], phases.disappeared[0], phases.reappeared[0]]
        assert clip_of(case).card.caption in row[3]


def test_the_subject_can_be_found_in_the_prompt(exported):
    rows = table(exported[0] / "data/sam3_metadata/synthetic_metadata.csv")
    assert list(rows[0]) == ["scene", "video_id", "subject", "exr_path", "prompt"]
    assert [(row["scene"], row["video_id"]) for row in rows] == [("playroom", "1"), ("playroom", "2")]
    for row in rows:
        found = re.search(r"sees (.*?\(subject\)[^.,]*)", row["prompt"])
        assert found
        assert found[1] == f"the {row['subject']}(subject)"
        assert (exported[0] / row["exr_path"]).is_file()


def test_questions_have_the_answers_that_are_true(exported):
    rows = table(exported[0] / "data/vqa_questions/playroom-2-questions.csv")
    assert len(rows) == 1
    asked, final = (json.loads(rows[0][name]) for name in ("Start Questions", "Final questions"))
    answered = json.loads(rows[0]["Evaluation on ground truth"])
    assert asked == final
    assert [question["ID"] for question in final] == list(range(1, len(final) + 1))
    assert {question["Dimension"] for question in final} == DIMENSIONS
    for dimension in DIMENSIONS:
        polarity = [question["Dimension Polarity"] for question in final if question["Dimension"] == dimension]
        assert set(polarity) == {"Positive", "Negative"}
    for question, answer in zip(final, answered, strict=True):
        assert question.items() <= answer.items()
        assert answer["Verdict"] == "Pass"
        assert answer["Answer"] == {"Positive": "Yes", "Negative": "No"}[question["Dimension Polarity"]]
    true = [question["Question"] for question in final if question["Dimension"] == "Continuity of Memory"][1]
    assert clip_of(LEFT).card.question.answer in true


def test_only_the_true_choice_is_answered_with_yes(exported):
    for case, number in ((RIGHT, 1), (LEFT, 2)):
        row = table(exported[0] / f"data/vqa_questions/playroom-{number}-questions.csv")[0]
        memory = [q for q in json.loads(row["Final questions"]) if q["Dimension"] == "Continuity of Memory"]
        positive = [q["Question"] for q in memory if q["Dimension Polarity"] == "Positive"]
        assert len(positive) == 1
        assert positive[0].endswith(f"{clip_of(case).card.question.answer}?")


def test_the_list_of_clips_to_ask_about_names_their_folders(exported):
    rows = table(exported[0] / "data/vqa_questions/failure-cases.csv")
    assert list(rows[0]) == ["scene", "video_id", "hint", "folder", "Finished", "prompt"]
    assert [row["folder"] for row in rows] == ["playroom_001", "playroom_002"]


def test_generated_videos_lie_where_the_evaluator_looks(exported):
    for model, case in (("perfect", LEFT), ("still", LEFT), ("still", RIGHT)):
        path = exported[0] / f"output/{model}/Synthetic/{NAMES[case.case]}.mp4"
        assert path.samefile(clip_of(case, model).video)
    assert (exported[0] / "output/still_take1/Synthetic/playroom_002.mp4").is_file()
    assert not (exported[0] / "output/still_take1/Synthetic/playroom_001.mp4").exists()


def test_the_notes_say_which_case_a_number_is_and_what_was_left_out(exported):
    notes = json.loads((exported[0] / "lookaway_export.json").read_text())
    assert notes["cases"] == NAMES
    assert exported[1].written == 5
    assert len(exported[1].left_out) == 2
