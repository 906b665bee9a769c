from __future__ import annotations

import fcntl
import json
import os
import random
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookaway.core import Abstention, DatasetError, Failure, Lock, Reason, RunError
from lookaway.io.files import write_whole
from lookaway.store import run_folder
from lookaway.store.outcome_reader import OutcomeReader
from lookaway.store.outcome_rows import KEY, STATUSES, each_measurement_once, rows
from lookaway.store.run_folder import RunFolder
from tests.store.rows import ASKED, measured, rollout, score, start_run


def test_what_was_asked_can_be_read_again(tmp_path):
    folder = start_run(tmp_path)
    assert folder.lock() == Lock({"suite": "folder"})
    assert folder.about()["suite"] == "folder"
    assert pq.read_table(folder.rollouts_file)["rollout"].to_pylist() == ["alpha/case/0"]


def test_the_same_outcomes_make_the_same_file(tmp_path):
    folder = start_run(tmp_path)
    first, again = (folder.add([measured(score(0.5))]) for _ in range(2))
    assert first == again
    assert folder.parts() == [first]


def test_another_outcome_makes_another_file(tmp_path):
    folder = start_run(tmp_path)
    names = {
        folder.add([entry]).name
        for entry in (
            measured(score(0.5)),
            measured(Failure("KeyError", "")),
            measured(score(0.5), metric="other"),
            measured(score(0.5), lock="other"),
            measured(score(0.5), rollout("other")),
        )
    }
    assert len(names) == 5


def test_a_batch_of_rollouts_is_one_file_that_counts_like_several(tmp_path):
    entries = [rollout(f"case{number}") for number in range(3)]
    apart, together = start_run(tmp_path / "apart", *entries), start_run(tmp_path / "together", *entries)
    batch = [measured(score(number / 10, 0.5), entry) for number, entry in enumerate(entries)]
    for entry in batch:
        apart.add([entry])
    first = together.add(batch)
    assert together.add(batch[::-1]) == first
    assert together.parts() == [first]
    groups = [[repr(group) for group in OutcomeReader(run, [ASKED]).groups()] for run in (apart, together)]
    assert groups[0] == groups[1]


def test_compaction_changes_no_group_and_leaves_one_file(tmp_path):
    folder = start_run(tmp_path, *(rollout(f"case{number}") for number in range(6)))
    for number in range(6):
        folder.add([measured(score(number / 10, 0.1, 0.2), rollout(f"case{number}"))])
    before = [repr(group) for group in OutcomeReader(folder, [ASKED]).groups()]
    units = list(OutcomeReader(folder, [ASKED]).units("light"))
    folder.compact()
    assert [repr(group) for group in OutcomeReader(folder, [ASKED]).groups()] == before
    assert list(OutcomeReader(folder, [ASKED]).units("light")) == units
    assert [part.name[:8] for part in folder.parts()] == ["compact-"]


def test_compaction_leaves_compacted_files_and_a_single_part_alone(tmp_path):
    folder = start_run(tmp_path)
    for number in range(3):
        folder.add([measured(score(0.5), rollout(f"case{number}"))])
    folder.compact()
    folder.add([measured(score(0.5), rollout("late"))])
    before = folder.parts()
    folder.compact()
    assert folder.parts() == before
    assert len(before) == 2


def test_compaction_keeps_each_measurement_once_and_the_best_of_several(tmp_path):
    folder = start_run(tmp_path)
    folder.add([measured(Failure("KeyError", ""))])
    folder.add([measured(score(0.5, 0.25)), measured(score(0.1), metric="other")])
    folder.add([measured(score(0.5, 0.25))])
    folder.add([measured(Abstention(Reason.NO_TARGET, ""))])
    folder.compact()
    (part,) = folder.parts()
    kept = pq.read_table(part).select(["metric", "unit", "status"]).to_pylist()
    found = sorted((row["metric"], row["unit"] or "", row["status"]) for row in kept)
    assert found == [("light", "", "score"), ("light", "unit0", "score"), ("other", "", "score")]


