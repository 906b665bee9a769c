"""Services that workers share, each copy in its own actor, and the clients that send requests to them."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from lookaway.core import RunError, Service, ServiceClient
from lookaway.engine.on_ray.cluster import actor_named

SMALLEST_PART = 1e-4
"""The smallest share of a GPU in Ray."""


def gpu_share(found: float, copies: int, requested: float | None) -> float:
    """The share of a GPU for each copy; raises `RunError` if the cluster has too few, before anything waits for them.

    No copy uses shares of two GPUs.

    >>> gpu_share(2, 2, None), gpu_share(2, 3, None), gpu_share(1, 6, None), gpu_share(0, 0, None)
    (1.0, 0.5, 0.1666, 0.0)
    """
    if not copies or requested == 0:
        return 0.0
    if requested is None:
        if found < 1:
            raise _not_enough_gpus(copies, "at least 1", found)
        each = math.ceil(copies / int(found))
        return math.floor(1 / each / SMALLEST_PART) * SMALLEST_PART if each > 1 else 1.0
    if requested > 1 and not requested.is_integer():
        raise RunError(f"Found {requested:g} GPUs per worker, expected a fraction below 1 or a whole number.")
    capacity = found // requested if requested >= 1 else int(found) * math.floor(1 / requested + 1e-9)
    if copies > capacity:
        raise _not_enough_gpus(copies, f"{requested:g} each", found)
    return requested


@contextmanager
def reserve_gpus(ray: Any, each: float, copies: int) -> Iterator[dict[str, Any]]:
    """Options of actors with a share of a GPU each: all of them get one, or all wait.

    Two runs that each hold some of the GPUs they need would wait for each other forever.
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


def _not_enough_gpus(copies: int, needed: str, found: float) -> RunError:
    return RunError(
        f"{copies} networks on GPUs need {needed}, found {found:g} in the cluster. "
        "Lower --gpus-per-worker or --replicas, or run on --device cpu."
    )


@dataclass(slots=True)
class DeathLog:
    """Counts how many processes of a copy died of each request; it outlives them.

    Requests that only waited do not count. Of two requests that were answered at once either may be the cause, so
    both count; from then on both are answered alone, and an innocent one is never blamed twice.
    """

    _lives: dict[str, str] = field(default_factory=dict)
    _held: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _deaths: dict[str, Counter[str]] = field(default_factory=dict)

    def begin_life(self, copy: str, life: str) -> dict[str, int]:
        """Record that a process of a copy begins; returns how many processes before it died of each request."""
        deaths = self._deaths.setdefault(copy, Counter())
        if self._lives.get(copy) != life:
            self._lives[copy] = life
            deaths.update(self._held.pop(copy, ()))
        return dict(deaths)

    def hold(self, copy: str, requests: tuple[str, ...]) -> None:
        """Record what the process of a copy is answering from now on."""
        self._held[copy] = requests


LOG = logging.getLogger(__name__)
DEATHS_PER_REQUEST = 3
"""A request that this many copies died of is refused."""
RETRIES = 3
"""How many deaths of a copy with many concurrent requests are survived, since none of them can be blamed."""
DEATHS_AT_START = 5
"""The run ends when this many processes of a copy died before it was ready."""
ON_CORES = {"scheduling_strategy": "SPREAD"}
"""Copies without a GPU run on different machines, if there are several."""
QUICK = "quick"
"""Requests with a true `is_quick` run concurrently with the others, so that they need not wait."""
SECONDS_BEFORE_WARNING = 20.0
SECONDS_TO_FINISH = 30.0
"""For answers that are in flight when the work ends: they are paid for, so they are stored."""


class ServiceDied(RuntimeError):
    """Several copies of a service died of one request."""


