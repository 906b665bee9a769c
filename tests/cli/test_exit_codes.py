from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lookaway.cli.main import main
from lookaway.store.run_folder import RunFolder
from tests.support.command import lookaway
from tests.support.runs import events, outcomes_on_disk
from tests.support.scripted import ANSWERS, bound, script
from tests.support.tiny import QUICK, write_folder, write_mbench

LOOKAWAY = [sys.executable, "-c", "from lookaway.cli import main; main()"]


def test_a_bug_exits_with_1_and_keeps_its_traceback():
    code = "from lookaway.cli import main; main(lambda **options: [][0])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert result.stderr.endswith("IndexError: list index out of range\n")


def test_an_error_of_the_system_that_is_no_broken_pipe_is_not_hidden():
    def fail(**options):
        raise PermissionError("not yours")

    with pytest.raises(PermissionError):
        main(fail)


def test_a_run_with_failures_finishes_with_3_and_still_prints_its_table(tmp_path, monkeypatch):
    script(monkeypatch, bound("right"), bound("wrong"))
    ANSWERS["wrong"] = lambda rollout: [][0]
    root = write_folder(tmp_path / "videos")
    result = lookaway("eval", root, "--suite", "scripted", "-o", tmp_path / "run")
    assert (result.code, result.err) == (3, "")
    assert "failed 2" in result.out
    assert lookaway("eval", root, "--suite", "scripted", "-o", tmp_path / "run", "--quiet").code == 3
    ANSWERS.clear()
    assert lookaway("eval", root, "--suite", "scripted", "-o", tmp_path / "run", "--quiet").code == 0


def test_a_run_with_abstentions_alone_finishes_with_0(tmp_path):
    root = write_folder(tmp_path / "videos", cases=1)
    metrics = ("--suite", "folder", "--metrics", "spatial_epipolar")
    assert lookaway("eval", root, *metrics, "-o", tmp_path / "run", "--quiet").code == 0


def test_a_log_says_at_once_what_is_done_unless_that_is_not_wanted(tmp_path, monkeypatch):
    script(monkeypatch, bound("right"))
    root = write_folder(tmp_path / "videos")
    command = ("eval", root, "--suite", "scripted", "-o", tmp_path / "run")
    assert lookaway(*command).err == ""
    monkeypatch.delenv("LOOKAWAY_NO_PROGRESS")
    assert lookaway(*command).err.startswith(f"reading {root}, measuring into {tmp_path}/run\n")
    assert lookaway(*command, "--quiet").err == ""
    assert lookaway(*command, "--no-progress").err == ""


def test_too_few_scores_for_the_required_coverage_finish_with_4_and_say_what_to_do(tmp_path):
    (tmp_path / "videos" / "model").mkdir(parents=True)
    (tmp_path / "videos" / "model" / "clip.mp4").touch()
    command = ("eval", tmp_path / "videos", "--metrics", "light", "-o", tmp_path / "run", "--no-progress")
    assert lookaway(*command).code == 0
    result = lookaway(*command, "--require-coverage", "0.9")
    assert result.code == 4
    assert "light of model on all: 0 of 1 scores, 0.000" in result.err
    assert "Copy or generate the video again." in result.out
    assert "Copy or generate the video again." in lookaway(*command, "--require-coverage", "0.9", "--quiet").err
    assert lookaway(*command, "--require-coverage", "0").code == 0


@pytest.mark.merge
def test_control_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path):
    root = write_mbench(tmp_path / "dataset", samples=100, subsets=("causal",)).root
    run = tmp_path / "run"
    command = [*LOOKAWAY, "eval", str(root), "--metrics", QUICK[1], "-o", str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not RunFolder(run).parts():
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "Interrupted. Finished work is kept; run the same command to resume."
    kept = set(outcomes_on_disk(run))
    assert 1 <= len(kept) < 100
    before = len(events(run))
    (cell,) = lookaway("eval", root, "--metrics", QUICK[1], "-o", run, "--json").json["cells"]
    assert cell["estimate"]["scored"] == 100
    measured = {(event["rollout"], QUICK[1]) for event in events(run)[before:]}
    assert (len(measured), measured & kept) == (100 - len(kept), set())


def test_a_terminated_run_records_that_it_stopped_and_exits_with_143(tmp_path, monkeypatch):
    def terminate(rollout):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)

    script(monkeypatch, bound("right"))
    ANSWERS["right"] = terminate
    before = signal.getsignal(signal.SIGTERM)
    root = write_folder(tmp_path / "data")
    result = lookaway("eval", root, "--suite", "scripted", "-o", tmp_path / "run", "--quiet")
    assert result.code == 143
    assert "Terminated. Finished work is kept; run the same command to resume." in result.err
    last = events(tmp_path / "run", None)[-1]
    assert (last["event"], last["error"]) == ("stopped", "Terminated")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_reader_that_leaves_early_is_no_error():
    quick_reader = "import sys; sys.stdin.readline()"
    produce = " ".join(f"'{word}'" for word in [*LOOKAWAY, "metrics"])
    pipeline = f"set -o pipefail; {produce} | '{sys.executable}' -c '{quick_reader}'"
    result = subprocess.run(["bash", "-c", pipeline], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_pipe_that_is_closed_before_anything_is_printed_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        result = subprocess.run([*LOOKAWAY, "suites"], stdout=closed, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_letters_that_a_terminal_cannot_show_are_spelled_out(tmp_path: Path):
    root = write_folder(tmp_path / "videos", models=("größe",), cases=1)
    result = subprocess.run(
        [*LOOKAWAY, "eval", root, "--suite", "folder", "--metrics", "rendering_lighting", "-o", tmp_path / "run"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert (result.returncode, result.stderr) == (0, b"")
    assert rb"gr\xf6\xdfe" in result.stdout
