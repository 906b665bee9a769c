"""Which metrics two runs measured in the same way, and what differs in the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lookaway.core import Json
from lookaway.engine.run import Run
from lookaway.reports.lock_explanations import lock_differences
from lookaway.reports.metric_facts import MetricFacts, metric_facts

NOT_INSTALLED = "its metric is not installed here, so which way is better is not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCompared:
    """A metric that was left out, and why."""

    metric: str
    why: str
    lock_differences: tuple[tuple[str, Json, Json], ...] = ()


def comparable_metrics(
    before: Run, after: Run, *, across_locks: bool
) -> tuple[dict[str, MetricFacts], list[NotCompared]]:
    """Metrics to compare in the order of the second run's protocol, and those that cannot be."""
    own, others = _locks(before), _locks(after)
    facts = metric_facts(after)
    comparable: dict[str, MetricFacts] = {}
    left_out = []
    for name in [*others, *(name for name in own if name not in others)]:
        if name not in own or name not in others:
            left_out.append(NotCompared(metric=name, why=f"only the {'second' if name in others else 'first'} has it"))
        elif own[name] != others[name] and not across_locks:
            differences = lock_differences(before.lock, after.lock, sorted({*own[name], *others[name]}))
            differences = [entry for entry in differences if entry[0].startswith("metrics.")]
            left_out.append(
                NotCompared(
                    metric=name,
                    why="it was not measured the same way: the locks differ",
                    lock_differences=tuple(differences),
                )
            )
        elif (fact := facts[name]) is None:
            left_out.append(NotCompared(metric=name, why=NOT_INSTALLED))
        else:
            comparable[name] = fact
    return comparable, left_out


def _locks(run: Run) -> dict[str, dict[str, str]]:
    """By metric, its lock and those of the gates that decide which of its rollouts count."""
    gates = [entry for entry in run.metrics if entry.is_gate]
    return {
        entry.name: {
            entry.name: entry.lock,
            **{gate.name: gate.lock for gate in gates if _share_a_subset(entry.subsets, gate.subsets)},
        }
        for entry in run.metrics
    }


def _share_a_subset(some: Iterable[str] | None, others: Iterable[str] | None) -> bool:
    return some is None or others is None or not set(some).isdisjoint(others)
