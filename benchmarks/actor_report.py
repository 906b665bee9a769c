"""The report of actors whose true order is known: how long it takes, how large it is, and whether its ranks hold.

    python -m benchmarks.actor_report [--folder FOLDER] [--takes 3] [--workers 2]

Six actors play 40 cases (ten families, two seeds, two cameras), each several times. The report is built from the run.
Then its cases are drawn anew 200 times, with replacement, and each time the rank ranges of the actors are computed as
the report does: in at least 95 % of the draws the true rank of every actor should lie inside its range. The actor that
never moves its camera is left out: it is not put to the test.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

import lookaway
from lookaway.cli.world import executor_of
from lookaway.engine.run import Run
from lookaway.reports.site.building import build_site
from lookaway.reports.site.gather import gather
from lookaway.statistics.rank_range import rank_ranges
from lookaway.statistics.scene_sums import SceneSums, ValueColumns, scene_sums
from lookaway.world.actors import ACTORS
from lookaway.world.exports import export_world
from lookaway.world.families import FAMILIES
from lookaway.world.grid import Grid
from lookaway.world.recipe import ClipRecipe
from lookaway.world.rendering import render_set

METRICS = ("spatial_epipolar", "spatial_reprojection", "rendering_lighting")
TESTED = tuple(name for name in ACTORS if name != "frozen")
"""From the best to the worst."""
REPETITIONS = 200
FORM = ClipRecipe(family="", event="none", camera="", seed=0, width=224, height=128, fps=8)


def make_run(folder: Path, takes: int, workers: int) -> Run:
    """Render, export and measure what is not there yet."""
    grid = Grid(
        families=tuple(FAMILIES)[:10], events=("none",), cameras=("yaw_left_60", "yaw_right_60"), seeds=(0, 1),
        actors=tuple(ACTORS), takes=takes,
    )  # fmt: skip
    render_set(grid.recipes(FORM), folder / "world", executor_of(workers), on_case=lambda report: None)
    if not (folder / "dataset" / "dataset.yaml").exists():
        export_world(folder / "world", "mbench-a", folder / "dataset")
    executor = "ray" if workers > 1 else "inline"
    return lookaway.evaluate(folder / "dataset", folder / "run", metrics=METRICS, executor=executor)


def consistency(run: Run) -> SceneSums:
    """Mean of all metrics of every rollout, by actor and scene."""
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in run.items():
        if row["status"] == "score" and row["model"] in TESTED:
            found[row["model"], row["scene"], row["rollout"]].append(row["value"])
    scenes = {scene: number for number, scene in enumerate(sorted({scene for _, scene, _ in found}))}
    columns = ValueColumns(
        models=np.array([TESTED.index(model) for model, _, _ in found]),
        metrics=np.zeros(len(found), np.int64),
        scenes=np.array([scenes[scene] for _, scene, _ in found]),
        values=np.array([float(np.mean(values)) for values in found.values()]),
    )
    return scene_sums(columns, (len(TESTED), 1, len(scenes))).of(slice(None), 0)


def share_that_holds(sums: SceneSums) -> float:
    """Of repetitions in which every true rank lies inside its range."""
    drawn, held = np.random.default_rng(0), 0
    for repetition in range(REPETITIONS):
        chosen = drawn.integers(0, sums.sums.shape[-1], sums.sums.shape[-1])
        again = SceneSums(
            sums=sums.sums[:, chosen], counts=sums.counts[:, chosen], squares=sums.squares[:, chosen]
        )  # fmt: skip
        ranges = rank_ranges(again, higher_is_better=True, seed=repetition).ranges
        held += all(found and found.best <= rank <= found.worst for rank, found in enumerate(ranges, start=1))
    return held / REPETITIONS


def main() -> None:
    """Make the run, build its report, repeat its ranks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where clips, run and report are kept")
    parser.add_argument("--takes", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = asked.folder or Path(temporary)
        run = make_run(folder, asked.takes, asked.workers)
        started = time.perf_counter()
        index = build_site(gather([run.path]), folder / "site")
        seconds = time.perf_counter() - started
        items = list((folder / "site" / "items").glob("*.html"))
        print(f"built in {seconds:.1f} s: index {index.stat().st_size / 1e6:.2f} MB, {len(items)} item pages")
        print(f"largest item page {max(item.stat().st_size for item in items) / 1e3:.0f} kB, without media")
        sums = consistency(run)
        means = sums.sums.sum(-1) / sums.counts.sum(-1)
        print("true order:", ", ".join(f"{name} {mean:.3f}" for name, mean in zip(TESTED, means, strict=True)))
        print(
            "ranges:", [(found.best, found.worst) for found in rank_ranges(sums, higher_is_better=True).ranges if found]
        )
        print(f"every true rank inside its range: {share_that_holds(sums):.3f} of {REPETITIONS} repetitions")


if __name__ == "__main__":
    main()
