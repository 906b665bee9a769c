"""What it takes to get the same numbers again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from lookaway.core import canonical_json
from lookaway.reports.site.gather import SiteRun


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
        command=command(run),
        lock=tuple(parts),
        software=_software(metrics),
    )


def command(run: SiteRun) -> str:
    """The command that measures the same again, for the dataset in a folder of the same name.

    Options that chose a judge, other extractors or a part of the dataset are in the lock and not repeated here.
    """
    dataset = PurePath(str(run.about.get("dataset", "DATASET"))).name or "DATASET"
    version = run.about.get("lookaway")
    installed = [f"pip install lookaway=={shlex.quote(str(version))}"] if version else []
    metrics = ",".join(metric.name for metric in run.metrics)
    words = ["lookaway", "eval", dataset, "--suite", run.suite, "--metrics", metrics, "-o", PurePath(run.name).name]
    return "\n".join([*installed, shlex.join(words)])


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
