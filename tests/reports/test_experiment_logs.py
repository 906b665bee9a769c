"""What experiment trackers hold after a run: read back from their own files."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import lookaway
from lookaway.core import Abstention, MissingExtra, Reason, UnknownName, UserError
from lookaway.engine.run import Run
from lookaway.reports import experiment_logs
from tests.support.command import lookaway as command
from tests.support.hand_made import hand_made_run, scores
from tests.support.scripted import bound, script
from tests.support.tiny import write_folder

IDENTITY, GATE = "mbencha.corrected.entity.human_identity_consistency", "mbencha.revisited"
LOCK = {"suite": {"name": "mbench-a"}, "metrics": {}}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`still` never looks away; `half` does in half of its clips, and one of its faces was not found."""
    monkeypatch.chdir(tmp_path)
    values = {**scores("still", *[1.0] * 20), **scores("half", *[0.9, 0.1] * 10)}
    values["half", "s0"] = Abstention(Reason.NO_TARGET, "no face")
    gate = {**scores("still", *[0.0] * 20), **scores("half", *[1.0, 0.0] * 10)}
    return hand_made_run(tmp_path / "runs" / "first", "mbench-a", {IDENTITY: values, GATE: gate}, LOCK)


def tag(name: str) -> str:
    return f"{IDENTITY}/human/{name}"


def events(folder: Path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found = accumulator.EventAccumulator(str(folder))
    found.Reload()
    return found


def test_tensorboard_shows_mean_interval_coverage_and_gate_share_of_each_model(run):
    pytest.importorskip("tensorboard")
    lookaway.log_run(run, "tensorboard", step=7)
    half = events(Path("tensorboard/lookaway/first/half"))
    shown = {name: half.Scalars(name)[0] for name in half.Tags()["scalars"]}
    assert set(shown) == {tag(name) for name in ("mean", "low", "high", "coverage", "tested")}
    assert {event.step for event in shown.values()} == {7}
    assert shown[tag("mean")].value == pytest.approx(0.9)
    assert shown[tag("low")].value <= shown[tag("mean")].value <= shown[tag("high")].value
    assert shown[tag("coverage")].value == pytest.approx(0.95)
    assert shown[tag("tested")].value == 0.5
    text = half.Tensors("lookaway/run")[0].tensor_proto.string_val[0].decode()
    assert run.about["lock_sha256"] in text


def test_what_was_not_tested_has_no_mean_at_all(run):
    pytest.importorskip("tensorboard")
    lookaway.log_run(run, ["tensorboard"])
    still = events(Path("tensorboard/lookaway/first/still"))
    assert {name: still.Scalars(name)[0].value for name in still.Tags()["scalars"]} == {
        tag("coverage"): 1.0,
        tag("tested"): 0.0,
    }


def test_runs_under_one_name_are_one_curve_over_steps(run):
    pytest.importorskip("tensorboard")
    for step in (0, 500):
        lookaway.log_run(run, "tensorboard", project="training", name="my model", step=step)
    (group,) = Path("tensorboard/training").iterdir()
    assert [event.step for event in events(group / "half").Scalars(tag("mean"))] == [0, 500]


def test_a_model_cannot_name_a_folder_elsewhere(tmp_path, monkeypatch):
    pytest.importorskip("tensorboard")
    monkeypatch.chdir(tmp_path)
    run = hand_made_run(tmp_path / "run", "mbench-a", {IDENTITY: scores("../../m", 0.5)}, LOCK)
    lookaway.log_run(run, "tensorboard")
    assert len(list((tmp_path / "tensorboard/lookaway/run").glob("m-*/events*"))) == 1


def test_wandb_keeps_the_run_offline_and_nothing_about_the_machine(run, monkeypatch):
    pytest.importorskip("wandb", reason="not in the lock: 55 MB for this one test")
    monkeypatch.setenv("WANDB_MODE", "offline")
    lookaway.log_run(run, "wandb")
    files = sorted(Path("wandb").glob("offline-run-*/run-*.wandb"))
    assert len(files) == 2
    content = b"".join(path.read_bytes() for path in files)
    assert tag("tested").encode() in content
    assert run.about["lock_sha256"].encode() in content
    assert str(run.path.parent).encode() not in content


def test_trackio_keeps_the_run_in_its_database_and_leaves_the_run_around_it_open(run, monkeypatch, capsys):
    trackio = pytest.importorskip("trackio", reason="not in the lock: two dozen packages for this one test")
    storage = pytest.importorskip("trackio.sqlite_storage")
    for module in (storage, trackio.utils):
        monkeypatch.setattr(module, "TRACKIO_DIR", Path.cwd() / "trackio")
    training = trackio.init(project="training", name="loop", embed=False, auto_log_gpu=False, auto_log_cpu=False)
    capsys.readouterr()
    lookaway.log_run(run, "trackio", step=3)
    assert capsys.readouterr().out == ""
    assert trackio.context_vars.current_run.get() is training
    trackio.finish()
    with sqlite3.connect(Path("trackio/lookaway.db")) as database:
        rows = database.execute("SELECT run_name, step, metrics FROM metrics ORDER BY run_name").fetchall()
    database.close()
    assert [(name, step) for name, step, _ in rows] == [("first/half", 3), ("first/still", 3)]


def test_a_tracker_that_fails_leaves_a_whole_run_and_says_how_to_go_on(run, monkeypatch):
    def refuse(log):
        raise ConnectionError("no route to the server")

    monkeypatch.setattr(experiment_logs, "_TRACKERS", {"wandb": refuse})
    monkeypatch.setattr(experiment_logs, "find_spec", lambda name: name)
    with pytest.raises(UserError, match=r"no route to the server.*run itself is whole.*lookaway\.log_run"):
        lookaway.log_run(run, "wandb")


def test_a_tracker_that_is_missing_or_unknown_is_refused_before_anything_is_measured(tmp_path, monkeypatch):
    script(monkeypatch, bound("right"))
    root = write_folder(tmp_path / "videos", cases=1)
    asked = ("eval", root, "--suite", "scripted", "-o", tmp_path / "run", "--quiet", "--log")
    unknown = command(*asked, "tensorbord")
    assert (unknown.code, unknown.err) == (
        2,
        "error: No experiment tracker is named 'tensorbord'. Did you mean 'tensorboard'?\n",
    )
    monkeypatch.setattr(experiment_logs, "find_spec", lambda name: None)
    missing = command(*asked, "wandb")
    assert missing.code == 2
    assert "pip install 'lookaway[wandb]'" in missing.err
    assert not (tmp_path / "run").exists()
    with pytest.raises(MissingExtra):
        experiment_logs.require_trackers(["trackio"])
    with pytest.raises(UnknownName):
        experiment_logs.require_trackers(["mlflow"])


def test_eval_writes_to_a_tracker_when_the_run_ends(tmp_path, monkeypatch):
    pytest.importorskip("tensorboard")
    monkeypatch.chdir(tmp_path)
    script(monkeypatch, bound("right"))
    root = write_folder(tmp_path / "videos", cases=1)
    done = command("eval", root, "--suite", "scripted", "-o", tmp_path / "run", "--quiet", "--log", "tensorboard")
    assert (done.code, done.err) == (0, "")
    (folder,) = Path("tensorboard/lookaway/run").iterdir()
    assert [name for name in events(folder).Tags()["scalars"] if name.endswith("/mean")]
