"""The commands that measure a run again, or one video of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

from lookaway.core import JudgeModel, describe
from lookaway.engine.about import options_of
from lookaway.engine.reading import load_suite
from lookaway.reports.runs import SiteRollout, SiteRun

AGAIN: Final = "again"
"""Folder of the new run."""
DATASET: Final = "DATASET"
"""Stands for a folder whose name is not known."""
SAMPLING: Final = {"temperature": "temperature", "seed": "seed", "max_tokens": "answer-tokens"}
"""How a lock and how an option call the same."""


def run_command(run: SiteRun) -> str:
    """The `lookaway eval` whose table is that of the run, where dataset and software are the same."""
    reading = _mapping(_mapping(run.about.get("asked")).get("reading"))
    chosen = {name: said for name in ("models", "subsets") if isinstance(said := reading.get(name), list) and said}
    cases = said if isinstance(said := reading.get("cases"), list) else []
    return _command(run, {name: ",".join(map(str, said)) for name, said in chosen.items()}, cases)


def reproduce_command(run: SiteRun, rollout: SiteRollout) -> str:
    """The same for one video, with its other seeds where it has some."""
    return _command(run, {"models": rollout.model, "subsets": rollout.subset}, [rollout.case])


def _command(run: SiteRun, chosen: Mapping[str, str], cases: Sequence[str]) -> str:
    asked = _mapping(run.about.get("asked"))
    words = ["lookaway", "eval", _name(run.about.get("dataset")), "-o", AGAIN, "--suite", run.suite]
    words += [f"--metrics={','.join(metric.name for metric in run.metrics)}"]
    words += _options(chosen, tuple(chosen))
    words += [f"--case={case}" for case in cases]
    words += _options(_mapping(asked.get("reading")), ("limit",))
    words += _suite_options(run)
    words += _options(_mapping(asked.get("compute")), ("device", "precision"))
    words += _settings(run, asked)
    command = shlex.join(words)
    if given := _given_as_objects(run):
        command += f"  # in Python with lookaway.evaluate: {', '.join(given)} came as an object"
    return command


def _given_as_objects(run: SiteRun) -> list[str]:
    """Metrics that no entry point leads to, so that no command line can name them."""
    return [name for name, entries in run.lock.entries.get("metrics", {}).items() if "source" in entries]


def _name(place: object) -> str:
    """The last part of a place: where it lies is another matter on every machine."""
    name = PurePath(str(place)).name if place else ""
    # A name that looks like an option is no option.
    return f"./{name}" if name.startswith("-") else name or DATASET


def _mapping(said: Any) -> Mapping[str, Any]:
    """What a run remembers under one name; nothing, where an older one does not."""
    return said if isinstance(said, Mapping) else {}


def _options(said: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if value := said.get(name):
            option = f"--{name.replace('_', '-')}"
            yield option if value is True else f"{option}={value}"


def _suite_options(run: SiteRun) -> Iterator[str]:
    suite = load_suite(run.suite)
    said = options_of(suite, run.about, run.lock)
    for option in suite.options:
        if option.name in said:
            value = said[option.name]
            if option.type is bool:
                yield option.flag
            else:
                yield f"{option.flag}={_name(value) if option.is_path else value}"


def _settings(run: SiteRun, asked: Mapping[str, Any]) -> Iterator[str]:
    settings = run.lock.entries.get("dataset", {}).get("settings", {})
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
    judges = [recipe["judge"] for recipe in recipes.values() if _mapping(recipe.get("judge")).get("model")]
    if judges:
        yield from _judge(min(judges, key=lambda judge: str(judge["model"])), _mapping(asked.get("judge")))
        if kept := _replies(run, asked):
            yield from (f"--replies={kept}", "--replay")


def _judge(locked: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[str]:
    """Who answered, and all that is not as usual: kept replies are found by the same questions alone."""
    yield f"--judge-model={locked['model']}"
    yield from (f"--judge-{option[2:]}" for option in _options(asked, ("wording", "media")))
    usual = _mapping(describe(JudgeModel()))
    for name in ("backend", "repeats", "extra"):
        if locked.get(name, usual[name]) != usual[name]:
            yield f"--judge-{name}={locked[name]}"
    sampling = _mapping(locked.get("sampling"))
    for name, option in SAMPLING.items():
        if sampling.get(name, usual["sampling"][name]) != usual["sampling"][name]:
            yield f"--judge-{option}={sampling[name]}"


def _replies(run: SiteRun, asked: Mapping[str, Any]) -> str | None:
    """Where the answers of the run are kept; a merged one has none of its own."""
    if shared := asked.get("replies"):
        return _name(shared)
    return None if "merged" in run.about else f"{_name(run.path)}/replies"
