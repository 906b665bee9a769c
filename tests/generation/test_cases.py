"""Cases of every suite become requests, and requests the controls of models."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest

import lookaway
from lookaway.generation.cases import MIRRORED, ActionForm, requests_of
from lookaway.generation.run_scripts import FIRST_FRAME
from lookaway.generation.work_plan import read_plan
from tests.generation.suite_datasets import DATASETS, mind
from tests.support.command import lookaway as command
from tests.support.mind import MindWriter
from tests.support.tiny import clip_bytes

MODELS = ("lingbot-world", "hy-worldplay-keys")
"""One that is given poses, and one that is given keys."""


@pytest.fixture(scope="module", params=DATASETS)
def dataset(request, tmp_path_factory):
    return DATASETS[request.param](tmp_path_factory.mktemp("cases") / request.param)


def test_every_case_of_every_suite_is_listed_with_its_way_there_and_back(dataset):
    listed = command("cases", "list", dataset, "--json").json
    assert len(listed) == (3 if dataset.name == "mind" else 1)
    assert all("by 60 degrees" in row["camera"] and "returns to the starting view" in row["camera"] for row in listed)


@pytest.mark.parametrize("model", MODELS)
def test_what_a_model_would_be_given_is_shown_for_every_suite(dataset, model):
    for row in command("cases", "show", dataset, "--for", model, "--json").json:
        assert row["native"]
        assert row["return_error_deg"] <= 3.0
        assert row["note"] == ""


@pytest.mark.parametrize("model", MODELS)
def test_every_case_of_every_suite_is_exported_with_its_controls(dataset, model, tmp_path):
    exported = command("cases", "export", dataset, "--for", model, "-o", tmp_path)
    assert exported.code == 0, exported.out
    items = read_plan(tmp_path)
    assert len(items) == (3 if dataset.name == "mind" else 1)
    for item in items:
        folder = tmp_path / "cases" / item.folder
        assert item.refusal is None
        assert item.moves
        assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == {
            *item.files,
            "run.sh",
        }
        assert {"prompt.txt", "request.npz", "delivered.npz", "loss.json"} < set(item.files)
        has_picture = dataset.name in ("mind", "memobench", "wrbench")
        assert (FIRST_FRAME in item.files) == has_picture


def test_a_mirror_test_starts_where_the_video_of_its_scene_does(tmp_path):
    found = {request.case.id: request for request in requests_of(lookaway.read(mind(tmp_path)), ActionForm())}
    shown = found["1st_data/mem_test/street"]
    for name, action in (("path-1", "left_then_right"), ("path-2", "right_then_left")):
        mirrored = found[f"1st_data/mirror_test/street/{name}"]
        assert mirrored.first_frame == shown.first_frame
        assert (mirrored.prompt, mirrored.case.action) == (shown.prompt, action)
        poses = mirrored.camera.camera_to_world
        assert np.allclose(poses, poses[::-1], atol=1e-9)


def test_no_two_of_the_ten_mirror_tests_of_a_scene_are_one(tmp_path):
    names = [f"path-{number}" for number in range(1, 11)]
    MindWriter(tmp_path).mirror("anywhere", [f"{name}.mp4" for name in names], video=clip_bytes())
    requests = list(requests_of(lookaway.read(tmp_path / "models", suite="mind"), ActionForm()))
    assert len(requests) == 10 > len(MIRRORED)
    assert len({request.camera.camera_to_world.round(6).tobytes() for request in requests}) == 10
    assert all(request.first_frame is None for request in requests)


def test_a_case_without_a_picture_says_so_before_the_model_starts(tmp_path):
    command("cases", "export", DATASETS["sana"](tmp_path / "sana"), "--for", "lingbot-world", "-o", tmp_path / "work")
    (item,) = read_plan(tmp_path / "work")
    ran = subprocess.run(
        ["sh", tmp_path / "work" / "run.sh"],
        env={**os.environ, "OUTPUTS": str(tmp_path / "outputs"), "WEIGHTS": "weights"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    wanted = tmp_path / "work" / "cases" / item.folder / "first_frame.png"
    assert f"put one at {wanted}" in ran.stderr
    assert not (tmp_path / "outputs").exists()
