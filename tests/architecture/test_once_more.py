"""A test that fails by chance is named and ends no run; one that fails again does, and so does what is no chance."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.once_more import MOST

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.merge
"""Every test starts some processes of pytest."""
PASSES = "def test_fine(): pass\n"
FLAKY = """
from pathlib import Path
import pytest
pytestmark = pytest.mark.merge

@pytest.mark.parametrize("kind", ["one", "an other"])
def test_by_chance(kind):
    seen = Path(__file__).with_name(f"seen {kind}")
    if not seen.exists():
        seen.touch()
        raise AssertionError("for the first time")
"""
FLAKY_FIXTURE = """
from pathlib import Path
import pytest

@pytest.fixture
def busy():
    seen = Path(__file__).with_suffix(".seen")
    if not seen.exists():
        seen.touch()
        raise OSError("busy")

def test_with_it(busy): pass
"""
WRONG = "def test_wrong(): assert 0\n"
SKIPPED_ALONE = """
import pytest
from pathlib import Path

def test_declines():
    seen = Path(__file__).with_suffix(".seen")
    if seen.exists():
        pytest.skip("not again")
    seen.touch()
    assert 0
"""


def run(folder: Path, *options: str, **files: str) -> tuple[int, list[str]]:
    """Run made-up tests as `make test-all` runs tests, with two processes; the exit code and the lines printed."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = merge\naddopts = -m 'not merge'\n")
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    plugins = ["-p", "tests.support.once_more", "--numprocesses", "2", "--max-worker-restart", "0", "-m", ""]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
        timeout=200,
    )
    return done.returncode, done.stdout.splitlines()


def test_make_test_all_uses_it():
    command = ["make", "--dry-run", "test-all", "PYTHON=python"]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert " -p tests.support.once_more " in printed


def test_a_run_in_which_all_pass_says_nothing_of_it(tmp_path):
    code, lines = run(tmp_path, fine=PASSES)
    assert code == 0
    assert "once more" not in "\n".join(lines)


def test_what_passes_alone_is_named_before_the_summary_and_fails_no_run(tmp_path):
    code, lines = run(tmp_path, fine=PASSES, flaky=FLAKY, fixture=FLAKY_FIXTURE)
    assert code == 0, lines
    assert sorted(lines[-4:-1]) == [
        "flaky: test_fixture.py::test_with_it: failed in the run, passed alone",
        "flaky: test_flaky.py::test_by_chance[an other]: failed in the run, passed alone",
        "flaky: test_flaky.py::test_by_chance[one]: failed in the run, passed alone",
    ]
    assert "2 failed, 1 passed, 1 error in " in lines[-1]


def test_what_fails_again_fails_the_run_and_hides_no_flaky_test(tmp_path):
    code, lines = run(tmp_path, wrong=WRONG, fixture=FLAKY_FIXTURE, skipped=SKIPPED_ALONE)
    assert code == 1
    assert set(lines[-4:-2]) == {
        "failed again: test_wrong.py::test_wrong",
        "failed again: test_skipped.py::test_declines",
    }
    assert lines[-2] == "flaky: test_fixture.py::test_with_it: failed in the run, passed alone"
    assert "2 failed, 1 error in " in lines[-1]


@pytest.mark.parametrize(
    ("files", "options", "expected", "reason"),
    [
        (
            {"many": "".join(f"def test_{n}(): assert 0\n" for n in range(MOST + 1))},
            (),
            1,
            "6 tests failed, more than 5",
        ),
        ({"dies": "import os\ndef test_it(): os.abort()\n"}, (), 1, "test_dies.py::test_it killed its test process"),
        ({"wrong": WRONG, "fine": PASSES}, ("--exitfirst",), None, None),
        ({"unreadable": "import nothing_of_this_name\n", "flaky": FLAKY}, (), None, None),
        ({}, (), 5, None),
    ],
    ids=["too many", "a dead process", "ended early", "not collected", "no tests"],
)
def test_what_is_no_chance_is_not_run_again(tmp_path, files, options, expected, reason):
    code, lines = run(tmp_path, *options, **files)
    assert code != 0
    assert expected is None or code == expected
    assert not [line for line in lines if line.startswith(("flaky:", "failed again:"))]
    assert reason is None or reason in lines
