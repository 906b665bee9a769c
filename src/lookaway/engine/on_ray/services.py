"""What workers share, each copy in an actor of its own, and the desks where they hand in requests."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from lookaway.core import RunError, Service, ServiceClient
from lookaway.engine.on_ray.cluster import actor_named

SMALLEST_PART = 1e-4
"""What Ray counts GPUs in."""


def share_of_gpus(found: float, copies: int, asked: float | None) -> float:
    """The part of a GPU for each of some copies; a cluster that has too few is told so before anybody waits for it.

    Nobody is spread over parts of two GPUs.

    >>> share_of_gpus(2, 2, None), share_of_gpus(2, 3, None), share_of_gpus(1, 6, None), share_of_gpus(0, 0, None)
    (1.0, 0.5, 0.1666, 0.0)
    """
    if not copies or asked == 0:
        return 0.0
    if asked is None:
        if found < 1:
            raise _too_few(copies, "at least 1", found)
        each = math.ceil(copies / int(found))
        return math.floor(1 / each / SMALLEST_PART) * SMALLEST_PART if each > 1 else 1.0
    if asked > 1 and not asked.is_integer():
        raise RunError(f"{asked:g} GPUs for each worker; more than one can only be had whole.")
    room = found // asked if asked >= 1 else int(found) * math.floor(1 / asked + 1e-9)
    if copies > room:
        raise _too_few(copies, f"{asked:g} each", found)
    return asked


@contextmanager
def room_on_gpus(ray: Any, each: float, copies: int) -> Iterator[dict[str, Any]]:
    """Options of actors that get a part of a GPU each: there is room for all of them, or they all wait.

    Two runs that each hold some of what they need would wait for each other for ever.
    """
    if not each or not copies:
        yield {"num_gpus": 0}
        return
    group = ray.util.placement_group([{"GPU": each}] * copies)
    try:
        strategy = ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(group)
        yield {"num_gpus": each, "scheduling_strategy": strategy}
    finally:
        ray.util.remove_placement_group(group)


def _too_few(copies: int, needed: str, found: float) -> RunError:
    return RunError(
        f"{copies} networks on GPUs need {needed}, found {found:g} in the cluster. "
        "Lower --gpus-per-worker or --replicas, or run on --device cpu."
    )


@dataclass(slots=True)
class DeathLog:
    """Outlives the copies that it watches; what only waited beside a request that a copy died of is not blamed."""

    _lives: dict[str, str] = field(default_factory=dict)
    _busy: dict[tuple[str, bool], str] = field(default_factory=dict)
    _deaths: Counter[str] = field(default_factory=Counter)

    def begins(self, copy: str, life: str, is_quick: bool, request: str) -> int:
        """A copy, in one of its lives, is about to answer a request; returns how many copies died of that before."""
        if self._lives.setdefault(copy, life) != life:
            self._lives[copy] = life
            for way in (False, True):
                if (last := self._busy.pop((copy, way), None)) is not None:
                    self._deaths[last] += 1
        self._busy[copy, is_quick] = request
        return self._deaths[request]


LOG = logging.getLogger(__name__)
DEATHS_PER_REQUEST = 3
"""After so many copies died of it, a request is refused."""
RETRIES = 3
"""Where a copy holds many requests and none of them can be blamed, so many deaths of it are survived."""
DEATHS_AT_START = 5
"""After so many processes of a copy died before it was ready, the run ends."""
ON_CORES = {"scheduling_strategy": "SPREAD"}
"""Where copies run that want no GPU: each on another machine, if there are several."""
QUICK = "quick"
"""Requests with a true `is_quick` are answered beside the others, so that they need not wait for them."""
SECONDS_WITHOUT_ROOM = 20.0
SECONDS_TO_FINISH = 30.0
"""For answers that are under way when the work ends and that nobody waits for any more: they are paid for, and kept."""


class ServiceDied(RuntimeError):
    """A request that several copies of a service died of, one after the other."""


@contextmanager
def start_services(
    ray: Any, services: Mapping[str, Service], gpus_per_copy: float | None
) -> Iterator[dict[str, ServiceClient]]:
    """Every copy of every service, started and ready; they end with the work."""
    if not services:
        yield {}
        return
    wanting = sum(service.copies for service in services.values() if service.wants_gpu)
    gpus = share_of_gpus(ray.cluster_resources().get("GPU", 0.0), wanting, gpus_per_copy)
    witness = f"witness {uuid4().hex}"
    actors = [ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1, name=witness)(DeathLog).remote()]
    try:
        with room_on_gpus(ray, gpus, wanting) as on_gpus:
            copies: dict[str, list[Any]] = {}
            for name, service in services.items():
                where = on_gpus if service.wants_gpu else ON_CORES
                for place in range(service.copies):
                    actors.append(_start(ray, service, where, (name, place, witness)))
                    copies.setdefault(name, []).append(actors[-1])
            _await(ray, copies)
            asked = [copy for name, started in copies.items() if services[name].at_once for copy in started]
            try:
                yield {name: RayServiceClient(name, started) for name, started in copies.items()}
            except Exception:
                _let_finish(ray, asked)
                raise
            _let_finish(ray, asked)
    finally:
        for actor in actors:
            ray.kill(actor)


@dataclass(slots=True)
class RayServiceClient:
    """Gives every request to the copy of a service that has the fewest from here."""

    name: str
    copies: Sequence[Any]
    _held: list[set[Future[Any]]] = field(init=False)

    def __post_init__(self) -> None:
        self._held = [set() for _ in self.copies]

    def __call__(self, request: Any) -> Future[Any]:
        """The answer, or what kept it from being given, as it would be in this process."""
        # By chance where they are even, so that workers do not all begin with the same copy.
        position = min(range(len(self.copies)), key=lambda each: (len(self._held[each]), random.random()))  # noqa: S311
        answer: Future[Any] = Future()
        self._held[position].add(answer)
        answer.add_done_callback(self._held[position].discard)
        serve = self.copies[position].serve
        if getattr(request, "is_quick", False):
            serve = serve.options(concurrency_group=QUICK)
        reference = serve.remote(request, uuid4().hex)
        reference.future().add_done_callback(lambda done: _pass_on(self.name, done, answer))
        return answer


def cores_of(services: Mapping[str, Service]) -> int:
    """What all copies keep busy; those that wait for a GPU or for others take next to nothing.

    Workers leave them so much, but no copy reserves a core: two runs whose copies filled a cluster would wait for cores
    for their workers, each until the other ends.
    """
    return sum(service.copies for service in services.values() if not service.wants_gpu and not service.at_once)


def _start(ray: Any, service: Service, where: Mapping[str, Any], blame: tuple[Any, ...]) -> Any:
    options: dict[str, Any] = {"num_cpus": 0, **where}
    if service.python is not None:
        options["runtime_env"] = {"py_executable": service.python}
    if service.at_once is not None:
        kind = ray.remote(max_restarts=-1, max_task_retries=RETRIES, max_concurrency=service.at_once, **options)
        return kind(_AsyncServer).remote(service.make)
    kind = ray.remote(max_restarts=-1, max_task_retries=-1, concurrency_groups={QUICK: 1}, **options)
    return kind(_Server).remote(service.make, *blame)


def _await(ray: Any, copies: Mapping[str, Sequence[Any]]) -> None:
    waiting = {
        copy.ready.options(max_task_retries=DEATHS_AT_START - 1).remote(): name
        for name, started in copies.items()
        for copy in started
    }
    while waiting:
        ready, _ = ray.wait(list(waiting), num_returns=1, timeout=SECONDS_WITHOUT_ROOM)
        if not ready:
            free = ray.available_resources()
            LOG.warning(
                "Waiting for the actors of %s: the cluster has %g cores and %g GPUs free.",
                ", ".join(sorted(set(waiting.values()))),
                free.get("CPU", 0),
                free.get("GPU", 0),
            )
        for reference in ready:
            name = waiting.pop(reference)
            try:
                ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from error  # as it would be without Ray
            except ray.exceptions.RayError as error:
                raise RunError(
                    f"The actors of {name} could not be started: {error} Give them more memory or another device."
                ) from error


def _let_finish(ray: Any, copies: Sequence[Any]) -> None:
    if copies:
        ray.wait([copy.finish.remote() for copy in copies], num_returns=len(copies), timeout=SECONDS_TO_FINISH)


def _pass_on(name: str, done: Future[Any], answer: Future[Any]) -> None:
    error = done.exception()
    if error is None:
        answer.set_result(done.result())
        return
    found: BaseException | None = getattr(error, "cause", None)
    if not isinstance(found, BaseException):
        # Nothing that the service raised, so nothing that can be said of a rollout.
        found = RunError(f"The actors of {name} are gone: {error}")
    found.__cause__ = error  # it has the trace of the other process
    answer.set_exception(found)


@dataclass(slots=True)
class _CrashGuard:
    """How a copy lets others know what it holds, should it die of it."""

    service: str
    place: int
    witness: str
    """Its name: a restart cannot rely on handles that are arguments of a constructor."""
    life: str = field(default_factory=lambda: uuid4().hex)

    def take(self, request: Any, number: str) -> None:
        """Before a request is answered; a `ServiceDied` where that would be once too often."""
        way = f"{self.service} {self.place}", self.life, bool(getattr(request, "is_quick", False))
        deaths = actor_named(self.witness).begins.remote(*way, number).future().result()
        if deaths >= DEATHS_PER_REQUEST:
            raise ServiceDied(
                f"{deaths} processes of {self.service} died of it, one after the other, perhaps for want of memory."
            )


class _Made:
    """Made at its first use, which is a call and not a constructor, so that errors keep their class."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        self._make, self._turn = make, threading.Lock()
        self._made: Callable[[Any], Any] | None = None

    def __call__(self) -> Callable[[Any], Any]:
        with self._turn:
            if self._made is None:
                self._made = self._make()
            return self._made


class _Server:
    def __init__(self, make: Callable[[], Callable[[Any], Any]], *blame: Any) -> None:
        self._made, self._blame = _Made(make), _CrashGuard(*blame)

    def ready(self) -> None:
        self._made()

    def serve(self, request: Any, number: str) -> Any:
        self._blame.take(request, number)
        return self._made()(request)


class _AsyncServer:
    def __init__(self, make: Callable[[], Callable[[Any], Future[Any]]]) -> None:
        self._made = _Made(make)
        self._under_way: set[asyncio.Future[Any]] = set()

    async def ready(self) -> None:
        self._made()

    async def serve(self, request: Any, number: str) -> Any:
        answer = asyncio.wrap_future(self._made()(request))
        self._under_way.add(answer)
        answer.add_done_callback(self._under_way.discard)
        return await answer

    async def finish(self) -> None:
        while self._under_way:
            await asyncio.wait(self._under_way)
