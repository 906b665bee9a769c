"""Estimates with intervals of a large table: 25 models, 40 metrics, 10 million rows; seconds and memory by limit.

Rows are grouped as they are read from a run. The clock runs from there to the cells that `lookaway show` prints, and on
to the precision marks and simultaneous rank ranges of a report. The drawn intervals are held against t intervals of the
same cells, which many scenes make nearly equal.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import resource
import sys
import time
from collections.abc import Sequence

import numpy as np

from lookaway.core import Cell, Estimate, Group
from lookaway.statistics.cells import mean_cells
from lookaway.statistics.intervals import clustered_estimate, effective_size
from lookaway.statistics.precision import precision
from lookaway.statistics.rank_range import rank_ranges
from lookaway.statistics.scene_bootstrap import ValueColumns, named_scene_sums, scene_sums

MODELS, METRICS, ROWS = 25, 40, 10_000_000
EACH = ROWS // (MODELS * METRICS)
SECONDS, GIGABYTES = 60.0, 4.0
CHECKED = 5


def make_groups(scenes: int) -> list[Group]:
    """Groups in which models, metrics, scenes and chance each have their part; every model has the same rollouts."""
    random = np.random.default_rng(0)
    places = [random.integers(scenes, size=EACH) for _ in range(METRICS)]
    names = [tuple(f"scene {place:05}" for place in own.tolist()) for own in places]
    suits = random.normal(0.0, 0.1, (METRICS, scenes))
    rollouts = tuple(f"rollout {number:05}" for number in range(EACH))
    return [
        Group(
            model=f"model {model:02}",
            metric=f"metric {metric:02}",
            subset="all",
            values=np.clip(0.5 + 0.01 * model + suits[metric, places[metric]] + random.normal(0.0, 0.1, EACH), 0, 1),
            rollouts=rollouts,
            scenes=names[metric],
            raw_values=np.array([]),
            has_raw=np.zeros(EACH, np.bool_),
            asked=EACH,
            failures=0,
            reasons={},
            range=(0.0, 1.0),
        )
        for model in range(MODELS)
        for metric in range(METRICS)
    ]


def measure(scenes: int) -> None:
    """Print what one number of scenes costs."""
    groups = make_groups(scenes)
    started, own = time.perf_counter(), time.process_time()
    cells = mean_cells(groups)
    estimated = time.perf_counter() - started
    for group, cell in zip(groups, cells, strict=True):
        precision(cell.estimate, float(effective_size(named_scene_sums(group.values, group.scenes)).size))
    marked = time.perf_counter() - started
    for metric in range(METRICS):
        rank(groups[metric::METRICS])
    whole, processor = time.perf_counter() - started, time.process_time() - own
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{scenes} scenes")
    print(
        f"  seconds / limit: {whole / SECONDS:.3f} ({whole:.1f} s, processor {processor:.1f} s; limit {SECONDS:.0f} s)"
    )
    print(f"  cells {estimated:.1f} s, marks {marked - estimated:.1f} s, ranks {whole - marked:.1f} s")
    print(f"  peak memory / limit: {memory / GIGABYTES:.3f} ({memory:.2f} GB with the rows; limit {GIGABYTES:.0f} GB)")
    print(f"  drawn / t interval, widths of {CHECKED} cells: {' '.join(compare(groups, cells))}")


def rank(groups: Sequence[Group]) -> None:
    """The rank ranges of one metric."""
    names, places = np.unique(np.array(groups[0].scenes), return_inverse=True)
    columns = ValueColumns(
        models=np.arange(len(groups)).repeat(EACH),
        metrics=np.zeros(len(groups) * EACH, np.int64),
        scenes=np.tile(places, len(groups)),
        values=np.concatenate([group.values for group in groups]),
    )
    sums = scene_sums(columns, (len(groups), 1, len(names)))
    rank_ranges(sums.of(slice(None), 0), higher_is_better=True)


def compare(groups: Sequence[Group], cells: Sequence[Cell]) -> list[str]:
    """Width of drawn intervals by that of t intervals, for some cells of the first model."""
    ratios = []
    for group, cell in zip(groups[:CHECKED], cells, strict=False):
        mean = float(group.values.mean())
        by_hand = clustered_estimate(mean, (group.values - mean) / EACH, group.scenes, scored=EACH)
        if not cell.estimate or abs(cell.estimate.mean - mean) > 1e-9:
            sys.exit(f"The mean of {cell.metric} is {cell.estimate}, by hand {by_hand}.")
        ratios.append(f"{_width(cell.estimate) / _width(by_hand):.3f}")
    return ratios


def _width(estimate: Estimate) -> float:
    return (estimate.high or 0.0) - (estimate.low or 0.0)


def main() -> None:
    """Print seconds and memory for few and for many scenes."""
    print(f"{MODELS} models, {METRICS} metrics, {ROWS:,} rows")
    for scenes in (300, 3_000):
        measure(scenes)


if __name__ == "__main__":
    main()
