from __future__ import annotations

import os
import re
import shutil

import pytest

from lookaway.core import DatasetError, Reason
from lookaway.engine.reading import read as read_dataset
from lookaway.io.sampling import AtFps
from lookaway.suites.memobench import MemoBench
from lookaway.suites.memobench.layout import MemoBenchReader, looks_like_memobench
from lookaway.suites.memobench.records import ClipKey, Subject, clip_key, read_rows, read_subjects
from tests.support.beside import DATA, needs_subjects
from tests.support.memobench import FRAMES, REAL_HEAD, SYNTHETIC_HEAD, MemoBenchWriter, write_table

PUBLISHED = DATA / "memobench"


@pytest.fixture
def writer(tmp_path):
    return MemoBenchWriter(tmp_path / "data set")


def read(writer, **options):
    reader = MemoBenchReader(writer.root, **options)
    return reader.rollouts(), [(problem.where, problem.message) for problem in reader.problems]


def only(writer, **options):
    (rollout,), problems = read(writer, **options)
    assert problems == []
    return rollout


# What is read


def test_a_generated_clip_stands_beside_its_reference_with_phases_and_cameras(writer):
    folder = writer.synthetic()
    made = writer.generated()
    rollout = only(writer)
    assert (rollout.model, rollout.video, rollout.problem) == ("alpha", made, None)
    case = rollout.case
    assert (case.id, case.subset, case.scene) == ("synthetic/Nordic_003", "synthetic", "Nordic")
    assert (case.target.name, case.prompt) == ("fox", ("A person sees a fox(subject) running. It comes back.",))
    reference = case.reference
    assert (reference.video, reference.start, reference.end) == (folder / "RGB3", 0, FRAMES)
    assert dict(reference.phase_starts) == {"visible": 0, "disappeared": 4, "reappeared": 8}
    assert dict(reference.artifacts) == {"poses": folder / "3/poses.npy", "intrinsics": folder / "3/intrinsics.npy"}
    assert case.first_frame == folder / "RGB3/NewLevelSequence.0000.png"


def test_a_real_clip_is_its_video_and_real_clips_of_one_subject_are_one_scene(writer):
    folder = writer.real(7)
    writer.real(8)
    writer.generated("Real/007.mp4")
    writer.generated("Real/real_008/frames")
    (first, second), problems = read(writer)
    assert problems == []
    assert (first.case.id, first.case.reference.video) == ("real/007", folder / "007.mp4")
    assert first.case.reference.end == FRAMES
    assert dict(first.case.reference.artifacts) == {"poses": folder / "raw/007_mapanything.npz"}
    assert first.case.scene == second.case.scene == "a glass of water"
    assert second.video.name == "frames"


def test_the_frames_of_a_real_clip_do_where_there_is_no_video(writer):
    folder = writer.real(video=None)
    writer.generated("Real/007.mp4")
    assert only(writer).case.reference.video == folder / "FRAMES"


@pytest.mark.parametrize("present", ["poses.npy", "camera_full3.csv", None])
def test_poses_are_looked_for_in_the_published_order(writer, present):
    folder = writer.synthetic()
    shutil.rmtree(folder / "3")
    for name in ("poses.npy", "camera_full3.csv")[0 if present == "poses.npy" else 1 :]:
        if present:
            (folder / name).write_bytes(b"not read here")
    writer.generated()
    artifacts = only(writer).case.reference.artifacts
    assert dict(artifacts) == ({"poses": folder / present} if present else {})


@pytest.mark.parametrize(
    "path",
    [
        "Synthetic/Nordic_003.mp4",
        "Synthetic/Nordic/Nordic_003.mp4",
        "Synthetic/Nordic_003/video.mp4",
        "Synthetic/Nordic/Nordic_003/video.mp4",
        "Synthetic/Nordic_003/frames",
        "Synthetic/Nordic/Nordic_003/frames",
        "Synthetic/Nordic/Nordic_003",
        "Synthetic/Nordic_003/samples-rgb",
        "Nordic_003.mp4",
    ],
)
def test_every_published_place_of_a_generated_clip_is_found(writer, path):
    writer.synthetic()
    made = writer.generated(path)
    assert only(writer).video == made


