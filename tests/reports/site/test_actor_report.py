"""The report of the simulated actors, made as the benchmark makes it, of a few small clips."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.actor_report import CASES, FORM, Built, build, make_runs
from lookaway.reports.runs import load_runs

pytestmark = [pytest.mark.render, pytest.mark.merge]

SECONDS_AN_ITEM = 3 * 60 / 40
"""Of the processor; a page with eighteen videos takes a third of it on a quiet machine, and more beside other work."""
KILOBYTES_OF_TWO_VIDEOS = 60
"""A fifth of what a page with eighteen may have."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built, float]:
    """Where it lies, what it took, and the processor's time for that: others may be at work as well."""
    folder = tmp_path_factory.mktemp("actors")
    cases = replace(CASES, families=("kitchen",), cameras=("yaw_left_60",), seeds=(0,), actors=("frozen",))
    runs = load_runs([run.path for run in make_runs(folder, cases, replace(FORM, width=112, height=64))])
    started = time.process_time()
    built = build(runs, folder / "site")
    return folder / "site", built, time.process_time() - started


def test_a_report_of_actors_keeps_to_its_time_and_its_sizes(report: tuple[Path, Built, float]) -> None:
    _, built, seconds = report
    assert len(built.page_bytes) == 4
    assert seconds / len(built.page_bytes) <= SECONDS_AN_ITEM
    assert max(built.page_bytes) <= 1000 * KILOBYTES_OF_TWO_VIDEOS
    assert built.broken == ()


def test_a_report_of_actors_has_every_part_that_the_truth_can_fill(report: tuple[Path, Built, float]) -> None:
    site, _, _ = report
    index = (site / "index.html").read_text()
    for part in ("against coverage", "over frames", "By phase", "Reproduce"):
        assert part in index
    pages = [page.read_text() for page in (site / "items").glob("*.html")]
    for part in ("</svg> requested</span>", "reappeared from ", "curve-line", 'class="question"'):
        assert any(part in page for page in pages)


def test_a_report_that_is_slow_or_heavy_breaks_a_promise() -> None:
    kept = Built(seconds=60.0, index_bytes=3_000_000, page_bytes=(1, 300_000))
    assert kept.broken == ()
    for change in ({"seconds": 60.1}, {"index_bytes": 3_000_001}, {"page_bytes": (300_001, 1)}):
        assert len(replace(kept, **change).broken) == 1
