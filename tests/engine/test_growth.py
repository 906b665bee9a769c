"""What becomes of a folder whose run is not that of the command: it grows, or it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lookaway
from lookaway.core import Abstention, Reason, RunError, Score
from tests.support.command import lookaway as command
from tests.support.runs import outcomes, table_text, times_measured
from tests.support.scripted import ANSWERS, bound, script
from tests.support.tiny import QUICK, clip_bytes, write_folder, write_mbench


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", models=("alpha", "beta"), cases=2)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    script(monkeypatch, bound("first"), bound("second"))
    return tmp_path / "run"


def evaluated(root: Path, run: Path, **options: Any) -> list[str]:
    """What is noted while a run is made or continued."""
    notes: list[str] = []
    lookaway.evaluate(root, run, suite="scripted", on_note=notes.append, **options)
    return notes


@pytest.mark.parametrize(
    ("part", "note"),
    [
        ({"models": ["alpha"]}, "adds 1 model (beta), 2 rollouts"),
        ({"limit": 1}, "adds 2 rollouts"),
        ({"metrics": ["first"]}, "adds 1 metric (second)"),
        ({"metrics": ["first"], "limit": 1}, "adds 2 rollouts, 1 metric (second)"),
    ],
)
def test_what_an_evaluation_adds_is_announced_and_what_is_there_is_kept(part, note, root, run, tmp_path):
    assert evaluated(root, run, **part) == []
    before = outcomes(run)
    assert evaluated(root, run) == [f"{note} to the run"]
    assert before.items() <= outcomes(run).items()
    assert evaluated(root, run) == []
    lookaway.evaluate(root, tmp_path / "whole", suite="scripted")
    assert table_text(run) == table_text(tmp_path / "whole")


@pytest.mark.parametrize(
    ("part", "lost"),
    [
        ({"models": ["alpha"]}, "without 2 rollouts (beta/case0/0, beta/case1/0) of 4"),
        ({"limit": 1}, "without 2 rollouts (alpha/case1/0, beta/case1/0) of 4"),
        ({"metrics": ["first"]}, "without 1 metric (second)"),
    ],
)
def test_what_an_evaluation_would_leave_out_is_refused_with_the_two_commands(part, lost, root, run, tmp_path):
    evaluated(root, run)
    (tmp_path / "run-2").mkdir()
    (tmp_path / "run-2" / "run.json").write_text("{}")
    before = table_text(run)
    with pytest.raises(RunError) as refused:
        evaluated(root, run, **part)
    assert f"{run}: holds numbers that this evaluation would replace: {lost}. " in str(refused.value)
    assert "the same command with --new, " in str(refused.value)
    assert str(refused.value).endswith(f"--output {run}-3.")
    assert table_text(run) == before
    assert evaluated(root, run, new=True, **part) == []
    assert set(times_measured(run).values()) == {1}


def test_a_changed_constant_is_refused_and_named(root, run, monkeypatch):
    evaluated(root, run)
    script(monkeypatch, bound("first"), bound("second", scale=510.0))
    with pytest.raises(RunError, match=r"replace: metrics\.second\.metric\.scale: 255\.0 there, 510\.0 here\. "):
        evaluated(root, run)


def test_a_run_without_numbers_is_replaced_without_a_question(root, run, monkeypatch):
    for name in ("first", "second"):
        ANSWERS[name] = lambda rollout: Abstention(Reason.NO_TARGET, "nobody is in view.")
    evaluated(root, run)
    script(monkeypatch, bound("first", scale=510.0))
    evaluated(root, run, models=["alpha"])
    assert {rollout.split("/")[0] for rollout, _ in outcomes(run)} == {"alpha"}


def test_a_metric_that_has_no_number_yet_may_change(root, run, monkeypatch):
    ANSWERS["second"] = lambda rollout: Abstention(Reason.NO_TARGET, "nobody is in view.")
    evaluated(root, run)
    script(monkeypatch, bound("first"), bound("second", scale=510.0))
    ANSWERS["second"] = lambda rollout: Score(0.5)
    evaluated(root, run)
    assert {row["status"] for row in outcomes(run).values()} == {"score"}


def test_another_dataset_with_the_same_names_is_refused_and_a_copy_of_the_same_is_not(root, run, tmp_path):
    evaluated(root, run)
    other = write_folder(tmp_path / "other", models=("alpha", "beta"), cases=2)
    assert evaluated(other, run) == []
    (other / "alpha" / "case0.mp4").write_bytes(clip_bytes(9))
    evaluated(root, run)
    with pytest.raises(RunError, match=f"another dataset: {root} there, {other} here"):
        evaluated(other, run)


def test_files_that_changed_in_the_dataset_are_announced(root, run):
    evaluated(root, run)
    (root / "alpha" / "case0.mp4").write_bytes(clip_bytes(9))
    assert evaluated(root, run) == ["measures 1 of 4 rollouts again, whose files have changed"]


def test_another_suite_is_refused(root, run):
    evaluated(root, run)
    with pytest.raises(RunError, match=r"suite: .*'scripted'.* there, .*'folder'.* here"):
        lookaway.evaluate(root, run, suite="folder", metrics=["rendering_lighting"])


def test_an_option_that_moves_numbers_is_named_by_its_flag(tmp_path):
    root = write_mbench(tmp_path / "set", samples=1, subsets=("causal",)).root
    arguments = ("eval", root, "-o", tmp_path / "run", "--metrics", QUICK[1], "--extrinsics-convention")
    assert command(*arguments, "world_to_camera").code == 0
    refused = command(*arguments, "camera_to_world")
    assert (refused.code, refused.out) == (2, "")
    assert "--extrinsics-convention: 'world_to_camera' there, 'camera_to_world' here" in refused.err
    assert command(*arguments, "camera_to_world", "--new").code == 0


def test_the_command_prints_what_is_added_unless_it_is_quiet(tmp_path):
    root = write_mbench(tmp_path / "set", samples=2, subsets=("causal",)).root
    arguments = ("eval", root, "--metrics", QUICK[1], "--no-progress")
    for name, quiet, note in (("run", (), "adds 1 rollout to the run\n"), ("other", ("--quiet",), "")):
        assert command(*arguments, "-o", tmp_path / name, "--limit", 1).code == 0
        grown = command(*arguments, "-o", tmp_path / name, *quiet)
        assert grown.code == 0
        assert grown.err.startswith(f"note: {note}" if note else "")
        assert grown.err.count("\n") == bool(note)
