"""The tiers of the tests: what is cheap is looked at on every push, and a little of everything else."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIERS = {"merge", "nightly"}
SMOKE = {
    "render": "tests/house/test_made_once.py::test_a_copied_clip_is_the_drawn_one_and_is_drawn_once",
    "ray": "tests/engine/test_ray_pool.py::test_every_item_is_worked_on_once_and_by_several_processes_of_their_own",
    "browser": "tests/reports/site/test_in_browser.py",
    "server": "tests/io/test_object_storage.py::test_an_object_comes_back_as_it_was_written",
    "docs": "tests/docs/test_pages.py::test_the_site_builds_strictly",
}
"""The first test to break on a push when a whole kind of thing is broken."""


def marks() -> set[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    return {mark.partition(":")[0] for mark in settings["markers"]}


def test_every_kind_of_cost_has_a_smoke_test():
    assert SMOKE.keys() == marks() - TIERS


@pytest.mark.parametrize("kind", SMOKE)
def test_the_smoke_test_of_a_kind_is_of_that_kind_and_of_the_first_tier(kind):
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:xdist", SMOKE[kind]]
    done = subprocess.run([*command, "-m", f"{kind} and not merge and not nightly"], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stdout.decode()
    assert SMOKE[kind] in done.stdout.decode()
