"""The metric behind a suite's name for it."""

from __future__ import annotations

from lookaway.core import Lock, Metric, plugins


def installed_metric(lock: Lock, name: str) -> Metric | None:
    """As the lock of a run tells, with the constants it has by default; `None` where it is not installed here."""
    kind = lock.entries.get("metrics", {}).get(name, {}).get("metric", {}).get("kind", name)
    if kind not in plugins.names("metrics"):
        return None
    metric: Metric = plugins.load("metrics", kind)()
    return metric