def test_a_video_wins_over_pictures_and_both_are_reported(writer):
    writer.synthetic()
    writer.generated("Synthetic/Nordic_003/frames")
    made = writer.generated("Synthetic/Nordic_003/video.mp4")
    (rollout,), problems = read(writer)
    assert rollout.video == made
    assert [where for where, _ in problems] == ["output/alpha/Synthetic/Nordic_003/frames"]
    assert "a video wins over pictures" in problems[0][1]


@pytest.mark.parametrize("spelled", ["Zen_Garden_005", "ZenGarden_005", "zengarden_5"])
def test_both_spellings_of_a_scene_are_one_clip(writer, spelled):
    writer.synthetic("ZenGarden", 5, None)
    writer.keyframes["synthetic"].append([spelled, 4, 8, ""])
    writer.tables()
    writer.generated(f"Synthetic/{spelled}.mp4")
    assert only(writer).case.id == "synthetic/ZenGarden_005"


def test_two_folders_that_are_one_clip_are_a_problem(writer):
    writer.synthetic("ZenGarden", 5)
    writer.synthetic("Zen_Garden", 5)
    writer.generated("Synthetic/ZenGarden_005.mp4")
    rollouts, problems = read(writer)
    assert len(rollouts) == 1
    assert any("another spelling" in message or "same clip" in message for _, message in problems)


@pytest.mark.parametrize("head", [SYNTHETIC_HEAD, ("id", "exit", "reenter", "prompt"), ("ID ", "Exits", "Reenter", "")])
def test_every_spelling_of_the_columns_is_read(writer, head):
    writer.synthetic()
    writer.generated()
    table = writer.data / "Synthetic_processed/Synthetic_ExitReenter.csv"
    write_table(table, head, [["Nordic_003", "4", "8.0", ""]])
    assert dict(only(writer).case.reference.phase_starts) == {"visible": 0, "disappeared": 4, "reappeared": 8}


def test_keyframes_may_be_a_spreadsheet(tmp_path):
    writer = MemoBenchWriter(tmp_path, suffix=".xlsx")
    writer.synthetic(keys=(4.0, 8))
    writer.generated()
    assert only(writer).case.reference.phase_starts["disappeared"] == 4


def test_an_empty_prompt_is_no_prompt_but_that_of_the_subjects(writer):
    writer.synthetic(prompt="")
    writer.subjects["synthetic"][0][4] = "from the other table"
    writer.tables()
    writer.generated()
    assert only(writer).case.prompt == ("from the other table",)
    writer.subjects["synthetic"][0][4] = ""
    writer.tables()
    assert only(writer).case.prompt == ()


def test_rows_that_are_to_be_skipped_are_no_cases(writer):
    writer.synthetic()
    writer.synthetic("Nordic", 4)
    head = (*SYNTHETIC_HEAD, "skip")
    rows = [["Nordic_003", 4, 8, "", "Yes"], ["Nordic_004", 4, 8, "", ""]]
    write_table(writer.data / "Synthetic_processed/Synthetic_ExitReenter.csv", head, rows)
    writer.generated("Synthetic/Nordic_004.mp4")
    assert only(writer).case.id == "synthetic/Nordic_004"


def test_the_reference_clips_may_be_elsewhere(writer, tmp_path):
    writer.synthetic()
    writer.generated()
    shutil.move(writer.data, tmp_path / "truth")
    with pytest.raises(DatasetError, match="--ground-truth"):
        read(writer)
    assert only(writer, ground_truth=tmp_path / "truth").case.id == "synthetic/Nordic_003"


def test_a_scene_may_end_in_a_number(writer):
    writer.synthetic("Area_51", 2)
    writer.generated("Synthetic/Area_51/Area_51_002.mp4")
    assert only(writer).case.id == "synthetic/Area_51_002"


