"""A test process that dies: the run ends, fails, and says which test it was."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEATHS = {
    "crashes": "os.abort()",
    "hangs": "time.sleep(600)",
    # Whatever is forked holds the pipe by which the controller would learn of the death.
    "leaves_a_child": "os.fork() == 0 and (time.sleep(120), os._exit(0)); os._exit(1)",
}
TESTS = """
import os, time, pytest

@pytest.mark.parametrize("number", range(4))
def test_before(number): pass

@pytest.mark.timeout(2, method="thread")
def test_{name}(): {death}

@pytest.mark.parametrize("number", range(4))
def test_after(number): pass
"""


def options() -> list[str]:
    """How `make check` runs tests, but for the number of processes."""
    command = subprocess.run(
        ["make", "--dry-run", "test", "PYTHON=python"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    program, _, module, _, processes, *rest = shlex.split(command)
    assert (program, module, processes) == ("python", "pytest", "auto")
    return rest


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.merge if name == "crashes" else pytest.mark.nightly) for name in DEATHS],
)
def test_the_test_that_kills_its_process_is_named_and_the_run_ends(tmp_path: Path, name: str) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_deaths.py").write_text(TESTS.format(name=name, death=DEATHS[name]))
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.dead_workers", "--numprocesses", "2", *options()]
    # A file, for what a dead process leaves behind would keep a pipe open here as well.
    with (tmp_path / "printed").open("w") as printed:
        code = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=printed,
            stderr=subprocess.STDOUT,
            timeout=200,
        ).returncode
    text = (tmp_path / "printed").read_text()
    assert code == 1, text
    assert f"test_deaths.py::test_{name} killed its test process" in text
    assert f"FAILED test_deaths.py::test_{name}" in text
    assert "1 failed" in text