@contextmanager
def start_services(
    ray: Any, services: Mapping[str, Service], gpus_per_copy: float | None
) -> Iterator[dict[str, ServiceClient]]:
    """Start every copy of every service, and stop them when the work ends."""
    if not services:
        yield {}
        return
    wanting = sum(service.copies for service in services.values() if service.wants_gpu)
    gpus = gpu_share(ray.cluster_resources().get("GPU", 0.0), wanting, gpus_per_copy)
    death_log = f"death log {uuid4().hex}"
    actors = [ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1, name=death_log)(DeathLog).remote()]
    try:
        with reserve_gpus(ray, gpus, wanting) as on_gpus:
            copies: dict[str, list[Any]] = {}
            for name, service in services.items():
                where = on_gpus if service.wants_gpu else ON_CORES
                for number in range(service.copies):
                    actors.append(_start(ray, service, where, (name, number, death_log)))
                    copies.setdefault(name, []).append(actors[-1])
            _wait_until_ready(ray, copies)
            asynchronous = [copy for name, started in copies.items() if services[name].at_once for copy in started]
            try:
                yield {name: RayServiceClient(name, started) for name, started in copies.items()}
            except Exception:
                _drain(ray, asynchronous)
                raise
            _drain(ray, asynchronous)
    finally:
        for actor in actors:
            ray.kill(actor)


@dataclass(slots=True)
class RayServiceClient:
    """Sends every request to the copy of a service that has the fewest requests from this client."""

    name: str
    copies: Sequence[Any]
    _in_flight: list[set[Future[Any]]] = field(init=False)

    def __post_init__(self) -> None:
        self._in_flight = [set() for _ in self.copies]

    def __call__(self, request: Any) -> Future[Any]:
        """The answer, or the error, as it would be in this process."""
        # Ties are broken at random, so that workers do not all start with the same copy.
        position = min(range(len(self.copies)), key=lambda each: (len(self._in_flight[each]), random.random()))  # noqa: S311
        answer: Future[Any] = Future()
        self._in_flight[position].add(answer)
        answer.add_done_callback(self._in_flight[position].discard)
        serve = self.copies[position].serve
        if getattr(request, "is_quick", False):
            serve = serve.options(concurrency_group=QUICK)
        reference = serve.remote(request, uuid4().hex)
        reference.future().add_done_callback(lambda done: _forward_result(self.name, done, answer))
        return answer


def cores_of(services: Mapping[str, Service]) -> int:
    """The cores that all copies use; those that wait for a GPU or a judge use next to nothing.

    Workers leave these cores free, but no copy reserves one: two runs whose copies filled a cluster would wait for
    each other.
    """
    return sum(service.copies for service in services.values() if not service.wants_gpu and not service.at_once)


def _start(ray: Any, service: Service, where: Mapping[str, Any], guard: tuple[Any, ...]) -> Any:
    options: dict[str, Any] = {"num_cpus": 0, **where}
    if service.python is not None:
        options["runtime_env"] = {"py_executable": service.python}
    if service.at_once is not None:
        kind = ray.remote(max_restarts=-1, max_task_retries=RETRIES, max_concurrency=service.at_once, **options)
        return kind(_AsyncServer).remote(service.make)
    kind = ray.remote(max_restarts=-1, max_task_retries=-1, concurrency_groups={QUICK: 1}, **options)
    return kind(_Server).remote(service.make, *guard)


def _wait_until_ready(ray: Any, copies: Mapping[str, Sequence[Any]]) -> None:
    waiting = {
        copy.ready.options(max_task_retries=DEATHS_AT_START - 1).remote(): name
        for name, started in copies.items()
        for copy in started
    }
    while waiting:
        ready, _ = ray.wait(list(waiting), num_returns=1, timeout=SECONDS_BEFORE_WARNING)
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
                raise error.cause from error  # as without Ray
            except ray.exceptions.RayError as error:
                raise RunError(
                    f"The actors of {name} could not be started: {error} Give them more memory or another device."
                ) from error


