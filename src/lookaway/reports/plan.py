"""A plan on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from lookaway.engine.costs import Cost
from lookaway.engine.coverage import Coverage
from lookaway.engine.plan import Plan
from lookaway.reports.coverage import print_coverage
from lookaway.reports.numbers import amount, duration, size
from lookaway.reports.text import print_json, print_lines


def print_plan(plan: Plan, covered: Sequence[Coverage], cost: Cost, *, as_json: bool) -> None:
    """What will run, how long, how much disk."""
    if as_json:
        print_json(
            {
                "suite": plan.dataset.suite,
                "lock_sha256": plan.lock.sha256,
                "cost": {**asdict(cost), "seconds": cost.seconds},
                "coverage": [{**asdict(cell), "reasons": dict(cell.reasons)} for cell in covered],
            }
        )
        return
    print_coverage(plan.dataset, covered, as_json=False)
    asked = f"about {amount(cost.judge_calls, 'judge call')} of {cost.judge_tokens:,} tokens in all"
    print_lines(
        [
            f"to measure: {amount(cost.measurements, 'measurement')} on {amount(cost.rollouts, 'rollout')}",
            f"time on one core: about {duration(cost.seconds)}"
            f" (decoding {duration(cost.decode_seconds)}, features {duration(cost.feature_seconds)})",
            f"disk: about {size(cost.disk_bytes)}",
            f"estimated from {amount(cost.looked_at, 'rollout')}; {asked if cost.judge_calls else 'no judge calls'}",
        ]
    )
