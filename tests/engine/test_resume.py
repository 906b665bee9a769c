from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

import lookaway
from lookaway.core import Abstention, DatasetError, Reason, Score, UserError
from lookaway.engine import session
from lookaway.engine.run import Run
from lookaway.store.run_folder import RunFolder
from tests.support.runs import outcomes, statuses, table_text, times_measured
from tests.support.scripted import ANSWERS, CALLS, CRASHES, Brightness, bound, script
from tests.support.tiny import QUICK, clip_bytes, pose_bytes, write_folder, write_mbench


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", cases=2)


def raises(rollout):
    raise OSError("the machine had a bad day")


def test_a_second_evaluation_measures_nothing(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    before = table_text(tmp_path / "run")
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert set(times_measured(tmp_path / "run").values()) == {1}
    assert table_text(tmp_path / "run") == before


def test_failures_are_tried_again_and_abstentions_are_not(root, tmp_path, monkeypatch):
    script(monkeypatch, bound("failing"), bound("abstaining"))
    ANSWERS["failing"] = raises
    ANSWERS["abstaining"] = lambda rollout: Abstention(Reason.NO_TARGET, "nobody is in view.")
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert [cell.failures for cell in run.table().cells] == [2, 0]
    ANSWERS.clear()
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert [(cell.scored, cell.failures, cell.reasons) for cell in run.table().cells] == [
        (2, 0, {}),
        (0, 0, {"no_target": 2}),
    ]
    assert CALLS["failing.measure"] == 4
    assert CALLS["abstaining.measure"] == 2


@pytest.mark.parametrize("damage", ["flip", "cut", "cut, without a hash"])
def test_rollouts_of_a_damaged_file_are_measured_again_and_the_file_is_kept(
    damage, root, tmp_path, monkeypatch, caplog
):
    script(monkeypatch, bound())
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    before = table_text(tmp_path / "run")
    (part,) = RunFolder(tmp_path / "run").parts()
    content = bytearray(part.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    else:
        content = content[:-20]
    if damage.endswith("without a hash"):
        part = part.rename(part.with_name("old.parquet"))
    part.write_bytes(content)
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert table_text(tmp_path / "run") == before
    assert times_measured(tmp_path / "run") == {"alpha/case0/0": 2, "alpha/case1/0": 2}
    assert part.with_name(f"{part.name}.damaged").read_bytes() == content
    assert part.name in caplog.text


def test_a_failure_that_stays_is_counted_once(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    ANSWERS["mean_brightness"] = raises
    for _ in range(3):
        run = lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    (cell,) = run.table().cells
    assert (cell.asked, cell.failures, cell.scored) == (2, 2, 0)


def test_a_changed_video_is_measured_again_and_the_old_value_is_gone(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    before = {rollout: row["value"] for (rollout, _), row in outcomes(tmp_path / "run").items()}
    (root / "alpha" / "case0.mp4").write_bytes(clip_bytes(7))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    after = {rollout: row["value"] for (rollout, _), row in outcomes(tmp_path / "run").items()}
    assert times_measured(tmp_path / "run") == {"alpha/case0/0": 2, "alpha/case1/0": 1}
    assert after["alpha/case0/0"] != before["alpha/case0/0"]
    assert after["alpha/case1/0"] == before["alpha/case1/0"]


def test_changed_poses_are_measured_again(tmp_path):
    writer = write_mbench(tmp_path / "dataset", subsets=("causal",))
    run = lookaway.evaluate(writer.root, tmp_path / "run", metrics=QUICK[1:])
    before = run.table().cells[0].raw_mean
    writer.poses(model="alpha", subset="causal", sample="sample0").write_bytes(pose_bytes(-40.0))
    run = lookaway.evaluate(writer.root, tmp_path / "run", metrics=QUICK[1:])
    assert sorted(times_measured(tmp_path / "run").values()) == [1, 2]
    assert run.table().cells[0].raw_mean < before


def test_a_video_that_arrives_late_is_measured(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    dataset = lookaway.read(root, suite="scripted")
    late = (root / "alpha" / "case0.mp4").read_bytes()
    (root / "alpha" / "case0.mp4").unlink()
    assert lookaway.evaluate(dataset, tmp_path / "run").table().cells[0].reasons == {"missing_video": 1}
    (root / "alpha" / "case0.mp4").write_bytes(late)
    assert lookaway.evaluate(dataset, tmp_path / "run").table().cells[0].scored == 2


def test_a_changed_constant_is_another_lock_and_the_old_rows_are_ignored(root, tmp_path, monkeypatch):
    script(monkeypatch, bound(scale=255.0))
    first = lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    lock, mean = first.lock, first.table().cells[0].estimate.mean
    script(monkeypatch, bound(scale=510.0))
    second = lookaway.evaluate(root, tmp_path / "run", suite="scripted", new=True)
    assert list(lock.differences(second.lock)) == [("metrics.mean_brightness.metric.scale", 255.0, 510.0)]
    assert second.table().cells[0].estimate.mean == pytest.approx(mean / 2)
    assert CALLS["mean_brightness.measure"] == 4
    assert CALLS["brightness.finish"] == 2


def test_going_back_to_an_earlier_constant_finds_its_rows_again(root, tmp_path, monkeypatch):
    for scale in (255.0, 510.0, 255.0):
        script(monkeypatch, bound(scale=scale))
        lookaway.evaluate(root, tmp_path / "run", suite="scripted", new=True)
    assert CALLS["mean_brightness.measure"] == 4


def test_a_changed_constant_of_a_recipe_is_perceived_again(root, tmp_path, monkeypatch):
    for weight in (1.0, 2.0):
        script(monkeypatch, bound(recipe=Brightness(weight=weight)))
        lookaway.evaluate(root, tmp_path / "run", suite="scripted", new=True)
    assert CALLS["brightness.finish"] == 4


def test_a_moved_dataset_is_not_measured_again(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    moved = root.rename(tmp_path / "elsewhere")
    lookaway.evaluate(moved, tmp_path / "run", suite="scripted")
    assert set(times_measured(tmp_path / "run").values()) == {1}


def test_a_score_beats_a_failure_whichever_was_written_last(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    dataset = lookaway.read(root, suite="scripted", limit=1)
    lookaway.evaluate(dataset, tmp_path / "run")
    ANSWERS["mean_brightness"] = raises
    lookaway.evaluate(dataset, tmp_path / "other")
    (failed,) = (tmp_path / "other" / "outcomes").glob("*.parquet")
    for name in ("000.parquet", "zzz.parquet"):
        (tmp_path / "run" / "outcomes" / name).write_bytes(failed.read_bytes())
    assert statuses(tmp_path / "run") == {"mean_brightness": "score"}


def test_an_interrupted_run_shows_what_is_finished_and_counts_the_rest_as_not_yet_measured(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())

    def interrupt(progress):
        if progress.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lookaway.evaluate(root, tmp_path / "run", suite="scripted", on_progress=interrupt)
    (cell,) = Run(tmp_path / "run").table().cells
    assert (cell.scored, cell.asked, cell.reasons) == (1, 2, {"not_yet_measured": 1})


def test_a_run_whose_clock_is_set_forward_and_back_continues_to_the_same_table(tmp_path, monkeypatch):
    script(monkeypatch, bound())
    root = write_folder(tmp_path / "videos", cases=4)
    lookaway.evaluate(root, tmp_path / "undisturbed", suite="scripted")
    clock, clock_ns = time.time, time.time_ns

    def interrupt(progress):
        if progress.done == 1:
            raise KeyboardInterrupt

    for years in (10, -10, 0):
        seconds = years * 365 * 86_400
        monkeypatch.setattr(time, "time", lambda shift=seconds: clock() + shift)
        monkeypatch.setattr(time, "time_ns", lambda shift=seconds: clock_ns() + shift * 10**9)
        with pytest.raises(KeyboardInterrupt):
            lookaway.evaluate(root, tmp_path / "run", suite="scripted", on_progress=interrupt)
        (tmp_path / "run" / "outcomes" / f".{years}.partial").write_bytes(b"PAR1")
        for path in (tmp_path / "run").rglob("*"):
            os.utime(path, (time.time(), time.time()))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert table_text(tmp_path / "run") == table_text(tmp_path / "undisturbed")
    assert list((tmp_path / "run").rglob("*.partial")) == []
    assert set(times_measured(tmp_path / "run").values()) == {1}


def test_progress_counts_what_is_left_and_what_failed(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    CRASHES["brightness.finish"] = ZeroDivisionError("scripted")
    seen = []
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", on_progress=seen.append)
    assert [(step.done, step.total, step.failures) for step in seen] == [(0, 2, 0), (1, 2, 1), (2, 2, 2)]


def test_rows_are_compacted_during_a_run(tmp_path, monkeypatch):
    script(monkeypatch, bound())
    monkeypatch.setattr(session, "COMPACT_AFTER_PARTS", 2)
    monkeypatch.setattr(session, "MAX_BATCH", 1)
    ANSWERS["mean_brightness"] = lambda rollout: Score(0.5)
    lookaway.evaluate(write_folder(tmp_path / "videos", cases=5), tmp_path / "run", suite="scripted")
    parts = [part.name for part in (tmp_path / "run" / "outcomes").glob("*.parquet")]
    assert sum(name.startswith("compact-") for name in parts) == 2
    assert len(parts) == 3
    assert len(outcomes(tmp_path / "run")) == 5


def test_a_dataset_without_rollouts_is_an_error_of_the_user(tmp_path):
    (tmp_path / "manifest.jsonl").write_text("")
    with pytest.raises(UserError, match="nothing to measure"):
        lookaway.evaluate(tmp_path, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_two_rollouts_of_one_name_are_refused(root, tmp_path):
    dataset = lookaway.read(root)
    with pytest.raises(DatasetError, match="2 rollouts are named 'alpha/case0/0'"):
        lookaway.evaluate(replace(dataset, rollouts=(dataset.rollouts[0],) * 2), tmp_path / "run")


def test_the_lock_names_everything_that_moves_the_number(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    lock = json.loads((tmp_path / "run" / "lock.json").read_text())
    entry = lock["metrics"]["mean_brightness"]
    assert entry["metric"]["scale"] == 255.0
    assert entry["features"]["brightness"]["weight"] == 1.0
    assert {"pyav", "libavcodec"} <= entry["decoder"].keys()
    assert {"numpy", "scipy"} <= entry["software"].keys()
    assert lock["sha256"] == Run(tmp_path / "run").lock.sha256