def _drain(ray: Any, copies: Sequence[Any]) -> None:
    if copies:
        ray.wait([copy.finish.remote() for copy in copies], num_returns=len(copies), timeout=SECONDS_TO_FINISH)


def _forward_result(name: str, done: Future[Any], answer: Future[Any]) -> None:
    error = done.exception()
    if error is None:
        answer.set_result(done.result())
        return
    found: BaseException | None = getattr(error, "cause", None)
    if not isinstance(found, BaseException):
        # Not raised by the service, so it says nothing about a rollout.
        found = RunError(f"The actors of {name} have died: {error}")
    found.__cause__ = error  # has the traceback of the other process
    answer.set_exception(found)


@dataclass(slots=True)
class _CrashGuard:
    """Reports what a copy is answering to the death log, and refuses a request that killed too many processes."""

    service: str
    number: int
    death_log: str
    """The name of its actor: a restarted actor cannot use handles from its constructor."""
    life: str = field(default_factory=lambda: uuid4().hex)
    _deaths: dict[str, int] | None = None
    """As this process found them. A request is always sent to one copy, so nothing is added while it lives."""
    _held: set[str] = field(default_factory=set)
    _recording: threading.Lock = field(default_factory=threading.Lock)
    _quick: threading.Lock = field(default_factory=threading.Lock)
    _slow: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def holding(self, request: Any, key: str) -> Iterator[None]:
        """Answer a request in this context; raises `ServiceDied` if too many processes died of it.

        What a process died of, or beside, is answered alone, so that the next death has one cause.
        """
        deaths = self._deaths_of(key)
        if deaths >= DEATHS_PER_REQUEST:
            raise ServiceDied(
                f"{deaths} processes of {self.service} died of this request, one after the other. "
                "They may have run out of memory."
            )
        is_quick = bool(getattr(request, "is_quick", False))
        with ExitStack() as alone:
            if deaths or is_quick:
                alone.enter_context(self._quick)
            if deaths or not is_quick:
                alone.enter_context(self._slow)
            self._record(key)
            try:
                yield
            finally:
                with self._recording:
                    self._held.discard(key)

    def _deaths_of(self, key: str) -> int:
        with self._recording:
            if self._deaths is None:
                self._deaths = self._call("begin_life", self.life)
            return self._deaths.get(key, 0)

    def _record(self, key: str) -> None:
        """Under a lock, so that what is recorded last is what was held last."""
        with self._recording:
            self._held.add(key)
            self._call("hold", tuple(sorted(self._held)))

    def _call(self, method: str, argument: Any) -> Any:
        log = actor_named(self.death_log)
        return getattr(log, method).remote(f"{self.service} {self.number}", argument).future().result()


class _LazyService:
    """A service created at its first call, not in a constructor, so that errors keep their class."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._service: Callable[[Any], Any] | None = None

    def __call__(self) -> Callable[[Any], Any]:
        with self._lock:
            if self._service is None:
                self._service = self._make()
            return self._service


class _Server:
    def __init__(self, make: Callable[[], Callable[[Any], Any]], *guard: Any) -> None:
        self._service, self._guard = _LazyService(make), _CrashGuard(*guard)

    def ready(self) -> None:
        self._service()

    def serve(self, request: Any, key: str) -> Any:
        with self._guard.holding(request, key):
            return self._service()(request)


class _AsyncServer:
    def __init__(self, make: Callable[[], Callable[[Any], Future[Any]]]) -> None:
        self._service = _LazyService(make)
        self._in_flight: set[asyncio.Future[Any]] = set()

    async def ready(self) -> None:
        self._service()

    async def serve(self, request: Any, key: str) -> Any:
        answer = asyncio.wrap_future(self._service()(request))
        self._in_flight.add(answer)
        answer.add_done_callback(self._in_flight.discard)
        return await answer

    async def finish(self) -> None:
        while self._in_flight:
            await asyncio.wait(self._in_flight)