# What is missing or wrong


def test_a_case_without_a_generated_clip_is_a_rollout_without_a_video(writer):
    writer.synthetic()
    writer.synthetic("Nordic", 4)
    writer.real()
    writer.generated()
    rollouts, problems = read(writer)
    assert problems == []
    assert [rollout.case.id for rollout in rollouts] == ["synthetic/Nordic_003", "synthetic/Nordic_004"]
    assert not rollouts[1].video.exists()
    assert rollouts[1].video.name == "Nordic_004.mp4"


def test_a_clip_that_the_dataset_does_not_have_is_a_problem(writer):
    writer.synthetic()
    writer.generated()
    writer.generated("Synthetic/Nordic_099.mp4")
    writer.generated("Synthetic/notes/video.mp4")
    _, problems = read(writer)
    assert ("output/alpha/Synthetic/Nordic_099.mp4", "no reference clip has this name; left out") in problems
    assert any(where.startswith("output/alpha/Synthetic/notes") for where, _ in problems)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ((8, 4), "expected 0 < exit <= reenter"),
        ((0, 4), "expected 0 < exit <= reenter"),
        (("soon", 8), "exit: Input should be a valid integer"),
        ((4.5, 8), "exit: Input should be a valid integer"),
        ((4, ""), "reenter: Input should be a valid integer"),
        ((4, 10**8), "reenter: Input should be less than or equal to"),
        ((4, -1), "reenter: Input should be"),
    ],
)
def test_wrong_keyframes_are_named_with_their_row_and_the_clip_is_left_out(writer, keys, message):
    writer.synthetic()
    writer.synthetic("Nordic", 4, keys)
    writer.generated()
    rollouts, problems = read(writer)
    assert [rollout.case.id for rollout in rollouts] == ["synthetic/Nordic_003"]
    assert problems[0][0] == "Synthetic_processed/Synthetic_ExitReenter.csv:3"
    assert message in problems[0][1]
    assert (
        "Synthetic_processed/Nordic/Nordic_004",
        "Synthetic_ExitReenter has no keyframes of it; left out",
    ) in problems


def test_keyframes_beyond_the_frames_make_the_case_unmeasurable(writer):
    writer.synthetic(keys=(4, FRAMES))
    writer.generated()
    rollout = only(writer)
    assert rollout.problem.reason is Reason.INVALID_RECORD
    assert f"there are {FRAMES} frames" in str(rollout.problem)


def test_a_reference_without_frames_makes_the_case_unmeasurable(writer):
    folder = writer.synthetic()
    shutil.rmtree(folder / "RGB3")
    writer.generated()
    rollout = only(writer)
    assert (rollout.problem.reason, "there is no RGB3" in str(rollout.problem)) == (Reason.MISSING_INPUT, True)


def test_keyframes_of_no_folder_and_second_rows_are_problems(writer):
    writer.synthetic()
    writer.keyframes["synthetic"] += [["Nordic_009", 1, 2, ""], ["Nordic_003", 1, 2, ""], ["?", 1, 2, ""]]
    writer.tables()
    writer.generated()
    _, problems = read(writer)
    assert ("Synthetic_processed/Nordic_009", "it has keyframes, but there is no such folder") in problems
    table = "Synthetic_processed/Synthetic_ExitReenter.csv"
    assert (f"{table}:4", "an earlier row is about the same clip; left out") in problems
    assert (f"{table}:5", "the row does not name a clip; left out") in problems


def test_a_part_without_keyframes_is_left_out_as_a_whole(writer):
    writer.synthetic()
    writer.real(keys=None)
    writer.generated()
    _, problems = read(writer)
    assert problems[0] == ("Real_Raw", "there is no Real_ExitReenter.xlsx or .csv; the whole part is left out")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no spreadsheet", b"\xff\xfe,\n"])
