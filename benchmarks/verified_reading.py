"""What verifying rows costs: the table of a run of millions of unit rows, with hashes verified and without, in turns.

The run has twelve models and three metrics with twenty units each, in files as compaction leaves them. A round makes
the table twice, as `lookaway show` does: once with every file of rows read and its hash compared, and once without.
The first of the two alternates. Ratios are those of medians; the rounds show how far they scatter. Starting Python,
which `show` also pays for, is not counted, so that the ratio is an upper limit.
"""

from __future__ import annotations

import os

for _library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_library] = "1"

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from lookaway.engine.run import Run
from lookaway.store import outcome_reader
from tests.support.large_run import LargeRun

MODELS, UNITS = 12, 20
MAX_RATIO = 1.20
VERIFIED, UNVERIFIED = "verified", "not verified"


def make_table(run: Path) -> tuple[float, float]:
    """Seconds of the processor, and of the clock, for one table."""
    processor, clock = time.process_time(), time.perf_counter()
    Run(run).table()
    return time.process_time() - processor, time.perf_counter() - clock


def make_table_unverified(run: Path) -> tuple[float, float]:
    """The same without reading files for their hashes."""

    def find_none(*arguments: Any, **options: Any) -> list[Any]:
        return []

    with mock.patch.object(outcome_reader, "damaged_parts", find_none):
        return make_table(run)


WAYS: dict[str, Callable[[Path], tuple[float, float]]] = {VERIFIED: make_table, UNVERIFIED: make_table_unverified}


def main() -> int:
    """Measure, and compare with the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cases", type=int, default=7000, help="7000 are 5 million unit rows")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        large = LargeRun(Path(folder) / "run", models=MODELS, cases=options.cases, units=UNITS)
        parts = large.write().parts()
        size = sum(part.stat().st_size for part in parts)
        print(f"{large.unit_rows:,} unit rows in {len(parts)} files, {size / 1e6:.1f} MB")
        found: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        make_table(large.path)  # reads the files into memory
        for number in range(options.rounds):
            for way in sorted(WAYS, reverse=number % 2 == 1):
                found[way].append(WAYS[way](large.path))
    for way, seconds in found.items():
        print(f"{way:12s}  " + "  ".join(f"{processor:.2f} / {clock:.2f} s" for processor, clock in seconds))
    ratios = [
        statistics.median(pair[kind] for pair in found[VERIFIED])
        / statistics.median(pair[kind] for pair in found[UNVERIFIED])
        for kind in (0, 1)
    ]
    print(f"ratio: {ratios[0]:.3f} of the processor, {ratios[1]:.3f} of the clock; at most {MAX_RATIO}")
    return 0 if ratios[0] <= MAX_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
