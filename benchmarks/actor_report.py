"""The report of actors whose true order is known: build time, size, and the ranks on its leaderboards.

    python -m benchmarks.actor_report [--folder FOLDER] [--takes 3] [--workers 2]

Six actors are rendered on 40 cases (ten families, two seeds, two cameras), several times each, and measured with
MBench-A. To give the report all of its parts, three more runs measure the first clips of some cases: the world itself
with phases of camera actions, MBench-T with a gate decided by the oracle, MIND with per-frame values. Then the report
is built and its limits are checked: 60 s, an index of 3 MB, pages of 300 kB. With a folder, clips and runs are stored
there, and a second call resumes.

The leaderboards are printed with the ranks of the actors. The coverage of rank ranges is tested where repetitions are
cheap, in `tests/statistics/test_rank_range.py`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import lookaway
from lookaway.cli.world import executor_of
from lookaway.core import JudgeModel
from lookaway.engine.run import Run
from lookaway.io.world_clips import WorldClip, open_world
from lookaway.judges.oracle import OracleServer
from lookaway.judges.server import Connection
from lookaway.judges.settings import JudgeSettings
from lookaway.reports.leaderboards import leaderboards
from lookaway.reports.runs import LoadedRun, load_runs
from lookaway.reports.site.building import build_site
from lookaway.world.actors import ACTORS
from lookaway.world.exports import EXPORTS
from lookaway.world.families import FAMILIES
from lookaway.world.grid import Grid
from lookaway.world.recipe import PERFECT, ClipRecipe
from lookaway.world.rendering import render_set

FORM = ClipRecipe(family="", event="none", camera="", seed=0, width=224, height=128, fps=8)
CASES = Grid(
    families=tuple(FAMILIES)[:10],
    events=("none",),
    cameras=("yaw_left_60", "yaw_right_60"),
    seeds=(0, 1),
    actors=tuple(ACTORS),
)
MAX_SECONDS, MAX_INDEX_BYTES, MAX_PAGE_BYTES = 60.0, 3_000_000, 300_000


SHOWN = ("spatial_epipolar", "spatial_reprojection", "rendering_lighting")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One run of the report."""

    suite: str
    metrics: tuple[str, ...]
    using: Mapping[str, str] = field(default_factory=dict)
    subsets: tuple[str, ...] = ()
    first_cases: int | None = None
    """How many; of these the first takes alone, for some layouts make a model of every other."""
    asks_oracle: bool = False

    def chooses(self, clips: Sequence[WorldClip]) -> list[WorldClip]:
        """Those that it is about."""
        if self.first_cases is None:
            return list(clips)
        cases = sorted({clip.card.case for clip in clips})[: self.first_cases]
        return [clip for clip in clips if clip.card.case in cases and clip.card.take == 0]


PARTS = (
    Part(
        suite="mbench-a",
        metrics=tuple(f"mbencha.corrected.environment.{name}" for name in SHOWN),
        subsets=("environment",),
    ),
    Part(suite="folder", metrics=("camera_interaction",), using={"poses": "true_poses"}, first_cases=12),
    Part(
        suite="mbench-t",
        metrics=("rendering_lighting",),
        subsets=("environment",),
        first_cases=12,
        asks_oracle=True,
    ),
    Part(suite="mind", metrics=("mind.corrected.lcm.ssim",), first_cases=8),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What building the report took, and what came of it."""

    seconds: float
    index_bytes: int
    page_bytes: tuple[int, ...]
    """Of every item page, without its media."""

    @property
    def broken(self) -> tuple[str, ...]:
        """Which promises it does not keep."""
        found = {
            f"built in {self.seconds:.1f} s, more than {MAX_SECONDS:g}": self.seconds > MAX_SECONDS,
            f"an index of {self.index_bytes} bytes, more than {MAX_INDEX_BYTES}": self.index_bytes > MAX_INDEX_BYTES,
            f"a page of {max(self.page_bytes)} bytes, more than {MAX_PAGE_BYTES}": max(self.page_bytes)
            > MAX_PAGE_BYTES,
        }
        return tuple(message for message, is_broken in found.items() if is_broken)


def recipes(cases: Grid, form: ClipRecipe) -> Iterator[ClipRecipe]:
    """All clips; a grid asks the perfect actor once, since it does not vary, but here all have as many seeds."""
    for recipe in cases.recipes(form):
        yield recipe
        if recipe.model == PERFECT:
            yield from (replace(recipe, take=take) for take in range(1, cases.takes))


def make_runs(folder: Path, cases: Grid, form: ClipRecipe = FORM, workers: int = 1) -> list[Run]:
    """Render, export and measure what is not there yet."""
    render_set(recipes(cases, form), folder / "world", executor_of(workers), on_case=lambda report: None)
    clips = open_world(folder / "world")
    return [_run(folder, part, clips, workers) for part in PARTS]


def _run(folder: Path, part: Part, clips: Sequence[WorldClip], workers: int) -> Run:
    dataset, chosen = folder / "datasets" / part.suite, part.chooses(clips)
    if not dataset.exists():
        EXPORTS.get(part.suite, _export_as_it_is)(chosen, dataset)
    with OracleServer(chosen) if part.asks_oracle else nullcontext() as server:
        return lookaway.evaluate(
            dataset,
            folder / "runs" / part.suite,
            suite=part.suite,
            metrics=part.metrics,
            using=part.using,
            judge=_judge(server) if server else None,
            executor="ray" if workers > 1 else "inline",
            subsets=part.subsets,
        )


def _export_as_it_is(clips: Sequence[WorldClip], output: Path) -> None:
    for clip in clips:
        place = output / "clips" / clip.card.case / clip.card.model / str(clip.card.take)
        place.mkdir(parents=True)
        for file in clip.files:
            os.link(file, place / file.name)


def _judge(server: OracleServer) -> JudgeSettings:
    return JudgeSettings(model=JudgeModel(model="oracle"), connection=Connection(url=server.base_url))


def build(runs: Sequence[LoadedRun], output: Path) -> Built:
    """Build the report, and measure it."""
    started = time.perf_counter()
    index = build_site(runs, output)
    seconds = time.perf_counter() - started
    pages = tuple(page.stat().st_size for page in (output / "items").glob("*.html"))
    return Built(seconds=seconds, index_bytes=index.stat().st_size, page_bytes=pages)


def print_boards(runs: Sequence[LoadedRun]) -> None:
    """Every board with the ranks that the report gives the actors."""
    for leaderboard in leaderboards(runs):
        ranks = (
            f"{row.model} {row.ranks.best}-{row.ranks.worst}" if row.ranks else f"{row.model} -"
            for row in leaderboard.rows
        )
        print(f"{leaderboard.title}: {', '.join(ranks)}")


def main() -> None:
    """Make the runs, build their report, check what was promised of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where clips, runs and report are kept")
    parser.add_argument("--takes", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = asked.folder or Path(temporary)
        made = make_runs(folder, replace(CASES, takes=asked.takes), workers=asked.workers)
        runs = load_runs([run.path for run in made])
        built = build(runs, folder / "site")
        print_boards(runs)
        print(f"built in {built.seconds:.1f} s: index {built.index_bytes / 1e6:.2f} MB, {len(built.page_bytes)} pages")
        print(f"largest item page {max(built.page_bytes) / 1e3:.0f} kB, without media")
        if built.broken:
            raise SystemExit("; ".join(built.broken))


if __name__ == "__main__":
    main()
