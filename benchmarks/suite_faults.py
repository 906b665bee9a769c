"""Which suite sees which fault, from one run that measures several suites on one simulated world.

    lookaway world render -o WORLD ...
    lookaway judge oracle WORLD -- lookaway eval WORLD -o RUN --protocol corrected \\
        --metrics mbench-a,mind,memobench,wrbench,revisit \\
        --use poses=tracked_poses --use reference_poses=true_reference_poses \\
        --use requested_poses=true_requested_poses
    python -m benchmarks.suite_faults RUN

Prints Markdown: for each fault and suite the metric that tells faulty clips best from those without a fault, with its
AUC; then all metrics that are sure (AUC of at least 0.95). A clip that a metric declines has no part in its AUC; where
a fault makes it decline most of its clips, the cell says so.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lookaway.engine.reading import load_suite
from lookaway.engine.run import Run
from lookaway.statistics.detection import auc
from lookaway.world.recipe import PERFECT

SUITES = ("mbench-a", "mind", "memobench", "wrbench", "revisit")
SURE = 0.95
MIN_CLIPS = 2


def known_metrics() -> dict[str, tuple[str, bool]]:
    """The suite of every metric, and whether more is better; one that two suites have belongs to the first."""
    found: dict[str, tuple[str, bool]] = {}
    for suite in SUITES:
        for bound in load_suite(suite).metrics({}):
            found.setdefault(bound.name, (suite, bound.metric.higher_is_better))
    return found


@dataclass
class Values:
    """What one metric has of the clips with one fault: badness, where more is worse, and clips that it declines."""

    badness: list[float] = field(default_factory=list)
    declined: int = 0

    def add(self, row: Mapping[str, Any], higher_is_better: bool) -> None:
        """Add one outcome of a run."""
        if row["status"] == "score":
            self.badness.append(-row["value"] if higher_is_better else row["value"])
        else:
            self.declined += 1


@dataclass(frozen=True)
class Cell:
    """How well a metric tells a fault."""

    metric: str
    auc: float | None
    """`None` where most clips are declined."""

    def __str__(self) -> str:
        return f"declined ({self.metric})" if self.auc is None else f"{self.auc:.2f} ({self.metric})"


def cells(rows: Sequence[Mapping[str, Any]], better: Mapping[str, bool]) -> Iterator[tuple[str, Cell]]:
    """The fault and the cell of every metric that has scores of clips without a fault."""
    values: dict[tuple[str, str], Values] = {}
    for row in rows:
        fault = row["model"].rpartition("-")[0] or PERFECT
        values.setdefault((row["metric"], fault), Values()).add(row, better[row["metric"]])
    for (metric, fault), own in values.items():
        clean = values.get((metric, PERFECT), Values())
        if fault == PERFECT or len(clean.badness) < MIN_CLIPS:
            continue
        is_declined = own.declined > len(own.badness) and clean.declined < len(clean.badness)
        if is_declined:
            yield fault, Cell(metric, None)
        elif len(own.badness) >= MIN_CLIPS:
            yield fault, Cell(metric, auc(own.badness, clean.badness))


def best(found: Sequence[Cell]) -> str:
    """The best metric of a suite, or that the fault makes all of them decline."""
    measured = [cell for cell in found if cell.auc is not None]
    if measured:
        return str(max(measured, key=lambda cell: cell.auc or 0.0))
    return "declined" if found else "-"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    run = Run(parser.parse_args().run)
    known = known_metrics()
    by_fault: dict[str, dict[str, list[Cell]]] = {}
    for fault, cell in cells(list(run.items()), {name: better for name, (_, better) in known.items()}):
        by_fault.setdefault(fault, {}).setdefault(known[cell.metric][0], []).append(cell)
    print("| fault | " + " | ".join(SUITES) + " |\n| --- |" + " --- |" * len(SUITES))
    for fault in sorted(by_fault):
        print(f"| {fault} | " + " | ".join(best(by_fault[fault].get(suite, [])) for suite in SUITES) + " |")
    print(f"\nMetrics with an AUC of at least {SURE}:\n")
    for fault in sorted(by_fault):
        sure = [cell for own in by_fault[fault].values() for cell in own if cell.auc is not None and cell.auc >= SURE]
        print(f"- {fault}: {', '.join(cell.metric for cell in sure) or 'none'}")


if __name__ == "__main__":
    main()
