"""Which way is better for the metrics of a run, and between which ends they lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lookaway.core import Lock, Metric, plugins
from lookaway.engine.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFacts:
    """What the values of a metric mean."""

    unit: str
    range: tuple[float | None, float | None]
    """Least and greatest possible value."""
    higher_is_better: bool

    @property
    def span(self) -> float | None:
        """From the least to the greatest value; `None` where there are no such ends."""
        low, high = self.range
        return None if low is None or high is None else high - low


def metric_facts(run: Run) -> dict[str, MetricFacts | None]:
    """By the suite's name for each metric of the run: as the run keeps them, else as the installed metric has them.

    `None` where an older run does not keep them and the metric is not installed here.
    """
    lock = run.lock
    return {entry["name"]: _kept(entry) or _installed(lock, entry["name"]) for entry in run.about["metrics"]}


def _kept(entry: Mapping[str, Any]) -> MetricFacts | None:
    if "higher_is_better" not in entry:
        return None
    low, high = entry["range"]
    return MetricFacts(unit=entry["unit"], range=(low, high), higher_is_better=entry["higher_is_better"])


def _installed(lock: Lock, name: str) -> MetricFacts | None:
    kind = lock.entries.get("metrics", {}).get(name, {}).get("metric", {}).get("kind", name)
    if kind not in plugins.names("metrics"):
        return None
    metric: Metric = plugins.load("metrics", kind)()
    return MetricFacts(unit=metric.unit, range=metric.range, higher_is_better=metric.higher_is_better)
