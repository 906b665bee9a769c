"""Whole runs with a judge in this process: a tiny network of random weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lookaway
from lookaway.core import JudgeModel, JudgeUnusable
from lookaway.judges.settings import JudgeSettings
from tests.support.command import lookaway as command
from tests.support.rendered import copy_small
from tests.support.runs import outcomes
from tests.support.tiny_vlm import make_tiny_vlm

pytestmark = pytest.mark.render


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_vlm(tmp_path_factory.mktemp("models") / "tiny-vlm")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("judged") / "world"
    copy_small(root)
    return root


def test_a_run_with_a_local_judge_names_the_hash_of_its_files_and_no_path(world, network, tmp_path):
    run = tmp_path / "run"
    options = ("--judge-backend", "local", "--judge-model", network, "--no-progress")
    result = command("eval", world, "-o", run, "--metrics", "probe_support", *options)
    assert result.code == 0, result.err
    (row,) = outcomes(run).values()
    assert row["status"] == "score"
    assert 0 < row["value"] < 1
    text = (run / "lock.json").read_text()
    judge = json.loads(text)["metrics"]["probe_support"]["features"]["probe_probabilities"]["judge"]
    assert (judge["backend"], judge["model"], judge["wording"]) == ("local", "tiny-vlm", "text")
    assert judge["reported"].startswith("tiny-vlm@sha256:")
    assert str(network.parent) not in text


def test_a_replay_of_a_local_judge_needs_no_model(world, network, tmp_path):
    judge = JudgeSettings(model=JudgeModel(backend="local", model="tiny-vlm"), folder=network)
    lookaway.evaluate(world, tmp_path / "run", metrics=["probe_support"], judge=judge)
    replies = tmp_path / "run" / "replies"
    replay = JudgeSettings(model=judge.model, replies=replies, is_replay=True)
    lookaway.evaluate(world, tmp_path / "replay", metrics=["probe_support"], judge=replay)
    assert _values(tmp_path / "replay") == _values(tmp_path / "run")


def _values(run: Path) -> dict[tuple[str, str], float]:
    return {key: row["value"] for key, row in outcomes(run).items()}


def test_a_local_judge_without_a_folder_says_what_it_needs(world, tmp_path):
    judge = JudgeSettings(model=JudgeModel(backend="local", model="tiny-vlm"))
    with pytest.raises(JudgeUnusable, match="--judge-model"):
        lookaway.evaluate(world, tmp_path / "run", metrics=["probe_support"], judge=judge)
