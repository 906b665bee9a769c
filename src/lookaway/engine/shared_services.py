"""The networks and the judge that the workers of a run share, instead of loading one each."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lookaway.core import (
    BoundMetric,
    Extractor,
    Json,
    JudgeExtractor,
    JudgeHandle,
    JudgeRequest,
    PythonEnvironment,
    Service,
    ServiceClient,
    UnknownName,
    UserError,
)
from lookaway.engine.feature_job import with_needs
from lookaway.engine.networks import NetworkService, service_name
from lookaway.engine.timings import device_of
from lookaway.judges.settings import JudgeSettings

JUDGE = "judge"
MAX_QUESTIONS = 1000
"""Held by one judge actor; the retry policy limits how many of them are in flight."""


def shared_services(
    metrics: Sequence[BoundMetric], replicas: Mapping[str, int], judge: JudgeSettings | None, run: Path
) -> dict[str, Service]:
    """Extractors with requested replicas, on a GPU, or in their own environment; and the judge."""
    recipes = with_needs(recipe for bound in metrics for recipe in bound.recipes.values())
    extractors = [recipe for recipe in recipes if not isinstance(recipe, JudgeExtractor)]
    counts = _counts(replicas, {recipe.name for recipe in extractors}, has_judge=judge is not None)
    shared = defaultdict(list)
    for recipe in extractors:
        if recipe.name in counts or _wants_gpu(device_of(recipe)) or recipe.environment is not None:
            shared[service_name(recipe)].append(recipe)
    services = {name: _networks(group, counts.get(group[0].name, 1)) for name, group in shared.items()}
    if judge is not None:
        copies = counts.get(JUDGE, 1)
        services[JUDGE] = Service(
            make=partial(JudgeService, judge, run, copies),
            copies=copies,
            at_once=MAX_QUESTIONS,
            wants_gpu=judge.folder is not None and _wants_gpu(judge.compute.device),
        )
    return services


class JudgeService:
    """Asks a judge for all workers, within one rate limit."""

    def __init__(self, settings: JudgeSettings, run: Path, copies: int) -> None:
        self._client: JudgeHandle = settings.open_clients(run, workers=copies)

    def __call__(self, request: JudgeRequest) -> Future[Json]:
        """The reply."""
        return self._client.ask(request)


@dataclass(frozen=True, slots=True)
class RemoteJudge:
    """Sends questions to the judge service."""

    client: ServiceClient

    def ask(self, request: JudgeRequest) -> Future[Json]:
        """The reply; fails with an `Unmeasurable`, or with an error that ends the run."""
        return self.client(request)


def _networks(recipes: Sequence[Extractor], copies: int) -> Service:
    """The service of recipes that share an environment, if any."""
    environment = recipes[0].environment
    return Service(
        make=NetworkService,
        copies=copies,
        wants_gpu=any(_wants_gpu(device_of(recipe)) for recipe in recipes),
        python=None if environment is None else _entry(environment),
    )


def _entry(environment: PythonEnvironment) -> str | None:
    """The Python of an actor, which must have this version; an environment with another runs in a child process."""
    ours = ".".join(map(str, sys.version_info[:2]))
    return environment.entry_command() if f"{environment.python}.".startswith(f"{ours}.") else None


def _wants_gpu(device: str) -> bool:
    if device.startswith("cuda:"):
        raise UserError(f"The device {device!r} names one GPU, but Ray assigns GPUs to actors. Use --device cuda.")
    return device == "cuda"


def _counts(replicas: Mapping[str, int], names: set[str], *, has_judge: bool) -> dict[str, int]:
    """Replicas by full name; a unique prefix of a name is enough."""
    known = {*names, JUDGE} if has_judge else names
    counts = {}
    for prefix, count in replicas.items():
        matching = [name for name in known if name == prefix] or [name for name in known if name.startswith(prefix)]
        if len(matching) != 1:
            raise UnknownName("network of this run", prefix, known)
        counts[matching[0]] = count
    return counts
