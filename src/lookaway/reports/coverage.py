"""The coverage matrix on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from lookaway.core import Dataset
from lookaway.engine.coverage import Coverage
from lookaway.reports.numbers import amount, counts, print_json, print_lines, print_rows

MAX_PROBLEMS = 20


def print_coverage(dataset: Dataset, covered: Sequence[Coverage], *, as_json: bool) -> None:
    """Metric by subset: runnable n of N and why not; then the records that could not be read."""
    if as_json:
        print_json(
            {
                "suite": dataset.suite,
                "rollouts": len(dataset.rollouts),
                "coverage": [{**asdict(cell), "reasons": dict(cell.reasons)} for cell in covered],
                "problems": [asdict(problem) for problem in dataset.problems],
            }
        )
        return
    models = {rollout.model for rollout in dataset.rollouts}
    print_lines(
        [f"suite {dataset.suite}: {amount(len(dataset.rollouts), 'rollout')} of {amount(len(models), 'model')}"]
    )
    print_rows(
        [
            {
                "metric": cell.metric,
                "subset": cell.subset,
                "runnable": f"{cell.runnable} of {cell.asked}",
                "why not": counts(cell.reasons),
                "first": cell.example or "",
            }
            for cell in covered
        ],
        as_json=False,
        right=("runnable",),
    )
    print_lines(f"problem: {problem.where}: {problem.message}" for problem in dataset.problems[:MAX_PROBLEMS])
    if (more := len(dataset.problems) - MAX_PROBLEMS) > 0:
        print_lines([f"problem: and {more} more; --json lists all"])
