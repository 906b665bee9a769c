"""What a run would measure, on the terminal: the coverage matrix of a dataset, and the plan with its costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from lookaway.core import Dataset, Json
from lookaway.engine.costs import Cost, StageCost
from lookaway.engine.coverage import Coverage
from lookaway.engine.plan import Plan
from lookaway.engine.timings import gpu_count
from lookaway.reports.numbers import amount, counts, duration, print_json, print_lines, print_rows, size

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


NUMBERS = ("ms per frame", "frames", "CPU time", "GPU time", "disk")


def print_plan(
    plan: Plan, covered: Sequence[Coverage], cost: Cost, *, workers: int | None = None, as_json: bool
) -> None:
    """What will run, how long it takes, and how much disk it needs."""
    gpus = max(1, gpu_count())
    if as_json:
        print_json(
            {
                "suite": plan.dataset.suite,
                "lock_sha256": plan.lock.sha256,
                "cost": _cost_json(cost, workers, gpus),
                "coverage": [{**asdict(cell), "reasons": dict(cell.reasons)} for cell in covered],
            }
        )
        return
    print_coverage(plan.dataset, covered, as_json=False)
    print_lines([f"to measure: {amount(cost.measurements, 'measurement')} on {amount(cost.rollouts, 'rollout')}"])
    if cost.stages:
        print_rows([_row(stage) for stage in cost.stages], as_json=False, right=NUMBERS)
    print_lines(
        [
            f"CPU time: about {duration(cost.cpu_seconds)}; GPU time: about {duration(cost.gpu_seconds)}",
            f"disk: about {size(cost.disk_bytes)}",
            f"judge: {_judge(cost)}",
            f"from the first rollout to the last: {_wall(cost, workers, gpus)}",
            f"estimated from {amount(cost.looked_at, 'rollout')}",
        ]
    )


def _row(stage: StageCost) -> dict[str, Any]:
    per_frame = stage.seconds_per_frame
    return {
        "stage": stage.stage,
        "ms per frame": "-" if per_frame is None else f"{1000 * per_frame:.3g}",
        "frames": f"{stage.frames:,.0f}" if stage.frames else "-",
        "CPU time": "-" if stage.is_on_gpu else duration(stage.seconds),
        "GPU time": duration(stage.seconds) if stage.is_on_gpu else "-",
        "disk": size(stage.disk_bytes) if stage.disk_bytes else "-",
        "source": _source(stage),
    }


def _source(stage: StageCost) -> str:
    if stage.measured_rollouts:
        return f"measured on {amount(stage.measured_rollouts, 'rollout')}"
    return "declared, for one core" if stage.is_on_gpu else "declared"


def _judge(cost: Cost) -> str:
    if not cost.judge_calls:
        return "no calls"
    source = f"measured on {amount(cost.judge_measured_calls, 'call')}" if cost.judge_measured_calls else "declared"
    calls = f"about {amount(cost.judge_calls, 'call')} of {cost.judge_tokens:,} tokens in all ({source})"
    gated = f"; {cost.conditional_judge_calls:,} of them only if a gate opens" if cost.conditional_judge_calls else ""
    return f"{calls}{gated}; replies that are stored already are included"


def _wall(cost: Cost, workers: int | None, gpus: int) -> str:
    parts = [amount(workers or 1, "worker")]
    if cost.gpu_seconds:
        parts.append(amount(gpus, "GPU"))
    pace = (
        ""
        if cost.judge_seconds is not None
        else ", without the judge, whose speed is not known until a run has mostly waited for it"
    )
    return f"about {duration(cost.wall_seconds(workers, gpus))} with {' and '.join(parts)}{pace}"


def _cost_json(cost: Cost, workers: int | None, gpus: int) -> Json:
    stages = [
        {
            **asdict(stage),
            "is_on_gpu": stage.is_on_gpu,
            "seconds_per_frame": stage.seconds_per_frame,
            "source": "measured" if stage.measured_rollouts else "declared",
        }
        for stage in cost.stages
    ]
    return {
        **asdict(cost),
        "stages": stages,
        "cpu_seconds": cost.cpu_seconds,
        "gpu_seconds": cost.gpu_seconds,
        "workers": workers or 1,
        "gpus": gpus,
        "wall_seconds": cost.wall_seconds(workers, gpus),
    }
