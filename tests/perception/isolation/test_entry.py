"""Going on as Python in an environment of its own, and serving a runner file there."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from uv import find_uv_bin

from lookaway.core import Reason, Unmeasurable, canonical_json, describe
from lookaway.perception.isolation import entry
from lookaway.perception.isolation.environment import HERE, Environment
from lookaway.perception.isolation.process import ChildProcess, RunnerFailed
from lookaway.perception.isolation.runner import Runner, ServedHere

RUNNERS = Path(__file__).parent / "runners"
SIX = Environment(("numpy==2.4.6", "six==1.16.0"))
TELL = """
import json, os, sys
import six, click, lookaway
print(json.dumps({
    "name": __name__, "argv": sys.argv, "pid": os.getpid(), "prefix": sys.prefix,
    "six": six.__version__, "six_file": six.__file__, "click": click.__file__, "lookaway": lookaway.__file__,
    "variables": dict(os.environ), "path": sys.path,
}))
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "a script.py"
    path.write_text(TELL)
    return path


def entered(environment, *command, **variables):
    """What a script tells that was started as a cluster starts its processes."""
    line = f"exec {environment.entry_command()} {shlex.join(map(str, command))}"
    with subprocess.Popen(
        ["bash", "-c", line], stdout=subprocess.PIPE, env={**os.environ, **variables}, text=True
    ) as process:
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return process.pid, json.loads(said)


@pytest.mark.merge
def test_the_script_runs_in_the_environment_and_finds_there_what_it_pins_and_elsewhere_the_rest(script, tmp_path):
    (tmp_path / "six.py").write_text("__version__ = 'of the path'\n")
    (tmp_path / "click.py").write_text("")
    pid, told = entered(SIX, script, "--one", "a b", PYTHONPATH=str(tmp_path))
    assert told["pid"] == pid
    assert told["name"] == "__main__"
    assert told["argv"] == [str(script), "--one", "a b"]
    assert Path(told["prefix"]) == SIX.folder
    assert told["six"] == "1.16.0"
    assert told["six_file"].startswith(str(SIX.folder))
    assert told["click"] == str(tmp_path / "click.py")
    assert Path(told["lookaway"]) == Path(entry.__file__).parents[2] / "__init__.py"
    assert told["variables"][HERE] == SIX.folder.name


@pytest.mark.nightly
def test_the_variables_are_those_of_a_child_and_of_the_cluster(script):
    _, told = entered(SIX, script, OPENAI_API_KEY="sk-judge", HF_TOKEN="x", RAY_JOB_ID="7", RAY_AUTH_TOKEN="y")
    found = told["variables"]
    assert not {"OPENAI_API_KEY", "HF_TOKEN"} & found.keys()
    assert (found["RAY_JOB_ID"], found["RAY_AUTH_TOKEN"], found["HF_HUB_OFFLINE"]) == ("7", "y", "1")
    assert found["LOOKAWAY_HOME"] == os.environ["LOOKAWAY_HOME"]


COUNTED_UV = """
def find_uv_bin():
    return {program!r}
"""


@pytest.mark.nightly
def test_processes_that_enter_one_environment_at_once_make_it_once(tmp_path, script):
    program, package = tmp_path / "counted uv", tmp_path / "path" / "uv"
    program.write_text(f'#!/bin/sh\necho $1 >> {tmp_path}/calls\nsleep 0.3\nexec {find_uv_bin()} "$@"\n')
    program.chmod(0o755)
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(COUNTED_UV.format(program=str(program)))
    variables = {**os.environ, "LOOKAWAY_HOME": str(tmp_path / "home"), "PYTHONPATH": str(package.parent)}
    line = f"exec {Environment(('six==1.15.0',)).entry_command()} {shlex.quote(str(script))}"
    processes = [
        subprocess.Popen(["bash", "-c", line], stdout=subprocess.PIPE, env=variables, text=True) for _ in range(2)
    ]
    told = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    assert {each["six"] for each in told} == {"1.15.0"}
    assert len({each["prefix"] for each in told}) == 1
    assert (tmp_path / "calls").read_text().split() == ["venv", "pip"]


@pytest.mark.nightly
def test_where_the_environment_cannot_be_made_the_script_runs_where_it_came_from(script):
    _, told = entered(Environment(("six==99.0",)), script, "argument", OPENAI_API_KEY="kept")
    assert told["argv"] == [str(script), "argument"]
    assert told["prefix"] == sys.prefix
    assert HERE not in told["variables"]
    assert told["variables"]["OPENAI_API_KEY"] == "kept"


