"""What it takes to get the same numbers again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lookaway.core import canonical_json
from lookaway.reports.site.gather import SiteRun
from lookaway.reports.site.reproduce import run_command


@dataclass(frozen=True, slots=True, kw_only=True)
class Appendix:
    """How one run can be made again."""

    run: str
    lock_sha256: str
    command: str
    lock: tuple[tuple[str, str, str], ...]
    """Name, hash and content of the parts of the lock: suite, dataset, and every metric with its features."""
    software: tuple[tuple[str, str], ...]
    """What was computed with, and in which version."""


def appendix(run: SiteRun) -> Appendix:
    """Lock, versions and command of a run."""
    entries = run.lock.entries
    metrics = entries.get("metrics", {})
    parts = [(name, "", _readable(entries[name])) for name in ("suite", "dataset") if name in entries]
    for metric in run.metrics:
        own = {name: part for name, part in metrics.get(metric.name, {}).items() if name in ("metric", "features")}
        parts.append((metric.name, metric.lock, _readable(own)))
    return Appendix(
        run=run.name,
        lock_sha256=str(run.about["lock_sha256"]),
        command=run_command(run),
        lock=tuple(parts),
        software=_software(metrics),
    )


def _software(metrics: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    found: dict[str, dict[str, None]] = {}
    for entries in metrics.values():
        for name, version in entries.get("software", {}).items():
            found.setdefault(name, {})[str(version)] = None
        if decoder := entries.get("decoder"):
            found.setdefault("decoder", {})[canonical_json(decoder)] = None
    return tuple((name, ", ".join(versions)) for name, versions in sorted(found.items()))


def _readable(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
