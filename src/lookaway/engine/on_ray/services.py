"""What workers share, each copy in an actor of its own, and the desks where they hand in requests."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lookaway.core import Desk, RunError, Service

RETRIES = 3
"""How often a request is answered anew when the copy that had it dies."""


@contextmanager
def desks_of(ray: Any, services: Mapping[str, Service], gpus_per_copy: float | None) -> Iterator[dict[str, Desk]]:
    """Every copy of every service, started and ready; they end with the work."""
    gpus = _share_of_gpus(ray, services, gpus_per_copy)
    copies = {
        name: [_start(ray, service, gpus if service.wants_gpu else 0.0) for _ in range(service.copies)]
        for name, service in services.items()
    }
    try:
        for name, actors in copies.items():
            _await(ray, name, actors)
        yield {name: RayDesk(actors) for name, actors in copies.items()}
    finally:
        for actor in (actor for actors in copies.values() for actor in actors):
            ray.kill(actor)


@dataclass(slots=True)
class RayDesk:
    """Gives requests to the copies of a service in turn."""

    copies: Sequence[Any]
    _next: int | None = None

    def __call__(self, request: Any) -> Future[Any]:
        """The answer, or what kept it from being given, as it would be in this process."""
        # Workers begin with different copies, so that they do not all wait for the same one.
        position = random.randrange(len(self.copies)) if self._next is None else self._next  # noqa: S311
        self._next = (position + 1) % len(self.copies)
        answer: Future[Any] = Future()
        reference = self.copies[position].serve.remote(request)
        reference.future().add_done_callback(lambda done: _pass_on(done, answer))
        return answer


def cores_of(services: Mapping[str, Service]) -> int:
    """What all copies take together; those that wait for a GPU or for others take next to nothing."""
    return sum(service.copies * _cores(service) for service in services.values())


def _cores(service: Service) -> int:
    return 0 if service.wants_gpu or service.at_once else 1


def _await(ray: Any, name: str, actors: Sequence[Any]) -> None:
    try:
        ray.get([actor.ready.remote() for actor in actors])
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except (ray.exceptions.RayActorError, ray.exceptions.RuntimeEnvSetupError) as error:
        raise RunError(f"The actors of {name} could not be started: {error}") from error


def _start(ray: Any, service: Service, gpus: float) -> Any:
    kind = _Server if service.at_once is None else _AsyncServer
    options: dict[str, Any] = {"num_cpus": _cores(service), "num_gpus": gpus}
    if service.at_once is not None:
        options["max_concurrency"] = service.at_once
    if service.python is not None:
        options["runtime_env"] = {"py_executable": service.python}
    return ray.remote(max_restarts=-1, max_task_retries=RETRIES, **options)(kind).remote(service.make)


def _share_of_gpus(ray: Any, services: Mapping[str, Service], asked: float | None) -> float:
    """How much of a GPU each copy gets; a cluster that can never give it is told so before anybody waits for it."""
    copies = sum(service.copies for service in services.values() if service.wants_gpu)
    if not copies:
        return 0.0
    found = ray.cluster_resources().get("GPU", 0.0)
    share = asked if asked is not None else min(1.0, math.floor(100 * found / copies) / 100)
    if share * copies > found or (asked is None and share == 0):
        raise RunError(
            f"{copies} networks on GPUs need {(asked or 1) * copies:g} GPUs, found {found:g}. "
            "Lower --gpus-per-worker or --actors, or run on --device cpu."
        )
    return share


def _pass_on(done: Future[Any], answer: Future[Any]) -> None:
    error = done.exception()
    if error is None:
        answer.set_result(done.result())
    else:
        answer.set_exception(getattr(error, "cause", None) or error)


class _Server:
    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        self._answer = make()

    def ready(self) -> None:
        """Everything is loaded."""

    def serve(self, request: Any) -> Any:
        return self._answer(request)


class _AsyncServer:
    def __init__(self, make: Callable[[], Callable[[Any], Future[Any]]]) -> None:
        self._answer = make()

    async def ready(self) -> None:
        """Everything is loaded."""

    async def serve(self, request: Any) -> Any:
        return await asyncio.wrap_future(self._answer(request))
