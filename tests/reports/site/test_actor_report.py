"""The report of the simulated actors, made as the benchmark makes it, of a few small clips."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.actor_report import CASES, FORM, Built, build, make_runs
from lookaway.reports.runs import load_runs

pytestmark = [pytest.mark.render, pytest.mark.merge]

KILOBYTES_OF_TWO_VIDEOS = 60
"""A fifth of what a page with eighteen may have."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built]:
    """Where it lies, and what it took."""
    folder = tmp_path_factory.mktemp("actors")
    cases = replace(CASES, families=("kitchen",), cameras=("yaw_left_60",), seeds=(0,), actors=("frozen",))
    runs = load_runs([run.path for run in make_runs(folder, cases, replace(FORM, width=112, height=64))])
    return folder / "site", build(runs, folder / "site")


def test_a_report_of_actors_keeps_to_its_sizes(report: tuple[Path, Built]) -> None:
    _, built = report
    assert len(built.page_bytes) == 4
    assert max(built.page_bytes) <= 1000 * KILOBYTES_OF_TWO_VIDEOS
    assert replace(built, seconds=0.0).broken == ()  # how long it took is the benchmark's to say, on a quiet machine


def test_a_report_of_actors_has_every_part_that_the_truth_can_fill(report: tuple[Path, Built]) -> None:
    site, _ = report
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