@pytest.mark.nightly
def test_an_environment_that_takes_long_is_made_while_the_script_runs_elsewhere(script, monkeypatch, tmp_path):
    monkeypatch.setattr(entry, "SECONDS_TO_MAKE", 0.0)
    monkeypatch.setenv("LOOKAWAY_HOME", str(tmp_path))
    monkeypatch.setattr(os, "execve", lambda *arguments: pytest.fail("it was not waited for"))
    gone_on = []
    monkeypatch.setattr(os, "execv", lambda *arguments: gone_on.append(arguments))
    made = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **options: made.append(popen(*given, **options)) or made[0])
    entry.main(canonical_json(describe(Environment(()))), "script.py", "argument")
    assert gone_on == [(sys.executable, [sys.executable, "script.py", "argument"])]
    assert made[0].wait(60) == 0
    assert Environment(()).is_made


def test_what_an_environment_tells_of_itself_makes_it_again():
    told = Environment(("six==1.16.0",), bare=("click==8.1.0",), python="3.12")
    assert Environment.from_json(json.loads(canonical_json(describe(told)))) == told


# A runner file in this process


@pytest.fixture
def here(monkeypatch):
    """As if this process were in the environment."""
    monkeypatch.setenv(HERE, SIX.folder.name)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "runners"]:
        del sys.modules[name]


def runner(name="scripted", environment=SIX, **settings):
    return Runner(environment=environment, file=RUNNERS / f"{name}.py", settings=settings)


def test_a_process_in_the_environment_serves_the_runner_itself(here):
    answer = runner().ask({"frames": np.arange(3)})
    assert answer["frames"].tolist() == [0, 1, 2]
    assert answer["count"].shape == ()
    assert isinstance(runner().start(), ServedHere)


def test_a_process_in_another_environment_starts_a_child(here):
    other = runner(environment=Environment(("numpy==2.4.6",)))
    started = other.start()
    assert isinstance(started, ChildProcess)
    assert started.pid != os.getpid()
    started.end()


def test_a_runner_may_write_to_what_it_is_given_and_the_giver_keeps_its_own(here):
    given = np.zeros(3, np.uint8)
    given.flags.writeable = False
    answer = runner().ask({"frames": given})["frames"]
    answer[0] = 1
    assert given.tolist() == [0, 0, 0]


def test_two_runners_of_one_name_do_not_share_their_files_or_their_state(here, tmp_path):
    (tmp_path / "scripted.py").write_text(
        "import numpy as np\ndef load(s):\n    return lambda a, s: {'x': np.ones(1)}\n"
    )
    first, second = runner(), runner()
    other = Runner(environment=SIX, file=tmp_path / "scripted.py")
    assert [int(each.ask({})["count"]) for each in (first, second, first)] == [1, 1, 2]
    assert other.ask({}).keys() == {"x"}
    assert first.ask({})["count"] == 3


@pytest.mark.parametrize(
    ("deed", "told"),
    [
        ("crash", "ValueError: a mistake in the runner"),
        ("politely leave", "SystemExit: never mind"),
        ("objects", "the array 'found' holds object"),
        ("text", "the array 'found' holds"),
    ],
)
def test_a_mistake_is_told_as_that_of_a_child(here, deed, told):
    made = runner()
    with pytest.raises(RunnerFailed, match=told) as caught:
        made.ask({}, do=deed)
    assert "hunter22" not in str(caught.value)
    assert made.ask({})["count"] == 2


def test_a_typed_reason_stays_typed(here):
    with pytest.raises(Unmeasurable, match="under water") as caught:
        runner().ask({}, do="unmeasurable", reason="pose_failed")
    assert caught.value.reason is Reason.POSE_FAILED
    with pytest.raises(RunnerFailed, match="bad_mood"):
        runner().ask({}, do="unmeasurable", reason="bad_mood")
    with pytest.raises(Unmeasurable) as caught:
        runner(load="unmeasurable").start()
    assert caught.value.reason is Reason.MISSING_WEIGHTS


def test_too_large_a_question_or_answer_is_refused(here):
    small = ServedHere(max_bytes=10)
    small.ask({"kind": "load", "runner": str(RUNNERS / "scripted.py"), "settings": {}}, {}, 60)
    with pytest.raises(RunnerFailed, match="take 24 bytes, 10 are allowed"):
        small.ask({"kind": "ask", "settings": {}}, {"a": np.zeros(3)}, 60)
    with pytest.raises(RunnerFailed, match="has the shape"):
        small.ask({"kind": "ask", "settings": {"do": "large", "bytes": 11}}, {}, 60)


HANGING = """
import os, sys
from pathlib import Path
from lookaway.perception.isolation.runner import ServedHere
served = ServedHere()
served.ask({"kind": "load", "runner": sys.argv[1], "settings": {}}, {}, 60)
served.ask({"kind": "ask", "settings": {"do": "shapes"}}, {"frames": __import__("numpy").zeros((1, 2, 2, 3))}, 60)
served.ask({"kind": "ask", "settings": {"do": "hang", "nap": "0.1"}}, {}, 0.3)
"""


def test_a_runner_that_takes_too_long_ends_the_process():
    done = subprocess.run(
        [sys.executable, "-c", HANGING, RUNNERS / "scripted.py"], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 1
    assert done.stderr == "The runner did not answer within 0.3 seconds.\n"