def compacted_slowly(tables: list[pa.Table]) -> list[tuple[object, ...]]:
    """What compaction keeps, measurement by measurement."""
    best: dict[tuple[str, ...], tuple[int, int]] = {}
    for number, table in enumerate(tables):
        for row in table.to_pylist():
            if row["unit"] is None:
                key, found = tuple(row[name] for name in KEY), (STATUSES.index(row["status"]), -number)
                best[key] = min(found, best.get(key, found))
    return [
        tuple(row.values())
        for number, table in enumerate(tables)
        for row in table.to_pylist()
        if best[tuple(row[name] for name in KEY)][1] == -number
    ]


@pytest.mark.parametrize("seed", range(20))
def test_compaction_keeps_what_a_slow_count_keeps_in_the_same_order(seed):
    dice = random.Random(seed)
    outcomes = [score(0.1, 0.2), score(0.3), Abstention(Reason.NO_TARGET, ""), Failure("KeyError", "")]
    tables = []
    for _ in range(dice.randint(1, 6)):
        names = dice.sample(["a", "b", "c", "d"], dice.randint(1, 3))
        tables.append(
            rows([measured(dice.choice(outcomes), rollout(name), metric=m) for name in names for m in ("x", "y")])
        )
    assert [tuple(row.values()) for row in each_measurement_once(tables).to_pylist()] == compacted_slowly(tables)


def test_compaction_holds_only_so_many_rows_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "ROWS_AT_ONCE", 6)
    monkeypatch.setattr(run_folder, "READ_AT_ONCE", 4)
    entries = [rollout(f"case{number}") for number in range(7)]
    folder = start_run(tmp_path, *entries)
    for entry in entries:
        folder.add([measured(score(0.5, 0.25), entry)])
    before = [repr(group) for group in OutcomeReader(folder, [ASKED]).groups()]
    folder.compact()
    assert sorted(pq.read_metadata(part).num_rows for part in folder.parts()) == [2, 6, 6]
    assert [repr(group) for group in OutcomeReader(folder, [ASKED]).groups()] == before


@pytest.mark.parametrize("clock", [0.0, 4e9], ids=["set back", "set forward"])
def test_compaction_removes_what_killed_writers_left_and_nothing_that_is_being_written(tmp_path, monkeypatch, clock):
    folder = start_run(tmp_path)
    for name in (".old.partial", ".new.partial", "old.partial", ".other"):
        (folder.outcomes / name).write_bytes(b"PAR1")
        os.utime(folder.outcomes / name, (0, 0) if "old" in name else (4e9, 4e9))
    path, seen = folder.outcomes / "being-written", []

    def write(file):
        (own,) = (found for found in folder.outcomes.glob(".*.partial") if len(found.name) > 20)
        for age in (0, 4e9):
            os.utime(own, (age, age))
            folder.compact()
        seen.append(own.exists())
        file.write(b"whole")

    monkeypatch.setattr(time, "time", lambda: clock)
    write_whole(path, write)
    assert seen == [True]
    assert path.read_bytes() == b"whole"
    assert {found.name for found in folder.outcomes.iterdir()} == {"old.partial", ".other", ".compacting", path.name}


@pytest.mark.merge
def test_a_file_that_a_killed_process_was_writing_is_removed_at_once(tmp_path):
    folder = start_run(tmp_path)
    code = (
        "import os, sys; from pathlib import Path; from lookaway.io.files import write_whole; "
        "write_whole(Path(sys.argv[1]), lambda file: os.kill(os.getpid(), 9))"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(folder.outcomes / "rows.parquet")], check=False)
    assert killed.returncode == -9
    assert len(list(folder.outcomes.glob(".*.partial"))) == 1
    folder.compact()
    assert list(folder.outcomes.glob(".*.partial")) == []


def test_rows_outlast_a_power_cut(tmp_path, monkeypatch):
    folder, synced = start_run(tmp_path), []
    monkeypatch.setattr(os, "fsync", synced.append)
    folder.add([measured(score(0.5))])
    assert len(synced) == 1


def test_compaction_waits_for_nobody_and_disturbs_nobody(tmp_path):
    folder = start_run(tmp_path)
    for number in range(2):
        folder.add([measured(score(0.5), rollout(f"case{number}"))])
    with (folder.outcomes / ".compacting").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        folder.compact()
        assert len(folder.parts()) == 2
    folder.compact()
    assert len(folder.parts()) == 1


