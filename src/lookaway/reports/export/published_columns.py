"""Which columns of a run are as its suite publishes them: only those go under the official names."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from lookaway.core import UserError
from lookaway.engine.locking import metric_entries
from lookaway.engine.reading import load_suite
from lookaway.engine.run import Run

FREE: Final = frozenset({"compute", "device", "judge", "prompts", "system"})
"""What of a recipe is free: where it runs, which judge is asked, and in which words."""


def require_published(run: Run, columns: Collection[str]) -> None:
    """Refuse a run without any of the published metrics of an export, or with one of them measured in another way."""
    suite, found = run.about["suite"], {metric.name for metric in run.metrics}
    command = f"lookaway eval DATASET -o RUN --protocol published --metrics {suite}"
    if not found & set(columns):
        raise UserError(
            f"{run.path}: no published metric of {suite} was measured, and official columns hold nothing else. "
            f"Measure them: {command}"
        )
    if changed := {name: list(paths) for name, paths in changed_recipes(run).items() if name in columns}:
        listed = "; ".join(f"{name} ({', '.join(paths)})" for name, paths in changed.items())
        raise UserError(
            f"{run.path}: not as published, so that these metrics cannot stand in official columns: {listed}. "
            f"Measure them without options that change them, in a run of its own: {command}"
        )


def changed_recipes(run: Run) -> dict[str, tuple[str, ...]]:
    """Metrics of a run that were not measured as the published protocol of its suite does, each with what differs."""
    entries = run.lock.entries
    settings = entries.get("dataset", {}).get("settings", {})
    usual = {bound.name: bound for bound in load_suite(run.about["suite"]).metrics(settings)}
    differing = {}
    for name, own in entries.get("metrics", {}).items():
        if name in usual and usual[name].is_of("published"):
            there = metric_entries(usual[name])
            paths = tuple(path for part in ("metric", "features") for path in _differing(own[part], there[part], part))
            if paths:
                differing[name] = paths
    return differing


def _differing(one: Any, other: Any, path: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other} - FREE):
            yield from _differing(one.get(key), other.get(key), f"{path}.{key}")
    elif one != other:
        yield path
