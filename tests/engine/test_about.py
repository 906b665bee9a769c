from __future__ import annotations

from pathlib import Path

import pytest

import lookaway
from lookaway.core import Compute, JudgeModel, Lock
from lookaway.engine.about import options_of, requested_options
from lookaway.engine.reading import load_suite
from lookaway.engine.run import Run
from lookaway.judges.server import Connection, Secret
from lookaway.judges.settings import JudgeSettings
from tests.support.command import lookaway as command
from tests.support.scripted import bound, script
from tests.support.tiny import write_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", models=("alpha", "beta"))


def test_a_run_remembers_what_was_said_and_paths_as_they_were_given(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--pattern", "{model}/{case}.mp4", "--models", "alpha,beta", "--limit", "1", "--allow-outside")
    arguments = ("videos", "--suite", "folder", "--metrics", "rendering_lighting", *options, "--features", "shared")
    assert command("eval", *arguments, "--device", "cpu", "-o", "run", "--quiet").code == 0
    assert Run(tmp_path / "run").about["requested"] == {
        "metrics": ["rendering_lighting"],
        "compute": {"device": "cpu", "precision": "float32"},
        "features": "shared",
        "reading": {
            "suite": "folder",
            "pattern": "{model}/{case}.mp4",
            "models": ["alpha", "beta"],
            "limit": 1,
            "allow_outside": True,
        },
    }


def test_a_run_remembers_extractors_folders_and_gates(tmp_path):
    requested = requested_options(
        None,
        {"ground_truth": tmp_path / "truth", "max_frames": 8},
        using={"poses": "true_poses"},
        compute=Compute(device="cuda:1"),
        ignore_triggers=True,
        metrics=None,
    )
    assert requested == {
        "using": {"poses": "true_poses"},
        "compute": {"device": "cuda:1", "precision": "float32"},
        "ignore_triggers": True,
        "reading": {"ground_truth": str(tmp_path / "truth"), "max_frames": 8},
    }


def test_a_run_over_a_dataset_that_was_read_before_remembers_how_without_what_was_left_to_its_default(
    root, tmp_path, monkeypatch
):
    script(monkeypatch, bound())
    dataset = lookaway.read(root, suite="scripted", limit=1, pattern=None, allow_outside=False)
    run = lookaway.evaluate(dataset, tmp_path / "run")
    assert run.about["requested"] == {"reading": {"suite": "scripted", "limit": 1}}


def test_the_options_of_a_run_come_from_its_lock_where_they_move_numbers_and_else_from_what_was_said():
    asked = {"reading": {"ground_truth": "/truth", "alignment": "se3", "limit": 3, "allow_outside": False}}
    lock = Lock({"dataset": {"settings": {"video_max_time": 8, "alignment": "none"}}})
    found = options_of(load_suite("mind"), {"requested": asked}, lock)
    assert found == {"ground_truth": "/truth", "max_frames": 8, "alignment": "none"}
    assert options_of(load_suite("mind"), {"requested": None}, Lock({})) == {}


def test_a_judge_is_remembered_by_model_address_wording_and_media_and_without_any_secret(tmp_path):
    settings = JudgeSettings(
        model=JudgeModel(model="large", media="jpeg"),
        wording="text",
        connection=Connection(url="http://host:8000/v1?api_key=hidden-1#hidden-2", key=Secret("hidden-3")),
        replies=tmp_path / "replies",
    )
    requested = requested_options(settings, {})
    assert requested == {
        "judge": {"model": "large", "wording": "text", "media": "jpeg", "url": "http://host:8000/v1"},
        "replies": str(tmp_path / "replies"),
    }
    assert "hidden" not in repr(requested)


def test_a_judge_in_this_process_has_no_address():
    requested = requested_options(JudgeSettings(model=JudgeModel(backend="local", model="small")), {})
    assert requested["judge"] == {"model": "small", "wording": "auto", "media": "png"}


def test_a_judge_that_no_metric_needs_is_not_recorded(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    judge = JudgeSettings(model=JudgeModel(model="large"))
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted", judge=judge)
    assert run.about["requested"] == {"reading": {"suite": "scripted"}}