@pytest.mark.parametrize("clean_up", [RunFolder.compact, RunFolder.set_aside_damaged])
@pytest.mark.parametrize("has_hash", [True, False])
def test_a_damaged_file_is_set_aside_named_and_kept(has_hash, clean_up, tmp_path, caplog):
    folder = start_run(tmp_path)
    first, second = (folder.add([measured(score(0.5), rollout(f"case{number}"))]) for number in range(2))
    if not has_hash:
        second = second.rename(second.with_name("old.parquet"))
    second.write_bytes(b"PAR1 damaged PAR1")
    clean_up(folder)
    aside = second.with_name(f"{second.name}.damaged")
    assert aside.read_bytes() == b"PAR1 damaged PAR1"
    assert folder.parts() == [first]
    assert f"set aside as {aside.name}." in caplog.text
    event = json.loads((tmp_path / "events.jsonl").read_text())
    assert (event["event"], event["file"]) == ("set_aside", aside.name)


def test_a_write_that_fails_leaves_no_part_and_tells_the_user(tmp_path, monkeypatch):
    folder = start_run(tmp_path)

    def full(*arguments, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr("lookaway.store.run_folder.write_rows", full)
    with pytest.raises(RunError, match="cannot be written here: no space left on device"):
        folder.add([measured(score(0.5))])
    assert list(folder.outcomes.iterdir()) == []


def test_a_file_in_the_place_of_the_run_is_an_error_of_the_user(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(RunError, match="cannot be written here"):
        start_run(tmp_path / "run")


def test_events_of_several_threads_never_mix(tmp_path):
    folder = start_run(tmp_path)
    text = "trace\n" * 20_000
    threads = [threading.Thread(target=folder.note, args=("measured",), kwargs={"failures": [text]}) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["failures"] for line in lines] == [[text]] * 8


def test_several_events_are_noted_in_one_piece_and_keep_their_order(tmp_path):
    folder = start_run(tmp_path)
    folder.note_all([{"event": "measured", "rollout": name} for name in ("b", "a")])
    folder.note("lost", rollout="c")
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [(line["event"], line["rollout"]) for line in lines] == [("measured", "b"), ("measured", "a"), ("lost", "c")]
    assert lines[0]["time"] == lines[1]["time"] <= lines[2]["time"]


def test_the_rollouts_of_a_run_come_back_or_are_an_error_of_the_user(tmp_path):
    folder = start_run(tmp_path)
    assert folder.rollouts(["model", "rollout"]).to_pylist() == [{"model": "alpha", "rollout": "alpha/case/0"}]
    for spoil in (lambda: folder.rollouts_file.write_bytes(b"damaged"), folder.rollouts_file.unlink):
        spoil()
        with pytest.raises(RunError, match=r"rollouts\.parquet: .* Run the same `lookaway eval` again"):
            folder.rollouts()


def test_an_event_may_name_a_file_that_is_no_unicode(tmp_path):
    folder = start_run(tmp_path)
    folder.note("measured", rollout="caf\udce9.mp4")
    assert json.loads((tmp_path / "events.jsonl").read_text())["rollout"] == "caf\udce9.mp4"


def test_a_folder_that_is_no_run_says_how_to_make_one(tmp_path):
    with pytest.raises(RunError, match=r"not a run folder, there is no run\.json\. Make one with `lookaway eval`"):
        RunFolder(tmp_path).about()


@pytest.mark.parametrize("text", ["[]", "null", '"text"', "{}", '{"suite": "folder"}'])
def test_a_damaged_description_of_the_run_is_an_error_of_the_user(text, tmp_path):
    folder = start_run(tmp_path)
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(RunError, match=r"run\.json"):
        folder.about()


@pytest.mark.parametrize("is_rehashed", [False, True])
def test_a_lock_that_was_edited_is_noticed(tmp_path, is_rehashed):
    folder = start_run(tmp_path)
    content = json.loads((tmp_path / "lock.json").read_text())
    assert folder.lock().sha256 == content["sha256"]
    content["suite"] = "mind"
    if is_rehashed:
        content["sha256"] = "0" * 64
    (tmp_path / "lock.json").write_text(json.dumps(content))
    with pytest.raises(RunError, match=r"lock\.json: records the hash .*: it was changed\. Restore"):
        folder.lock()


def test_a_description_that_is_no_json_is_an_error_of_the_user(tmp_path):
    folder = start_run(tmp_path)
    (tmp_path / "lock.json").write_text("{")
    with pytest.raises(DatasetError, match=r"lock\.json: not valid JSON"):
        folder.lock()
