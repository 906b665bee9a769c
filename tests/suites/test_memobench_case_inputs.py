"""The inputs of cases for the three interfaces of models."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from lookaway.suites.memobench.case_inputs import CaseInputs, reference_clips
from tests.support.command import lookaway
from tests.support.memobench import FRAMES, MemoBenchWriter

POSES = np.tile(np.eye(4), (FRAMES, 1, 1))
POSES[:, 0, 3] = np.arange(FRAMES)


def written(root, interface, *, frames=5, model="MODEL"):
    folder = root / "inputs"
    count, problems = CaseInputs(interface, frames, model).write(reference_clips(root, []), folder)
    rows = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    assert count == len(rows)
    return folder, rows, problems


@pytest.fixture
def dataset(tmp_path):
    writer = MemoBenchWriter(tmp_path)
    writer.synthetic(poses=POSES)
    return writer


@pytest.mark.parametrize(
    ("interface", "given"),
    [
        ("i2v", {"first_frame", "prompt"}),
        ("ci2v", {"first_frame", "prompt", "camera"}),
        ("nvs", {"first_frame", "camera"}),
    ],
)
def test_a_model_is_given_what_its_interface_takes_and_nothing_else(dataset, interface, given):
    folder, [row], problems = written(dataset.root, interface)
    assert problems == []
    assert {name for name in ("first_frame", "prompt", "camera") if name in row} == given
    assert (folder / "synthetic/Nordic_003/camera.npz").exists() == ("camera" in given)


def test_the_first_frame_is_the_stored_picture_and_hashes_are_those_of_the_files(dataset):
    folder, [row], _ = written(dataset.root, "ci2v")
    [first, *_] = sorted((dataset.data / "Synthetic_processed/Nordic/Nordic_003/RGB3").iterdir())
    assert (folder / row["first_frame"]).read_bytes() == first.read_bytes()
    for kind in ("first_frame", "camera"):
        assert hashlib.sha256((folder / row[kind]).read_bytes()).hexdigest() == row[f"{kind}_sha256"]


@pytest.mark.parametrize(("frames", "places"), [(FRAMES, range(FRAMES)), (5, [0, 3, 6, 8, 11]), (1, [0])])
def test_the_camera_is_that_of_the_reference_at_the_same_part_of_the_video(dataset, frames, places):
    folder, [row], _ = written(dataset.root, "nvs", frames=frames)
    with np.load(folder / row["camera"]) as camera:
        assert camera["camera_to_world"].shape == (frames, 4, 4)
        np.testing.assert_allclose(camera["camera_to_world"][:, 0, 3], places)
        assert camera["size"].tolist() == [24, 16]


def test_the_table_says_where_the_generated_clip_belongs(dataset):
    _, [row], _ = written(dataset.root, "i2v", model="alpha", frames=81)
    assert row["output"] == "output/alpha/Synthetic/Nordic_003.mp4"
    assert (row["case"], row["frames"]) == ("synthetic/Nordic_003", 81)


def test_a_case_that_lacks_an_input_is_named_and_the_others_are_written(tmp_path):
    writer = MemoBenchWriter(tmp_path)
    writer.synthetic(poses=POSES)
    writer.synthetic(number=4, prompt="")
    (writer.synthetic(number=5) / "5/poses.npy").unlink()
    _, rows, problems = written(tmp_path, "ci2v")
    assert [row["case"] for row in rows] == ["synthetic/Nordic_003"]
    assert {problem.where: problem.message.split(";")[0].split(".")[0] for problem in problems} == {
        "synthetic/Nordic_004": "the case has no prompt",
        "synthetic/Nordic_005": "there is no poses",
    }


def test_the_command_writes_all_cases_and_says_which_lack_an_input(dataset, tmp_path):
    chosen = ("--frames", "5", "-o", str(tmp_path / "inputs"))
    done = lookaway("memobench", "inputs", str(dataset.data), "--interface", "nvs", *chosen)
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "inputs/synthetic/Nordic_003/camera.npz").is_file()
    dataset.synthetic(number=4, prompt="")
    done = lookaway("memobench", "inputs", str(dataset.root), "--interface", "i2v", *chosen)
    assert done.code == 2
    assert "synthetic/Nordic_004: the case has no prompt" in done.err
    assert "Wrote 1 cases" in done.out


def test_a_folder_without_reference_clips_is_refused(tmp_path):
    done = lookaway("memobench", "inputs", str(tmp_path), "--interface", "i2v", "--frames", "5", "-o", str(tmp_path))
    assert done.code == 2
    assert "no reference clips found" in done.err
