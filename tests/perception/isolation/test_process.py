"""Children of this very Python: what they do to the protocol, and what becomes of them."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Reason, Unmeasurable
from lookaway.perception.isolation import child
from lookaway.perception.isolation.process import ChildProcess, RunnerFailed
from lookaway.perception.isolation.runner import Runner
from lookaway.perception.isolation.variables import child_variables

SCRIPTED = Path(__file__).parent / "runners" / "scripted.py"
FRAMES = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)


class Here:
    """This Python, in place of an environment."""

    def ensure(self):
        return Path(sys.executable)


@pytest.fixture
def runner():
    made = Runner(environment=Here(), file=SCRIPTED)
    yield made
    if made._child:
        made._child.end()


def is_running(pid):
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(*pids, within=8.0):
    deadline = time.monotonic() + within
    while any(map(is_running, pids)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_arrays_go_in_and_come_out(runner):
    answer = runner.ask({"frames": FRAMES, "mask": np.array([True, False])})
    np.testing.assert_array_equal(answer["frames"], FRAMES)
    assert answer["mask"].tolist() == [True, False]
    assert answer["mask"].dtype == bool


def test_one_child_serves_many_requests(runner):
    assert [int(runner.ask({})["count"]) for _ in range(3)] == [1, 2, 3]


def test_more_than_a_pipe_holds_goes_through(runner):
    frames = np.random.default_rng(0).integers(0, 256, (8, 480, 832, 3), np.uint8)
    np.testing.assert_array_equal(runner.ask({"frames": frames})["frames"], frames)


def test_garbage_on_standard_output_does_not_reach_the_protocol(runner):
    for _ in range(2):
        np.testing.assert_array_equal(runner.ask({"frames": FRAMES}, do="garbage")["frames"], FRAMES)


def test_a_runner_that_reads_standard_input_finds_nothing_and_takes_nothing(runner):
    assert bytes(runner.ask({}, do="read stdin")["read"]) == b"!"
    assert runner.ask({"frames": FRAMES})["count"] == 2


# Errors


def test_a_typed_reason_comes_back_typed(runner):
    with pytest.raises(Unmeasurable, match="the camera is under water") as caught:
        runner.ask({}, do="unmeasurable", reason="pose_failed")
    assert caught.value.reason is Reason.POSE_FAILED
    assert runner.ask({})["count"] == 2


def test_a_reason_that_is_not_known_is_a_failure(runner):
    with pytest.raises(RunnerFailed, match="bad_mood"):
        runner.ask({}, do="unmeasurable", reason="bad_mood")


def test_a_mistake_in_the_runner_comes_back_with_its_trace_and_the_child_lives_on(runner):
    with pytest.raises(RunnerFailed, match="ValueError: a mistake in the runner") as caught:
        runner.ask({}, do="crash")
    assert "scripted.py" in str(caught.value)
    assert "hunter22" not in str(caught.value)
    assert runner.ask({})["count"] == 2


def test_a_runner_that_cannot_load_says_why(runner):
    runner.settings = {"load": "crash"}
    with pytest.raises(RunnerFailed, match="no such network"):
        runner.ask({})
    runner.settings = {"load": "unmeasurable"}
    with pytest.raises(Unmeasurable) as caught:
        runner.ask({})
    assert caught.value.reason is Reason.MISSING_WEIGHTS


def test_a_runner_file_that_is_not_there_is_named():
    with pytest.raises(RunnerFailed, match=r"runners\.nobody"):
        Runner(environment=Here(), file=SCRIPTED.with_name("nobody.py")).start()


@pytest.mark.parametrize("deed", ["objects", "text", "complex"])
def test_an_answer_of_a_wrong_type_is_a_failure_and_the_child_lives_on(runner, deed):
    with pytest.raises(RunnerFailed, match="the array 'found' holds"):
        runner.ask({}, do=deed)
    assert runner.ask({})["count"] == 2


def test_an_answer_larger_than_is_allowed_is_refused(runner):
    runner.max_bytes = 10_000
    assert len(runner.ask({}, do="large", bytes=9_000)["found"]) == 9_000
    with pytest.raises(RunnerFailed, match=r"the array .found. has the shape \[20000\]"):
        runner.ask({}, do="large", bytes=20_000)


def test_a_question_larger_than_is_allowed_is_not_asked(runner):
    runner.max_bytes = 10
    with pytest.raises(RunnerFailed, match="take 120 bytes, 10 are allowed"):
        runner.ask({"frames": FRAMES})


HOSTILE = {
    "a huge array": b"lookaway"
    + (60).to_bytes(8, "little")
    + b'{"kind":"answer","arrays":[["a","uint8",[999999999999999]]]}',
    "a huge header": b"lookaway" + (2**62).to_bytes(8, "little"),
    "no message": b"hello, I am not of this protocol at all",
    "half a message": b"lookaway" + (46).to_bytes(8, "little") + b'{"kind":"answer","arrays":[["a","uint8",[9]]]}1234',
    "nothing": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_child_that_breaks_the_protocol_is_ended(tmp_path, monkeypatch, name):
    hostile = tmp_path / "hostile.py"
    hostile.write_text(f"import os; os.read(0, 10); os.write(1, {HOSTILE[name]!r}); os.close(1); os.read(0, 10**6)\n")
    monkeypatch.setattr(child, "__file__", str(hostile))
    process = ChildProcess(Path(sys.executable))
    with pytest.raises(RunnerFailed, match=r"could not be talked to|ended by itself|closed its pipes"):
        process.ask({"kind": "load"}, {}, 20)
    assert not process.is_alive
    assert gone(process.pid)


def test_after_an_interruption_the_next_question_does_not_get_the_answer_to_the_last(runner, monkeypatch):
    runner.start()
    with monkeypatch.context() as patch:
        patch.setattr(child, "receive", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            runner.ask({"frames": FRAMES})
    assert "frames" not in runner.ask({})


# Death


@pytest.mark.parametrize(
    ("deed", "told"),
    [
        ("leave", r"ended by itself with exit code 3. Its last output:\n.*good bye"),
        ("die", r"was killed by SIGKILL, as a machine out of memory does. Its last output:\n.*something is wrong here"),
        ("segfault", r"was killed by SIGSEGV"),
        ("politely leave", r"SystemExit: never mind"),
    ],
)
def test_a_child_that_dies_says_how_and_the_next_question_has_a_new_one(runner, deed, told):
    first = runner.start().pid
    with pytest.raises(RunnerFailed, match=f"(?s){told}"):
        runner.ask({}, do=deed)
    assert runner.ask({"frames": FRAMES})["frames"].shape == FRAMES.shape
    assert (runner.start().pid == first) == (deed == "politely leave")


def test_a_child_that_was_killed_from_outside_is_replaced(runner):
    first = runner.start()
    os.kill(first.pid, signal.SIGKILL)
    deadline = time.monotonic() + 8
    while first.is_alive and time.monotonic() < deadline:  # a process can look gone before its last thread is
        time.sleep(0.02)
    assert runner.ask({})["count"] == 1
    assert runner.start().pid != first.pid


def test_a_child_that_takes_too_long_is_ended_with_all_that_it_started(runner):
    runner.seconds_to_answer = 0.5
    pid, nap = runner.start().pid, f"60.{os.getpid()}"
    before = time.monotonic()
    with pytest.raises(RunnerFailed, match=r"did not answer within 0\.5 seconds"):
        runner.ask({}, do="hang", nap=nap)
    assert time.monotonic() - before < 30
    assert gone(pid)
    assert not sleeping(nap)
    runner.seconds_to_answer = 60
    assert runner.ask({})["count"] == 1


def sleeping(seconds):
    """Whether a process of the test sleeps for so long."""
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    return any(line == f"sleep\0{seconds}\0".encode() for line in lines)


def test_loading_has_a_limit_too():
    runner = Runner(environment=Here(), file=SCRIPTED, settings={"load": "hang"}, seconds_to_load=1.5)
    with pytest.raises(RunnerFailed, match=r"did not answer within 1\.5 seconds"):
        runner.start()


def test_a_child_that_does_not_read_runs_into_the_limit(tmp_path, monkeypatch):
    deaf = tmp_path / "deaf.py"
    deaf.write_text("import time; time.sleep(60)\n")
    monkeypatch.setattr(child, "__file__", str(deaf))
    process = ChildProcess(Path(sys.executable))
    with pytest.raises(RunnerFailed, match="did not answer within"):
        process.ask({"kind": "ask"}, {"frames": np.zeros(10**7, np.uint8)}, 0.5)
    assert gone(process.pid)


def test_nothing_is_left_when_the_runner_is_collected():
    runner = Runner(environment=Here(), file=SCRIPTED)
    pids = runner.ask({}, do="pids")["pids"].tolist()
    assert all(map(is_running, pids))
    del runner
    gc.collect()
    assert gone(*pids)


PARENT = """
import os, sys, time
from pathlib import Path
from lookaway.perception.isolation.runner import Runner
class Here:
    def ensure(self):
        return Path(sys.executable)
