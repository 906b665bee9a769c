"""The tiers of the tests: what is cheap is looked at on every push, and a little of everything else."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.evidence import MARKS

ROOT = Path(__file__).parents[2]
TIERS = {"merge", "nightly"}
EVIDENCE = set(MARKS)
"""What a test shows, whatever it costs."""
SMOKE = {
    "render": "tests/architecture/test_made_once.py::test_a_copied_clip_is_the_drawn_one_and_is_drawn_once",
    "ray": "tests/engine/test_ray_pool.py::test_every_item_is_worked_on_once_and_by_several_processes_of_their_own",
    "browser": "tests/reports/site/test_in_browser.py::test_what_is_seen_is_the_frame_that_is_named",
    "server": "tests/io/test_object_storage.py::test_an_object_comes_back_as_it_was_written",
    "docs": "tests/docs/test_pages.py::test_the_site_builds_strictly",
}
"""The first test to break on a push when a whole kind of thing is broken."""


def marks() -> set[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    return {mark.partition(":")[0] for mark in settings["markers"]}


def test_every_kind_of_cost_has_a_smoke_test():
    assert SMOKE.keys() == marks() - TIERS - EVIDENCE


@pytest.mark.parametrize("kind", SMOKE)
def test_the_smoke_test_of_a_kind_is_of_that_kind_and_of_the_first_tier(kind):
    file, _, name = SMOKE[kind].partition("::")
    module = import_module(file.removesuffix(".py").replace("/", "."))
    found = {mark.name for owner in (module, getattr(module, name)) for mark in marks_of(owner)}
    assert kind in found
    assert not TIERS & found


def marks_of(owner: object) -> list[pytest.Mark]:
    """Of a module or a function, as they are written there."""
    found = getattr(owner, "pytestmark", [])
    return [getattr(mark, "mark", mark) for mark in (found if isinstance(found, list) else [found])]
