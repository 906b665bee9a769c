"""What `run.json` records of a run: its options, for reports, for repeating it, and for not mixing it with another."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict
from importlib.metadata import version
from itertools import count, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from lookaway.core import (
    Compute,
    Json,
    Lock,
    ProtocolName,
    RunError,
    StorageError,
    Suite,
    UserError,
    canonical_json,
)
from lookaway.engine.binding import USUAL_PROTOCOL
from lookaway.engine.locking import metric_key
from lookaway.engine.plan import Plan
from lookaway.engine.reading import load_suite
from lookaway.engine.run import Run
from lookaway.io.files import is_file
from lookaway.judges.settings import JudgeSettings
from lookaway.store.outcome_reader import OutcomeReader
from lookaway.store.run_folder import RunFolder

SERVER = "server"
"""The judge backend that has an address."""
MAX_DIFFERENCES = 5
"""Maximum lock entries in a message."""
MAX_NAMES = 3
"""Maximum names in a message."""


def about(plan: Plan, requested: Json) -> Json:
    """The content of `run.json`."""
    return {
        "lookaway": version("lookaway"),
        "suite": plan.dataset.suite,
        "dataset": str(plan.dataset.root),
        "lock_sha256": plan.lock.sha256,
        "rollouts": len(plan.rollouts),
        "metrics": [
            {
                "name": bound.name,
                "lock": metric_key(bound),
                "subsets": bound.subsets and list(bound.subsets),
                "is_gate": bound.is_gate,
                "is_consistency": bound.is_consistency,
                "protocol": bound.protocol,
                "unit": bound.metric.unit,
                "range": list(bound.metric.range),
                "higher_is_better": bound.metric.higher_is_better,
            }
            for bound in plan.metrics
        ],
        "problems": [{"where": problem.where, "message": problem.message} for problem in plan.dataset.problems],
        "requested": requested,
        **({"shard": plan.shard} if plan.shard else {}),
    }


def requested_options(judge: JudgeSettings | None, reading: Mapping[str, Any], **options: Any) -> Json:
    """The options that the user set, without defaults and without secrets."""
    if judge is not None:
        options |= {"judge": _judge(judge), "replies": judge.replies}
        options["gate_judge"] = None if judge.gate is None else _judge(judge.gate)
    options["reading"] = {name: _plain(value) for name, value in reading.items()}
    return {name: _plain(value) for name, value in options.items() if value}


def options_of(suite: Suite, about: Mapping[str, Any], lock: Lock) -> dict[str, Any]:
    """The options that a run was made with, as `read` takes them, without those that have their default.

    Options that can move a number are taken from the lock, since the dataset may have set them.
    """
    reading, settings = _inner(about, "requested", "reading"), _inner(lock.entries, "dataset", "settings")
    found = {}
    for option in suite.options:
        value = settings.get(option.setting) if option.moves_numbers else None
        value = reading.get(option.name) if value is None else value
        if value is not None and value != option.default:
            found[option.name] = value
    return found


def joined_protocol(folder: RunFolder, asked: ProtocolName | None) -> ProtocolName | None:
    """The protocol of an evaluation into a folder: that of its run and the one asked for, which may be both."""
    try:
        known = {entry.get("protocol") for entry in folder.about().get("metrics", [])}
    except StorageError:
        raise
    except UserError:
        return asked  # there is no run yet, or none that can be read
    asked_or_usual = asked or USUAL_PROTOCOL
    others = {"published", "corrected"} - {asked_or_usual}
    return "both" if known & others else asked


def differences_in_words(there: Lock, here: Lock) -> str:
    """The first differences between two locks; empty if there are none."""
    found = list(islice(there.differences(here), MAX_DIFFERENCES + 1))
    shown = [
        f"{path}: {reprlib.repr(theirs)} there, {reprlib.repr(ours)} here"
        for path, theirs, ours in found[:MAX_DIFFERENCES]
    ]
    return "; ".join(shown) + (" and more" if len(found) > MAX_DIFFERENCES else "")


def growth_of_run(folder: RunFolder, plan: Plan, description: Mapping[str, Any]) -> str:
    """What an evaluation adds to the run in its folder, in words; empty if there is none, or nothing is added.

    Raises `RunError` if numbers of that run would no longer be shown: those of another dataset or of other options, or
    of models, cases and metrics that the evaluation leaves out.
    """
    try:
        there, lock, old = folder.about(), folder.lock(), _contents(folder)
    except StorageError:
        raise
    except UserError:
        return ""  # there is no run yet, or none that can be read
    new = {rollout.id: (content, rollout.model) for rollout, content in plan.rollouts}
    reasons = [*_other_options(there, lock, plan, description), *_other_rollouts(there, old, plan, new)]
    if lost := _lost(folder, reasons, lock, plan):
        raise RunError(
            f"{folder.path}: holds numbers that this evaluation would replace: {'; '.join(lost)}. To replace them, run "
            "the same command with --new, which keeps every measurement that still fits. To keep both, name another "
            f"folder: --output {_free_name(folder.path)}."
        )
    added = [
        *_counted("model", sorted({model for _, model in new.values()} - {model for _, model in old.values()})),
        *_counted("rollout", sorted(new.keys() - old.keys()), max_names=0),
        *_counted("metric", sorted(_metrics(plan.lock).keys() - _metrics(lock).keys())),
    ]
    changed = sum(old[name][0] != content for name, (content, _) in new.items() if name in old)
    notes = [f"adds {', '.join(added)} to the run"] if added else []
    notes += [f"measures {changed} of {len(new)} rollouts again, whose files have changed"] if changed else []
    return "; ".join(notes)


def _contents(folder: RunFolder) -> dict[str, tuple[str, str]]:
    """Content and model of every rollout of a run."""
    rows = folder.rollouts(["rollout", "content", "model"]).to_pydict()
    return dict(zip(rows["rollout"], zip(rows["content"], rows["model"], strict=True), strict=True))


def _lost(folder: RunFolder, reasons: Sequence[str], lock: Lock, plan: Plan) -> list[str]:
    """Why numbers of a run would no longer be shown; empty where it has none."""
    here, there = _metrics(plan.lock), _metrics(lock)
    differing = [name for name in there if canonical_json(here.get(name)) != canonical_json(there[name])]
    if not reasons and not differing:
        return []
    scored = {group.metric for group in OutcomeReader(folder, Run(folder.path).metrics).groups() if len(group.values)}
    left_out = _counted("metric", [name for name in differing if name in scored and name not in here])
    changed = [name for name in differing if name in scored and name in here]
    locks = [Lock({"metrics": {name: metrics[name] for name in changed}}) for metrics in (there, here)]
    words = [*reasons, *(f"without {names}" for names in left_out), differences_in_words(*locks)]
    return [text for text in words if text] if scored else []


def _other_options(there: Mapping[str, Any], lock: Lock, plan: Plan, here: Mapping[str, Any]) -> Iterator[str]:
    ours, theirs = plan.lock.entries.get("suite"), lock.entries.get("suite")
    if ours != theirs:
        yield f"suite: {theirs} there, {ours} here"
        return
    settings = [_inner(each.entries, "dataset", "settings") for each in (lock, plan.lock)]
    for option in load_suite(plan.dataset.suite).options:
        if option.moves_numbers:
            old, new = (each.get(option.setting, option.default) for each in settings)
            if canonical_json(old) != canonical_json(new):
                yield f"{option.flag}: {reprlib.repr(old)} there, {reprlib.repr(new)} here"
    old, new = (bool(_inner(each, "requested").get("ignore_triggers")) for each in (there, here))
    if old != new:
        yield f"triggers ignored: {old} there, {new} here"


def _other_rollouts(
    there: Mapping[str, Any], old: Mapping[str, tuple[str, str]], plan: Plan, new: Mapping[str, tuple[str, str]]
) -> Iterator[str]:
    roots = [os.path.realpath(str(root)) for root in (there.get("dataset"), plan.dataset.root)]
    if roots[0] != roots[1] and any(old[name][0] != content for name, (content, _) in new.items() if name in old):
        yield f"another dataset: {there.get('dataset')} there, {plan.dataset.root} here"
    for names in _counted("rollout", sorted(old.keys() - new.keys())):
        yield f"without {names} of {len(old)}"


def _metrics(lock: Lock) -> Mapping[str, Any]:
    return _inner(lock.entries, "metrics")


def _counted(noun: str, names: Sequence[str], max_names: int = MAX_NAMES) -> Iterator[str]:
    """How many there are, with the first names; nothing if there are none."""
    if names:
        shown = [*names[:max_names], *(["..."] if len(names) > max_names else [])]
        yield f"{len(names)} {noun}{'s' if len(names) > 1 else ''}" + (f" ({', '.join(shown)})" if max_names else "")


def _free_name(path: Path) -> Path:
    """A folder beside the run that holds none."""
    names = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return next(name for name in names if not is_file(name / "run.json"))


def _inner(entries: Any, *names: str) -> Mapping[str, Any]:
    """A nested mapping; empty if a run does not have it."""
    for name in names:
        entries = entries.get(name) if isinstance(entries, Mapping) else None
    return entries if isinstance(entries, Mapping) else {}


def _judge(settings: JudgeSettings) -> Json:
    """The judge, without its API key and without parts of its address that may contain one."""
    model, url = settings.model, urlsplit(settings.connection.url)
    host = url.netloc.rpartition("@")[2]
    address = {"url": urlunsplit((url.scheme, host, url.path, "", ""))} if model.backend == SERVER else {}
    prompts = {} if settings.prompts is None else {"prompts": settings.prompts.to_json()}
    return {"model": model.model, "wording": settings.wording, "media": model.media, **address, **prompts}


def _plain(value: Any) -> Json:
    """As JSON; paths are text."""
    if isinstance(value, Compute):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str | bool | int | float):
        return value
    return list(value) if isinstance(value, Sequence | Set) else str(value)
