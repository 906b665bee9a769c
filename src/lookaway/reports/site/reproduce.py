"""The command that measures one video again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from lookaway.engine.reading import load_suite
from lookaway.reports.site.gather import SiteRollout, SiteRun

AGAIN: Final = "again"
"""Folder of the new run."""


def reproduce_command(run: SiteRun, rollout: SiteRollout) -> str:
    """The `lookaway eval` whose rows hold the same numbers, where dataset and software are the same."""
    place = str(run.about.get("dataset", "DATASET"))
    # A path that looks like an option is no option.
    words = ["lookaway", "eval", f"./{place}" if place.startswith("-") else place, "-o", AGAIN, "--suite", run.suite]
    words += [f"--metrics={','.join(metric.name for metric in run.metrics)}"]
    words += [f"--models={rollout.model}", f"--subsets={rollout.subset}"]
    words += _settings(run)
    return " ".join(shlex.quote(word) for word in words)


def _settings(run: SiteRun) -> Iterator[str]:
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
    judges = {recipe["judge"]["model"] for recipe in recipes.values() if "judge" in recipe} - {""}
    if judges:
        yield from (f"--judge-model={min(judges)}", f"--replies={run.path / 'replies'}", "--replay")
