"""The command that measures one video again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from lookaway.engine.reading import load_suite
from lookaway.reports.site.gather import SiteRollout, SiteRun

AGAIN: Final = "again"
"""Folder of the new run."""
READING: Final = ("limit", "pattern", "allow_outside", "truth", "as_published", "most_frames")
"""Options of reading that a run remembers, and that its lock does not say."""


def reproduce_command(run: SiteRun, rollout: SiteRollout) -> str:
    """The `lookaway eval` whose rows hold the same numbers, where dataset and software are the same."""
    place = str(run.about.get("dataset", "DATASET"))
    # A path that looks like an option is no option.
    words = ["lookaway", "eval", f"./{place}" if place.startswith("-") else place, "-o", AGAIN, "--suite", run.suite]
    words += [f"--metrics={','.join(metric.name for metric in run.metrics)}"]
    words += [f"--models={rollout.model}", f"--subsets={rollout.subset}"]
    asked = _mapping(run.about.get("asked"))
    words += _options(_mapping(asked.get("reading")), READING)
    words += _options(_mapping(asked.get("compute")), ("device", "precision"))
    words += _settings(run, asked)
    return " ".join(shlex.quote(word) for word in words)


def _mapping(said: Any) -> Mapping[str, Any]:
    """What a run remembers under one name; nothing, where an older one does not."""
    return said if isinstance(said, Mapping) else {}


def _options(said: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if value := said.get(name):
            option = f"--{name.replace('_', '-')}"
            yield option if value is True else f"{option}={value}"


def _settings(run: SiteRun, asked: Mapping[str, Any]) -> Iterator[str]:
    settings = run.lock.entries.get("dataset", {}).get("settings", {})
    if isinstance(convention := settings.get("extrinsics_convention"), str):
        yield f"--extrinsics-convention={convention}"
    usual = {
        feature: recipe.name
        for bound in load_suite(run.suite).metrics(settings)
        for feature, recipe in bound.recipes.items()
    }
    recipes = {
        feature: recipe
        for entries in run.lock.entries.get("metrics", {}).values()
        for feature, recipe in entries.get("features", {}).items()
    }
    for feature, recipe in sorted(recipes.items()):
        if feature in usual and recipe.get("kind") != usual[feature]:
            yield f"--use={feature}={recipe['kind']}"
    if asked.get("ignore_gates"):
        yield "--ignore-trigger"
    judges = {recipe["judge"]["model"] for recipe in recipes.values() if "judge" in recipe} - {""}
    if judges:
        yield f"--judge-model={min(judges)}"
        yield from (f"--judge-{option[2:]}" for option in _options(_mapping(asked.get("judge")), ("wording", "media")))
        if kept := asked.get("replies") or (None if "merged" in run.about else run.path / "replies"):
            yield from (f"--replies={kept}", "--replay")
