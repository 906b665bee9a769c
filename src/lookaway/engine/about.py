"""What `run.json` records of a run: its options, for reports and for reproducing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from lookaway.core import Compute, Json, Lock, Suite
from lookaway.engine.locking import metric_key
from lookaway.engine.plan import Plan
from lookaway.judges.settings import JudgeSettings

SERVER = "server"
"""The judge backend that has an address."""


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
    return {"model": model.model, "wording": settings.wording, "media": model.media, **address}


def _plain(value: Any) -> Json:
    """As JSON; paths are text."""
    if isinstance(value, Compute):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str | bool | int | float):
        return value
    return list(value) if isinstance(value, Sequence | Set) else str(value)
