"""What was measured on the videos of a case, as the tables of a page show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lookaway.reports.case_page.reproduce import reproduce_command
from lookaway.reports.case_page.videos import CaseTakes, CaseVideo, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One metric of one run, with what it says of every video."""

    run: str
    metric: str
    unit: str | None
    higher_is_better: bool | None
    lock: str
    outcomes: tuple[Outcome | None, ...]


def measured_on(case: CaseTakes) -> dict[str, Any]:
    """Values, reasons where there is none, and commands that measure again, by the names that templates use."""
    return {
        "metrics": _metric_rows(case),
        "silent": _silent(case),
        "commands": _commands(case),
        "several_runs": len({outcome.run.name for take in case.takes for outcome in take.outcomes}) > 1,
    }


def _metric_rows(case: CaseTakes) -> list[MetricRow]:
    found: dict[tuple[str, str], dict[str, Outcome]] = {}
    for take in case.takes:
        for outcome in take.outcomes:
            found.setdefault((outcome.run.name, outcome.metric.name), {})[take.key] = outcome
    rows = []
    for (run, metric), outcomes in found.items():
        known = next(iter(outcomes.values())).metric
        rows.append(
            MetricRow(
                run=run,
                metric=metric,
                unit=known.unit,
                higher_is_better=known.higher_is_better,
                lock=known.lock,
                outcomes=tuple(outcomes.get(take.key) for take in case.takes),
            )
        )
    return rows


def _silent(case: CaseTakes) -> list[tuple[str, str, str, str, list[CaseVideo]]]:
    """Status, metric, reason and message of everything without a value, with the videos it is true of."""
    found: dict[tuple[str, str, str, str], list[CaseVideo]] = {}
    for take in case.takes:
        for outcome in take.outcomes:
            if outcome.status != "score":
                key = (outcome.status, outcome.metric.name, outcome.reason or "", outcome.message or "")
                found.setdefault(key, []).append(take)
    return [(*key, takes) for key, takes in found.items()]


def _commands(case: CaseTakes) -> list[tuple[CaseVideo, str, str]]:
    """The first video of each model and run, the run, and the command that measures it again with its other seeds."""
    found: dict[str, tuple[CaseVideo, str, str]] = {}
    for take in case.takes:
        for run in {outcome.run.name: outcome.run for outcome in take.outcomes}.values():
            command = reproduce_command(run, take.rollout)
            found.setdefault(command, (take, run.name, command))
    return list(found.values())
