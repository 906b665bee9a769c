from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import lookaway
from lookaway.store.run_folder import RunFolder
from tests.support.runs import events, table_text
from tests.support.tiny import QUICK, write_mbench

# Runs the command line and kills it from inside at the n-th time that a file is put in place or removed.
DIE = """
import os, pathlib, signal, sys
wanted, when, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.argv = ["lookaway", *sys.argv[4:]]
calls = 0
def deadly(call):
    def called(*arguments, **options):
        global calls
        calls += 1
        if calls == number and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        call(*arguments, **options)
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
    return called
if wanted == "replace":
    os.replace = deadly(os.replace)
else:
    pathlib.Path.unlink = deadly(pathlib.Path.unlink)
from lookaway.engine import session
session.MAX_BATCH = 1  # one rollout in a batch, so that all writes can be counted
from lookaway.cli import main
main()
"""
BEGIN_FILES = 3
"""rollouts.parquet, lock.json, run.json."""
ENVIRONMENT_FILES, CAUSAL_FILES = 5, 2
"""Rows, and features: poses; where there is light and a gate, also means of colours, flow, and motion."""
MACHINE_FILES = 1
"""lock.json again, with what measured the first rollout."""
ALL_FILES = 3 * ENVIRONMENT_FILES + 3 * CAUSAL_FILES + MACHINE_FILES
FIRST_ROWS, COMPACTION = BEGIN_FILES + ENVIRONMENT_FILES, BEGIN_FILES + ALL_FILES + 1
"""The renames that end the rows of a first rollout, and compaction."""
MERGE, NIGHTLY = pytest.mark.merge, pytest.mark.nightly


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_mbench(tmp_path_factory.mktemp("killed") / "dataset", samples=3).root


@pytest.fixture(scope="module")
def whole(root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The table of a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    lookaway.evaluate(root, folder, metrics=QUICK)
    return table_text(folder)


def finished(run: Path) -> set[str]:
    """Rollouts whose rows are on disk."""
    return {name for part in RunFolder(run).parts() for name in pq.read_table(part)["rollout"].to_pylist()}


def measured(run: Path) -> list[str]:
    return [event["rollout"] for event in events(run)] if (run / "events.jsonl").exists() else []


def arguments(root: Path, run: Path) -> list[str]:
    return ["eval", str(root), "--metrics", ",".join(QUICK), "-o", str(run), "--quiet"]


@pytest.mark.parametrize(
    ("call", "when", "number", "rollouts_on_disk"),
    [
        pytest.param("replace", "before", 1, 0, id="before the first file", marks=NIGHTLY),
        pytest.param("replace", "after", BEGIN_FILES - 1, 0, id="before the run is described", marks=MERGE),
        pytest.param("replace", "before", FIRST_ROWS, 0, id="before the rows of a rollout", marks=NIGHTLY),
        pytest.param("replace", "after", FIRST_ROWS, 1, id="after the rows of a rollout", marks=MERGE),
        pytest.param("replace", "after", COMPACTION - 1, 6, id="before compaction", marks=NIGHTLY),
        pytest.param("replace", "before", COMPACTION, 6, id="with compacted rows half written", marks=NIGHTLY),
        pytest.param("replace", "after", COMPACTION, 6, id="with rows both compacted and not", marks=NIGHTLY),
        pytest.param("unlink", "after", 3, 6, id="with some of the parts removed", marks=MERGE),
    ],
)
def test_a_run_killed_at_any_write_continues_to_the_same_table(
    call, when, number, rollouts_on_disk, root, whole, tmp_path
):
    run = tmp_path / "run"
    command = [sys.executable, "-c", DIE, call, when, str(number), *arguments(root, run)]
    assert subprocess.run(command, capture_output=True).returncode == -signal.SIGKILL
    on_disk, before = finished(run), len(measured(run))
    assert len(on_disk) == rollouts_on_disk
    lookaway.evaluate(root, run, metrics=QUICK)
    assert table_text(run) == whole
    assert not on_disk & set(measured(run)[before:])


@pytest.mark.nightly
def test_a_run_killed_at_random_moments_again_and_again_measures_every_rollout_once(root, whole, tmp_path):
    run, dice = tmp_path / "run", random.Random(0)
    for parts in (dice.randint(0, 1), dice.randint(2, 3), dice.randint(4, 5)):
        kill_when(run, parts, arguments(root, run), seconds=dice.uniform(0, 0.02))
    on_disk = finished(run)
    subprocess.run([sys.executable, "-c", "from lookaway.cli import main; main()", *arguments(root, run)], check=True)
    assert table_text(run) == whole
    assert len(on_disk) >= 4
    assert max(measured(run).count(rollout) for rollout in finished(run)) == 1


def kill_when(run: Path, parts: int, command: list[str], *, seconds: float) -> None:
    """Start an evaluation and kill it some time after it has so many parts."""
    process = subprocess.Popen([sys.executable, "-c", "from lookaway.cli import main; main()", *command])
    while process.poll() is None and not ((run / "run.json").exists() and len(RunFolder(run).parts()) >= parts):
        time.sleep(0.002)
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def test_half_written_files_are_not_taken_for_rows(root, tmp_path):
    folder = RunFolder(tmp_path)
    folder.outcomes.mkdir()
    (folder.outcomes / ".0123.partial").write_bytes(b"PAR1")
    assert folder.parts() == []
