"""Which networks and judges the workers of a run share, instead of having one each."""

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
from lookaway.judges.client import JudgeClient
from lookaway.judges.settings import JudgeSettings

JUDGE = "judge"
QUESTIONS_HELD = 1000
"""By one actor that asks a judge; how many of them are under way is for the judge's manners to say."""


def shared_services(
    metrics: Sequence[BoundMetric], replicas: Mapping[str, int], judge: JudgeSettings | None, run: Path
) -> dict[str, Service]:
    """What was asked for, what needs a GPU, what needs an environment of its own, and the judge."""
    recipes = with_needs(recipe for bound in metrics for recipe in bound.recipes.values())
    perceiving = [recipe for recipe in recipes if not isinstance(recipe, JudgeExtractor)]
    counts = _counts(replicas, {recipe.name for recipe in perceiving}, has_judge=judge is not None)
    shared = defaultdict(list)
    for recipe in perceiving:
        if recipe.name in counts or _wants_gpu(device_of(recipe)) or recipe.environment is not None:
            shared[service_name(recipe)].append(recipe)
    services = {name: _networks(group, counts.get(group[0].name, 1)) for name, group in shared.items()}
    if judge is not None:
        copies = counts.get(JUDGE, 1)
        services[JUDGE] = Service(
            make=partial(JudgeService, judge, run, copies),
            copies=copies,
            at_once=QUESTIONS_HELD,
            wants_gpu=judge.folder is not None and _wants_gpu(judge.compute.device),
        )
    return services


class JudgeService:
    """Asks a judge for all workers, at a rate that they could not keep alone."""

    def __init__(self, settings: JudgeSettings, run: Path, copies: int) -> None:
        self._asking: JudgeClient = settings.asking(run, workers=copies)

    def __call__(self, request: JudgeRequest) -> Future[Json]:
        """The reply."""
        return self._asking.ask(request)


@dataclass(frozen=True, slots=True)
class RemoteJudge:
    """Hands questions to whoever asks the judge."""

    client: ServiceClient

    def ask(self, request: JudgeRequest) -> Future[Json]:
        """The reply; or an `Unmeasurable`, or what ends the run."""
        return self.client(request)


def _networks(recipes: Sequence[Extractor], copies: int) -> Service:
    """Of recipes that share their environment, where they have one."""
    environment = recipes[0].environment
    return Service(
        make=NetworkService,
        copies=copies,
        wants_gpu=any(_wants_gpu(device_of(recipe)) for recipe in recipes),
        python=None if environment is None else _entry(environment),
    )


def _entry(environment: PythonEnvironment) -> str | None:
    """An actor must have our version of Python; where the environment has another, a child of the actor is in it."""
    ours = ".".join(map(str, sys.version_info[:2]))
    return environment.entry_command() if f"{environment.python}.".startswith(f"{ours}.") else None


def _wants_gpu(device: str) -> bool:
    if device.startswith("cuda:"):
        raise UserError(f"The device {device!r} names one GPU, but Ray gives every actor its own: say --device cuda.")
    return device == "cuda"


def _counts(replicas: Mapping[str, int], names: set[str], *, has_judge: bool) -> dict[str, int]:
    """By full name; the beginning of a name is enough where only one begins so."""
    known = {*names, JUDGE} if has_judge else names
    counts = {}
    for said, count in replicas.items():
        matching = [name for name in known if name == said] or [name for name in known if name.startswith(said)]
        if len(matching) != 1:
            raise UnknownName("network of this run", said, known)
        counts[matching[0]] = count
    return counts
