"""The commands that reproduce a run, or one video of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

from lookaway.core import JudgeModel, describe
from lookaway.engine.about import options_of
from lookaway.engine.reading import load_suite
from lookaway.io.checksums import byte_hash
from lookaway.reports.runs import LoadedRollout, LoadedRun

AGAIN: Final = "again"
"""Begins the name of the new run's folder. It ends with a hash of the command: a folder holds one run."""
HASH_DIGITS: Final = 8
DATASET: Final = "DATASET"
"""Placeholder for a folder whose name is not known."""
SAMPLING: Final = {"temperature": "temperature", "seed": "seed", "max_tokens": "answer-tokens"}
"""Names in the lock, and the options they are set by."""


def run_command(run: LoadedRun) -> str:
    """The `lookaway eval` that gives the same table as the run, with the same dataset and software."""
    reading = _mapping(_mapping(run.about.get("requested")).get("reading"))
    chosen = {name: value for name in ("models", "subsets") if isinstance(value := reading.get(name), list) and value}
    cases = value if isinstance(value := reading.get("cases"), list) else []
    return _command(run, {name: ",".join(map(str, value)) for name, value in chosen.items()}, cases)


def reproduce_command(run: LoadedRun, rollout: LoadedRollout) -> str:
    """The same for one video, with its other seeds where it has some."""
    return _command(run, {"models": rollout.model, "subsets": rollout.subset}, [rollout.case])


def _command(run: LoadedRun, chosen: Mapping[str, str], cases: Sequence[str]) -> str:
    requested = _mapping(run.about.get("requested"))
    words = ["--suite", run.suite]
    words += [f"--metrics={','.join(metric.name for metric in run.metrics)}"]
    words += _options(chosen, tuple(chosen))
    words += [f"--case={case}" for case in cases]
    words += _options(_mapping(requested.get("reading")), ("limit",))
    words += _suite_options(run)
    words += _options(_mapping(requested.get("compute")), ("device", "precision"))
    words += _settings(run, requested)
    dataset = _name(run.about.get("dataset"))
    folder = f"{AGAIN}-{byte_hash(shlex.join([dataset, *words]).encode('utf-8', 'backslashreplace'))[:HASH_DIGITS]}"
    command = shlex.join(["lookaway", "eval", dataset, "-o", folder, *words])
    if given := _given_as_objects(run):
        command += f"  # in Python with lookaway.evaluate: {', '.join(given)} came as an object"
    return command


def _given_as_objects(run: LoadedRun) -> list[str]:
    """Metrics that no entry point leads to, so that no command line can name them."""
    return [name for name, entries in run.lock.entries.get("metrics", {}).items() if "source" in entries]


def _name(path: object) -> str:
    """The last part of a path: the rest differs between machines."""
    name = PurePath(str(path)).name if path else ""
    # A name that looks like an option is not one.
    return f"./{name}" if name.startswith("-") else name or DATASET


def _mapping(value: Any) -> Mapping[str, Any]:
    """An entry of the run's record; empty where an older run does not have it."""
    return value if isinstance(value, Mapping) else {}


def _options(values: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if value := values.get(name):
            option = f"--{name.replace('_', '-')}"
            yield option if value is True else f"{option}={value}"


def _suite_options(run: LoadedRun) -> Iterator[str]:
    suite = load_suite(run.suite)
    values = options_of(suite, run.about, run.lock)
    for option in suite.options:
        if option.name in values:
            value = values[option.name]
            if option.type is bool:
                yield option.flag
            else:
                yield f"{option.flag}={_name(value) if option.is_path else value}"


def _settings(run: LoadedRun, requested: Mapping[str, Any]) -> Iterator[str]:
    settings = run.lock.entries.get("dataset", {}).get("settings", {})
    own: dict[tuple[str, str], str] = {}
    usual: dict[str, set[str]] = {}
    for bound in load_suite(run.suite).metrics(settings):
        for feature, recipe in bound.recipes.items():
            own[bound.name, feature] = recipe.name
            usual.setdefault(feature, set()).add(recipe.name)
    recipes = {
        (name, feature): recipe
        for name, entries in run.lock.entries.get("metrics", {}).items()
        for feature, recipe in entries.get("features", {}).items()
    }
    others = {
        (feature, recipe["kind"])
        for (name, feature), recipe in recipes.items()
        if feature in usual
        and recipe.get("kind") not in ({own[name, feature]} if (name, feature) in own else usual[feature])
    }
    yield from (f"--use={feature}={kind}" for feature, kind in sorted(others))
    if requested.get("ignore_triggers"):
        yield "--ignore-trigger"
    locked = [_mapping(recipe.get("judge")) for recipe in recipes.values()]
    judges = {str(judge["model"]): judge for judge in locked if judge.get("model")}
    if judges:
        named, gate = (_mapping(requested.get(name)) for name in ("judge", "gate_judge"))
        yield from _judge(judges.get(named.get("model", ""), judges[min(judges)]), named)
        if gate:
            yield f"--gate-judge-model={gate['model']}"
        if kept := _replies(run, requested):
            yield from (f"--replies={kept}", "--replay")


def _judge(locked: Mapping[str, Any], requested: Mapping[str, Any]) -> Iterator[str]:
    """The judge and every setting that is not the default: stored replies are found only by the same questions."""
    yield f"--judge-model={locked['model']}"
    yield from (f"--judge-{option[2:]}" for option in _options(requested, ("wording", "media")))
    usual = _mapping(describe(JudgeModel()))
    for name in ("backend", "repeats", "extra"):
        if locked.get(name, usual[name]) != usual[name]:
            yield f"--judge-{name}={locked[name]}"
    sampling = _mapping(locked.get("sampling"))
    for name, option in SAMPLING.items():
        if sampling.get(name, usual["sampling"][name]) != usual["sampling"][name]:
            yield f"--judge-{option}={sampling[name]}"


def _replies(run: LoadedRun, requested: Mapping[str, Any]) -> str | None:
    """The folder of the replies of the run; a merged run has none of its own."""
    if shared := requested.get("replies"):
        return _name(shared)
    return None if "merged" in run.about else f"{_name(run.path)}/replies"
