from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lookaway
from lookaway.core import Abstention, MissingExtra, Reason, RunError, Score, Unmeasurable
from lookaway.engine import feature_job
from lookaway.store.run_folder import RunFolder
from tests.support.runs import events, outcomes, statuses
from tests.support.scripted import ANSWERS, CALLS, CRASHES, Brightness, bound, script
from tests.support.tiny import write_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", cases=1)


@pytest.mark.parametrize("step", ["load", "start", "add_frame", "finish"])
def test_a_crashing_extractor_fails_only_the_metrics_that_need_it(step, root, tmp_path, monkeypatch):
    broken = Brightness(name="broken")
    script(monkeypatch, bound("unlucky", broken), bound("lucky"), bound("content", uses=("hint",)))
    CRASHES[f"broken.{step}"] = ZeroDivisionError("scripted crash")
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert statuses(tmp_path / "run") == {"unlucky": "ZeroDivisionError", "lucky": "score", "content": "score"}
    (event,) = events(tmp_path / "run")
    (trace,) = event["failures"]
    assert trace.startswith("Traceback")
    assert "scripted.py" in trace
    assert "scripted crash" in trace


def test_an_extractor_made_from_a_crashed_one_fails_with_the_first_crash(root, tmp_path, monkeypatch):
    ground = Brightness(name="ground")
    script(monkeypatch, bound("derived", Brightness(from_features=(ground,))), bound("apart", Brightness(name="apart")))
    CRASHES["ground.add_frame"] = ZeroDivisionError("scripted crash")
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert statuses(tmp_path / "run") == {"derived": "ZeroDivisionError", "apart": "score"}
    assert CALLS["brightness.start"] == 0


def test_a_crashing_optional_feature_leaves_the_metric_its_score_and_the_crash_in_the_events(
    root, tmp_path, monkeypatch
):
    script(monkeypatch, bound("tolerant", needs=(), uses=("brightness",)))
    CRASHES["brightness.finish"] = ZeroDivisionError("scripted crash")
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    (row,) = outcomes(tmp_path / "run").values()
    assert (row["status"], row["detail"]) == ("score", '{"without":"brightness"}')
    assert "scripted crash" in events(tmp_path / "run")[0]["failures"][0]


@pytest.mark.parametrize("step", ["load", "start", "add_frame", "finish"])
def test_an_extractor_that_nothing_can_be_done_with_ends_the_run(step, root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    CRASHES[f"brightness.{step}"] = RunError("its server is gone.")
    with pytest.raises(RunError, match="its server is gone"):
        lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert not RunFolder(tmp_path / "run").parts()


@pytest.mark.parametrize("step", ["load", "start", "add_frame", "finish"])
def test_an_extractor_that_cannot_perceive_makes_its_metrics_abstain_with_its_reason(step, root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    CRASHES[f"brightness.{step}"] = Unmeasurable(Reason.NO_TARGET, "nobody is in view.")
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    (row,) = outcomes(tmp_path / "run").values()
    assert (row["status"], row["reason"], row["message"]) == ("abstention", "no_target", "nobody is in view.")
    assert events(tmp_path / "run")[0]["failures"] == []


def test_a_metric_may_abstain_with_a_reason_of_its_own(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    ANSWERS["mean_brightness"] = lambda rollout: Abstention(Reason.GATE_CLOSED, "the camera stood still.")
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    (cell,) = run.table().cells
    assert (cell.scored, cell.failures, cell.reasons) == (0, 0, {"gate_closed": 1})


def raises(rollout):
    raise LookupError("no such thing")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (raises, "LookupError"),
        (lambda rollout: None, "TypeError"),
        (lambda rollout: 0.5, "TypeError"),
        (lambda rollout: Score(float("nan")), "ValueError"),
        (lambda rollout: Score(0.5, detail={"array": np.zeros(2)}), "TypeError"),
        (lambda rollout: Score(0.5, detail={"share": float("nan")}), "ValueError"),
    ],
)
def test_what_a_metric_must_not_return_is_a_failure_of_that_metric_alone(answer, error, root, tmp_path, monkeypatch):
    script(monkeypatch, bound("wrong"), bound("right"))
    ANSWERS["wrong"] = answer
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert statuses(tmp_path / "run") == {"wrong": error, "right": "score"}
    assert [cell.failures for cell in run.table().cells] == [1, 0]


@pytest.mark.parametrize("answer", [None, 0.5, {"means": 1}])
def test_an_extractor_that_perceives_no_feature_is_a_failure(answer, root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    monkeypatch.setattr("tests.support.scripted._BrightnessExtraction.finish", lambda extraction: answer)
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    (row,) = outcomes(tmp_path / "run").values()
    assert row["reason"] == "TypeError"
    assert "brightness must return a Feature" in row["message"]


def test_an_extractor_that_asks_for_frames_beyond_the_end_fails_alone(root, tmp_path, monkeypatch):
    script(monkeypatch, bound("greedy", Brightness(name="greedy")), bound("modest"))
    start = Brightness.start

    def ask_for_too_much(recipe, rollout, timeline, features):
        extraction = start(recipe, rollout, timeline, features)
        if recipe.name == "greedy":
            extraction.request = type(extraction.request)(frozenset({0, 10_000}))
        return extraction

    monkeypatch.setattr(Brightness, "start", ask_for_too_much)
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert statuses(tmp_path / "run") == {"greedy": "IndexError", "modest": "score"}


def test_a_decoder_that_crashes_is_a_failure_of_the_rollout_and_not_the_end_of_the_run(tmp_path, monkeypatch):
    script(monkeypatch, bound())
    opened = []

    class BrittleVideo(feature_job.Video):
        def __init__(self, path):
            opened.append(path)
            if len(opened) == 1:
                raise MemoryError("scripted")
            super().__init__(path)

    monkeypatch.setattr(feature_job, "Video", BrittleVideo)
    run = lookaway.evaluate(write_folder(tmp_path / "videos", cases=2), tmp_path / "run", suite="scripted")
    assert [row["reason"] or row["status"] for row in run.items()] == ["MemoryError", "score"]


def test_a_missing_dependency_ends_the_run_with_a_message_for_the_user(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    CRASHES["brightness.load"] = MissingExtra("The brightness network", "torch")
    with pytest.raises(MissingExtra, match=r"lookaway\[torch\]"):
        lookaway.evaluate(root, tmp_path / "run", suite="scripted")


def test_a_metric_that_crashes_while_declining_is_a_failure(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    monkeypatch.setattr("tests.support.scripted.MeanBrightness.declines", lambda metric, rollout: 1 / 0)
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert statuses(tmp_path / "run") == {"mean_brightness": "ZeroDivisionError"}


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.unlink(), "missing_video"),
        (lambda path: path.write_bytes(b""), "empty_file"),
        (lambda path: path.write_bytes(b"a letter to the editor"), "not_a_video"),
        (lambda path: path.write_bytes(path.read_bytes()[:300]), "truncated"),
    ],
)
def test_a_video_that_cannot_be_read_abstains_with_a_typed_reason(damage, reason, root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    dataset = lookaway.read(root, suite="scripted")
    damage(dataset.rollouts[0].video)
    run = lookaway.evaluate(dataset, tmp_path / "run")
    assert run.table().cells[0].reasons == {reason: 1}
    assert CALLS["brightness.add_frame"] == 0


def test_a_rollout_whose_record_is_refused_abstains_without_being_opened(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    (root / "manifest.jsonl").write_text('{"video": "../../etc/passwd", "case": "escape"}\n')
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert run.table().cells[0].reasons == {"unsafe_path": 1}
    assert CALLS["brightness.start"] == 0
