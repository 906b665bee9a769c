"""`lookaway check`: a whole run, every kind of damage, and runs of older versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Feature, JudgeModel, JudgeRequest, Lock, RunError
from lookaway.engine.checking import check_run
from lookaway.engine.timings import SessionCosts, save_session
from lookaway.io.files import write_json
from lookaway.io.journal import Journal
from lookaway.judges.reply_store import ReplyStore
from lookaway.store.feature_store import FeatureStore
from lookaway.store.run_folder import RunFolder
from tests.store.rows import measured, rollout, score, start_run
from tests.support.command import lookaway

CONTENT, RECIPE = "ab" * 16, "cd" * 16
REQUEST = JudgeRequest(judge=JudgeModel(model="judge"), system="", instruction="Is it back?")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with files of every kind."""
    path = tmp_path / "run"
    entries = [rollout(f"case{number}") for number in range(3)]
    folder = start_run(path, *entries)
    for number, entry in enumerate(entries):
        folder.add([measured(score(number / 10, 0.1, 0.2), entry)])
    folder.note("measured", rollout="alpha/case0/0")
    FeatureStore(folder.features).put(CONTENT, RECIPE, Feature({"x": np.arange(5)}))
    ReplyStore(path / "replies").put(REQUEST, {"choices": ["yes"]})
    (path / "spending.jsonl").write_text("")
    save_session(path, SessionCosts(executor="inline", workers=1))
    return path


def flip(path: Path, at: int = -30) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def one(run: Path, pattern: str) -> Path:
    return sorted(run.glob(pattern))[0]


def test_a_whole_run_is_found_to_be_whole(run):
    checked = check_run(run)
    found = {kind.kind: (kind.count, kind.unhashed, kind.damaged) for kind in checked.kinds}
    assert found == {
        "records": (4, 0, []),
        "rows": (3, 0, []),
        "features": (1, 0, []),
        "replies": (1, 0, []),
        "lines of events.jsonl": (1, 0, []),
        "lines of spending.jsonl": (0, 0, []),
    }
    result = lookaway("check", run)
    assert result.code == 0
    assert "nothing is damaged" in result.out


FILES = {
    "run.json": "records",
    "lock.json": "records",
    "rollouts.parquet": "records",
    "costs.json": "records",
    "outcomes/*.parquet": "rows",
    "features/*/*/*.npz": "features",
    "replies/*/*.json": "replies",
    "events.jsonl": "lines of events.jsonl",
}


@pytest.mark.parametrize("at", [-30, 20])
@pytest.mark.parametrize("pattern", FILES)
def test_a_flipped_bit_in_any_file_is_found_and_the_file_named(pattern, at, run):
    path = one(run, pattern)
    flip(path, at)
    checked = check_run(run)
    (damage,) = checked.damaged
    assert damage.startswith(str(path))
    assert [kind.kind for kind in checked.kinds if kind.damaged] == [FILES[pattern]]
    result = lookaway("check", run)
    assert result.code == 3
    assert path.name in result.out
    assert lookaway("check", run, "--json").json["is_whole"] is False


def test_checking_changes_no_file(run):
    flip(one(run, "outcomes/*.parquet"))
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    check_run(run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_file_that_was_set_aside_is_listed_and_no_damage(run):
    part = one(run, "outcomes/*.parquet")
    flip(part)
    RunFolder(run).set_aside_damaged()
    checked = check_run(run)
    assert checked.damaged == []
    assert checked.set_aside == [f"{part}.damaged"]
    result = lookaway("check", run)
    assert (result.code, f"{part.name}.damaged" in result.out) == (0, True)


def test_a_run_of_an_older_version_is_read_and_said_to_carry_no_hashes(run):
    make_old(run)
    checked = check_run(run)
    assert checked.damaged == []
    assert {kind.kind: kind.unhashed for kind in checked.kinds if kind.unhashed} == {
        "records": 3,
        "rows": 3,
        "features": 1,
        "lines of events.jsonl": 1,
    }
    result = lookaway("check", run)
    assert result.code == 0
    assert "8 of these carry no hash" in result.out


def make_old(run: Path) -> None:
    """Remove every hash that older versions did not write."""
    for name in ("run.json", "costs.json"):
        content = json.loads((run / name).read_text())
        old = {key: value for key, value in content.items() if key not in ("sha256", "rollouts_blake2b")}
        (run / name).write_text(json.dumps(old))
    for number, part in enumerate((run / "outcomes").glob("*.parquet")):
        part.rename(part.with_name(f"{number}.parquet"))
    feature = one(run, "features/*/*/*.npz")
    feature.write_bytes(feature.read_bytes()[:-40])
    (run / "events.jsonl").write_text('{"time": 1.0, "event": "started"}\n')


def drop(*names: str) -> Callable[[Path], None]:
    def change(run: Path) -> None:
        content = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps({key: content[key] for key in content if key not in names}))

    return change


@pytest.mark.parametrize("change", [drop("sha256"), drop("rollouts_blake2b", "problems")], ids=["hash", "others"])
def test_a_record_without_one_of_its_two_hashes_is_damaged(change, run):
    change(run)
    (damage,) = check_run(run).damaged
    assert damage.startswith(str(run / "run.json"))


def test_a_lock_of_another_start_is_found(run):
    lock = Lock({"suite": "another"})
    write_json(run / "lock.json", {**lock.entries, "sha256": lock.sha256})
    (damage,) = check_run(run).damaged
    assert "a start of `lookaway eval` was interrupted" in damage


@pytest.mark.parametrize("is_resumed", [False, True])
def test_an_event_that_a_kill_cut_off_is_named_in_one_line_and_is_no_damage(run, is_resumed):
    whole = lookaway("check", run)
    with (run / "events.jsonl").open("a") as file:
        file.write('{"time": 1')
    if is_resumed:
        Journal(run / "events.jsonl").end_line()
        RunFolder(run).note("resumed")
    result = lookaway("check", run)
    assert result.code == 0
    (line,) = (line for line in result.out.splitlines() if line.startswith("unfinished: "))
    assert f"{run / 'events.jsonl'}: line 2 was being written at a crash" in line
    assert len(result.out.splitlines()) == len(whole.out.splitlines()) + 1
    found = lookaway("check", run, "--json").json
    assert found["is_whole"] is True
    assert [len(kind["unfinished"]) for kind in found["kinds"]] == [0, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("change", [lambda lines: lines[:-1] + b"?", lambda lines: lines + bytes(9)])
def test_a_last_event_that_no_kill_leaves_is_damaged(run, change):
    (run / "events.jsonl").write_bytes(change((run / "events.jsonl").read_bytes()))
    (damage,) = check_run(run).damaged
    assert damage.startswith(str(run / "events.jsonl"))


def test_an_unfinished_line_of_what_was_spent_is_damage(run):
    with (run / "spending.jsonl").open("a") as file:
        file.write('{"calls": 1')
    (damage,) = check_run(run).damaged
    assert "line 1 is damaged. Correct or delete it: budgets depend on it." in damage
    assert lookaway("check", run).code == 3


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError, match="not a run folder"):
        check_run(tmp_path)
    assert lookaway("check", tmp_path).code == 2