@pytest.mark.parametrize("suffix", [".xlsx", ".csv"])
def test_a_table_that_cannot_be_read_is_a_problem(writer, content, suffix):
    writer.synthetic()
    writer.generated()
    writer.real()
    table = writer.data / "Synthetic_processed/Synthetic_ExitReenter.csv"
    table.unlink()
    table.with_suffix(suffix).write_bytes(content)
    _, problems = read(writer)
    assert problems[0][0] == f"Synthetic_processed/Synthetic_ExitReenter{suffix}"


def test_a_table_without_its_columns_says_which_are_expected(tmp_path):
    write_table(tmp_path / "table.csv", REAL_HEAD[:2], [])
    with pytest.raises(DatasetError, match="expected one column reenter or re-enter, found 0 among 2"):
        list(read_rows(tmp_path / "table.csv", {"reenter": ("reenter", "re-enter")}))


def test_a_selection_that_is_not_applied_is_a_problem(writer):
    writer.synthetic()
    writer.generated()
    (writer.data / "Real_Selected.xls").write_bytes(b"")
    _, problems = read(writer)
    assert problems[0][0] == "Real_Selected.xls"


def test_without_any_reference_clip_nothing_is_read(writer):
    writer.synthetic(keys=None)
    writer.generated()
    with pytest.raises(DatasetError, match="no reference clip can be used"):
        read(writer)


def test_without_generated_clips_nothing_is_read(writer):
    writer.synthetic()
    with pytest.raises(DatasetError, match="no generated clips found"):
        read(writer)


# Links


def test_a_video_behind_a_link_that_leads_out_is_refused_unless_allowed(writer, tmp_path):
    writer.synthetic()
    made = writer.generated()
    outside = tmp_path / "elsewhere.mp4"
    made.rename(outside)
    made.symlink_to(outside)
    assert only(writer).problem.reason is Reason.UNSAFE_PATH
    assert only(writer, allow_outside=True).problem is None


def test_a_picture_behind_a_link_that_leads_out_is_refused_unless_allowed(writer, tmp_path):
    folder = writer.synthetic()
    writer.generated()
    picture = folder / "RGB3/NewLevelSequence.0005.png"
    picture.rename(tmp_path / "elsewhere.png")
    picture.symlink_to(tmp_path / "elsewhere.png")
    assert only(writer).problem.reason is Reason.UNSAFE_PATH
    assert only(writer, allow_outside=True).problem is None


def test_a_table_behind_a_link_that_leads_out_is_not_read(writer, tmp_path):
    writer.synthetic()
    writer.real()
    writer.generated()
    table = writer.data / "Real_Raw/Real_ExitReenter.csv"
    table.rename(tmp_path / "elsewhere.csv")
    table.symlink_to(tmp_path / "elsewhere.csv")
    _, problems = read(writer)
    assert "leads out of the dataset" in dict(problems)["Real_Raw/Real_ExitReenter.csv"]


# Recognising


def test_a_folder_of_references_or_of_parts_is_recognised(writer):
    assert not looks_like_memobench(writer.root)
    writer.synthetic()
    assert looks_like_memobench(writer.root)
    shutil.rmtree(writer.data)
    writer.generated("notes.mp4")
    assert not looks_like_memobench(writer.root)
    writer.generated()
    assert looks_like_memobench(writer.root)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("NYC_East_012", ClipKey("synthetic", "nyceast", 12)),
        ("12", ClipKey("real", "", 12)),
        ("real_012", ClipKey("real", "", 12)),
        ("frames", None),
        ("_3", None),
        ("x_" + "9" * 12, None),
    ],
)
def test_names_are_clips_or_nothing(name, key):
    assert clip_key(name) == key


# The published tables


