"""The costs of runs: time of every stage, cached features, retries, and calls to the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lookaway.engine.timings import IDLE, RunCosts, SessionCosts, StageTiming, StageTimings, read_run_costs
from lookaway.reports.numbers import amount, duration, size
from lookaway.reports.runs import LoadedRun

STAGE_HEADS = ("Stage", "Time", "CPU time", "Share", "Rollouts", "Frames", "Frames/s", "Cached", "Stored")
SESSION_HEADS = ("Started", "Executor", "Workers", "Rollouts", "Failed", "Workers died", "Retried", "Runtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSummary:
    """The costs of one run, ready to be printed."""

    run: str
    summary: str
    stages: tuple[tuple[str, ...], ...]
    """A row for every stage, the longest first."""
    sessions: tuple[tuple[str, ...], ...]


def cost_summaries(runs: Sequence[LoadedRun]) -> list[CostSummary]:
    """The costs of every run that recorded them."""
    found = [(run.name, read_run_costs(run.path)) for run in runs]
    return [_cost_summary(name, costs) for name, costs in found if costs.sessions]


def _cost_summary(name: str, costs: RunCosts) -> CostSummary:
    timings = costs.timings
    ordered = sorted(timings.stages.items(), key=lambda entry: (entry[0] in IDLE, -entry[1].seconds, entry[0]))
    return CostSummary(
        run=name,
        summary=_summary(costs, timings),
        stages=tuple(_stage_row(stage, totals, timings) for stage, totals in ordered),
        sessions=tuple(_session_row(session) for session in costs.sessions),
    )


def _summary(costs: RunCosts, timings: StageTimings) -> str:
    seconds = sum(session.seconds for session in costs.sessions)
    retries = sum(session.retries for session in costs.sessions)
    parts = [
        f"{duration(seconds)} in {amount(len(costs.sessions), 'session')}",
        f"{amount(timings.kept, 'feature')} from the cache",
        f"{retries} retried" if retries else "nothing retried",
    ]
    if costs.judge.calls:
        tokens = f"{costs.judge.prompt_tokens:,} prompt tokens and {costs.judge.answer_tokens:,} answer tokens"
        parts.append(f"{costs.judge.calls:,} judge calls with {tokens}")
    return "; ".join(parts) + "."


def _stage_row(name: str, stage: StageTiming, timings: StageTimings) -> tuple[str, ...]:
    whole = sum(other.seconds for kind, other in timings.stages.items() if kind not in IDLE)
    is_work = name not in IDLE and whole > 0
    return (
        name,
        _short(stage.seconds),
        _short(stage.cpu_seconds),
        f"{stage.seconds / whole:.1%}" if is_work else "-",
        _count(stage.rollouts),
        _count(stage.frames),
        f"{stage.frames / stage.seconds:,.3g}" if stage.frames and stage.seconds > 0 else "-",
        _count(stage.kept),
        size(stage.stored_bytes) if stage.stored_bytes else "-",
    )


def _session_row(session: SessionCosts) -> tuple[str, ...]:
    return (
        datetime.fromtimestamp(session.started, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        session.executor,
        _count(session.workers),
        _count(session.rollouts),
        _count(session.failures),
        _count(session.deaths),
        _count(session.retries),
        duration(session.seconds),
    )


def _short(seconds: float) -> str:
    """Seconds with two digits below ten, so that short stages are not 0 s."""
    return f"{seconds:.2f} s" if seconds < 10 else duration(seconds)


def _count(number: int) -> str:
    return f"{number:,}" if number else "-"