runner = Runner(environment=Here(), file=Path(sys.argv[1]))
print(*runner.ask({}, do="pids")["pids"], flush=True)
if sys.argv[2] == "busy":
    runner.ask({}, do="hang")
time.sleep(60)
"""


@pytest.mark.parametrize("state", ["idle", "busy"])
def test_nothing_is_left_when_the_parent_is_killed(state):
    with subprocess.Popen([sys.executable, "-c", PARENT, SCRIPTED, state], stdout=subprocess.PIPE, text=True) as parent:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert all(map(is_running, pids))
        time.sleep(0.3)
        parent.kill()
    assert gone(*pids)


# What a child gets to see


def test_secrets_are_not_passed_on(runner, monkeypatch):
    secret = {
        "OPENAI_API_KEY": "sk-judge",
        "HF_TOKEN": "hf_gate",
        "CUDA_SECRET": "x",
        "HF_PASSWORD": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "HTTPS_PROXY": "http://me:hunter22@proxy:80",
        "PYTHONPATH": "/nowhere",
        "MY_OWN_THING": "x",
    }
    passed = {"HF_HOME": "/hub", "CUDA_VISIBLE_DEVICES": "1", "http_proxy": "http://proxy:80", "LC_ALL": "C.UTF-8"}
    for name, value in {**secret, **passed}.items():
        monkeypatch.setenv(name, value)
    found = dict(line.split("=", 1) for line in bytes(runner.ask({}, do="variables")["text"]).decode().split("\n"))
    assert not secret.keys() & found.keys()
    assert passed.items() <= found.items()
    assert found["HF_HUB_OFFLINE"] == "1"
    assert found["PATH"] == os.environ["PATH"]


def test_only_what_is_named_is_passed_on():
    assert child_variables({"PATH": "/bin", "MYPATH": "x", "PATHS": "x", "HF_HUB_OFFLINE": "0"}).keys() == {
        "PATH",
        "HF_HUB_OFFLINE",
        "TRANSFORMERS_OFFLINE",
        "HF_HUB_DISABLE_TELEMETRY",
    }
    assert child_variables({"HF_HUB_OFFLINE": "0"})["HF_HUB_OFFLINE"] == "1"
