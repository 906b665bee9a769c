"""Estimates with intervals of a large table: 25 models, 40 metrics, 10 million rows; seconds and memory by limit.

Rows come in no order, as columns. The clock runs from there to means with intervals, precision marks and simultaneous
rank ranges. The drawn intervals are held against t intervals of the same cells, which many scenes make nearly equal.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import resource
import sys
import time

import numpy as np

from lookaway.core import Estimate
from lookaway.statistics.effective_size import effective_size
from lookaway.statistics.mean_estimates import mean_estimates
from lookaway.statistics.precision import precision
from lookaway.statistics.rank_range import rank_ranges
from lookaway.statistics.scene_mean import scene_mean
from lookaway.statistics.scene_sums import ValueColumns, scene_sums

MODELS, METRICS, ROWS = 25, 40, 10_000_000
SECONDS, GIGABYTES = 60.0, 4.0
CHECKED = 5


def make_rows(scenes: int) -> ValueColumns:
    """Rows in which models, metrics, scenes and chance each have their part."""
    random = np.random.default_rng(0)
    models, metrics, places = (random.integers(size, size=ROWS) for size in (MODELS, METRICS, scenes))
    values = random.normal(0.0, 0.1, ROWS)
    values += 0.5 + 0.01 * models
    values += random.normal(0.0, 0.1, (METRICS, scenes))[metrics, places]
    return ValueColumns(models=models, metrics=metrics, scenes=places, values=values)


def measure(scenes: int) -> None:
    """Print what one number of scenes costs."""
    rows = make_rows(scenes)
    started, own = time.perf_counter(), time.process_time()
    sums = scene_sums(rows, (MODELS, METRICS, scenes))
    reduced = time.perf_counter() - started
    found = mean_estimates(sums)
    sizes = effective_size(sums).size.tolist()
    for model, estimates in enumerate(found.estimates):
        for metric, estimate in enumerate(estimates):
            precision(estimate, sizes[model][metric])
    estimated = time.perf_counter() - started
    for metric in range(METRICS):
        rank_ranges(sums.of(slice(None), metric), higher_is_better=True)
    whole, processor = time.perf_counter() - started, time.process_time() - own
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{scenes} scenes")
    print(
        f"  seconds / limit: {whole / SECONDS:.3f} ({whole:.1f} s, processor {processor:.1f} s; limit {SECONDS:.0f} s)"
    )
    print(f"  sums {reduced:.1f} s, means and intervals {estimated - reduced:.1f} s, ranks {whole - estimated:.1f} s")
    print(f"  peak memory / limit: {memory / GIGABYTES:.3f} ({memory:.2f} GB with the rows; limit {GIGABYTES:.0f} GB)")
    print(f"  drawn / t interval, widths of {CHECKED} cells: {' '.join(compare(rows, found.estimates[0]))}")


def compare(rows: ValueColumns, estimates: tuple[Estimate | None, ...]) -> list[str]:
    """Width of drawn intervals by that of t intervals, for some cells of the first model."""
    ratios = []
    for metric, estimate in enumerate(estimates[:CHECKED]):
        own = (rows.models == 0) & (rows.metrics == metric)
        by_hand = scene_mean(rows.values[own], rows.scenes[own].astype(str).tolist())
        if not estimate or not by_hand or abs(estimate.mean - by_hand.mean) > 1e-9:
            sys.exit(f"The mean of metric {metric} is {estimate}, by hand {by_hand}.")
        ratios.append(f"{_width(estimate) / _width(by_hand):.3f}")
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
