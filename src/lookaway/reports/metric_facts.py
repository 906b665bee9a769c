"""Which way is better for the metrics of a run, and between which ends they lie."""

from __future__ import annotations

from dataclasses import dataclass

from lookaway.core import Lock, Metric, plugins
from lookaway.engine.run import Run


def installed_metric(lock: Lock, name: str) -> Metric | None:
    """As the lock of a run tells, with the constants it has by default; `None` where it is not installed here."""
    kind = lock.entries.get("metrics", {}).get(name, {}).get("metric", {}).get("kind", name)
    if kind not in plugins.names("metrics"):
        return None
    metric: Metric = plugins.load("metrics", kind)()
    return metric


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFacts:
    """What a metric says of itself."""

    unit: str
    higher_is_better: bool
    span: float | None
    """From its least to its greatest value; `None` where it has no such ends."""


def metric_facts(run: Run) -> dict[str, MetricFacts | None]:
    """By the suite's name for each metric of the run; `None` where the metric is not installed here."""
    return {entry.name: _facts(installed_metric(run.lock, entry.name)) for entry in run.metrics}


def _facts(metric: Metric | None) -> MetricFacts | None:
    if metric is None:
        return None
    low, high = metric.range
    return MetricFacts(
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        span=None if low is None or high is None else high - low,
    )