@needs_subjects
def test_every_row_of_the_published_subjects_is_read():
    counts = {}
    for part, rows in (("synthetic", 196), ("real", 164)):
        found = [row for _, row in read_subjects(PUBLISHED / f"{part}_metadata.csv")]
        assert all(isinstance(row, Subject) and row.key.part == part for row in found)
        assert len({row.key for row in found}) == len(found) == rows
        assert all(row.prompt for row in found)
        counts[part] = len({row.subject for row in found})
    assert counts == {"synthetic": 19, "real": 48}


@needs_subjects
def test_published_clips_to_ask_about_are_those_of_the_subjects():
    subjects = {row.key for _, row in read_subjects(PUBLISHED / "synthetic_metadata.csv")}
    rows = [row for _, row in read_rows(PUBLISHED / "vqa_questions/failure-cases.csv", {"folder": ("folder",)})]
    assert len(rows) == 45
    assert {clip_key(row["folder"]) for row in rows} <= subjects
    assert {clip_key(f"{row['scene']}_{row['video_id']}") for row in rows} <= subjects
    banks = [re.sub("-questions.csv", "", name) for name in os.listdir(PUBLISHED / "vqa_questions") if "-q" in name]
    assert {clip_key("_".join(bank.rsplit("-", 1))) for bank in banks} <= subjects


# Question banks


def write_banks(data, *names):
    folder = data / "vqa_questions"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("{}")
    return folder


def test_a_clip_has_the_bank_that_is_named_after_it_in_any_spelling(tmp_path):
    writer = MemoBenchWriter(tmp_path / "data set")
    writer.synthetic("ZenGarden", 5)
    writer.synthetic("Nordic", 3)
    writer.generated("Synthetic/Nordic_003.mp4")
    folder = write_banks(writer.data, "Zen_Garden-5-questions.csv", "failure-cases.csv", "Nordic-30-questions.csv")
    dataset = read_dataset(writer.root, suite="memobench")
    found = {rollout.case.id: dict(rollout.artifacts) for rollout in dataset.rollouts}
    assert found == {
        "synthetic/Nordic_003": {},
        "synthetic/ZenGarden_005": {"questions": folder / "Zen_Garden-5-questions.csv"},
    }
    assert dataset.settings["has_question_banks"] is True
    assert [problem.where for problem in dataset.problems] == ["vqa_questions/Nordic-30-questions.csv"]


def test_a_versioned_bank_wins_over_the_published_file(tmp_path):
    writer = MemoBenchWriter(tmp_path / "data set")
    writer.synthetic()
    writer.generated()
    folder = write_banks(writer.data, "Nordic-3-questions.csv", "Nordic-3.json")
    dataset = read_dataset(writer.root, suite="memobench")
    assert dataset.rollouts[0].artifacts == {"questions": folder / "Nordic-3.json"}
    assert "Nordic-3.json is about the same clip" in dataset.problems[0].message


def test_without_banks_there_is_no_metric_of_questions(tmp_path):
    writer = MemoBenchWriter(tmp_path / "data set")
    writer.synthetic()
    writer.generated()
    dataset = read_dataset(writer.root, suite="memobench")
    assert "has_question_banks" not in dataset.settings
    assert not [bound.name for bound in MemoBench().metrics(dataset.settings) if ".vqa." in bound.name]
    assert [
        bound.name
        for bound in MemoBench().metrics({"has_question_banks": True})
        if ".vqa." in bound.name and bound.is_of("published")
    ] == [
        "memobench.vqa.instruction_following",
        "memobench.vqa.object_and_background",
        "memobench.vqa.continuity_of_memory",
        "memobench.vqa.physics_adherence",
    ]


@pytest.mark.parametrize(("protocol", "rate"), [("corrected", 2.0), ("published", 1.0)])
def test_all_dimensions_are_asked_in_one_request_at_a_stated_rate(protocol, rate):
    asked = [bound for bound in MemoBench().metrics({"has_question_banks": True}) if ".vqa." in bound.name]
    recipes = {bound.recipes["question_verdicts"] for bound in asked if bound.is_of(protocol)}
    assert [recipe.frames for recipe in recipes] == [AtFps(rate)]
