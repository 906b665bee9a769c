"""Runs work on Ray: the cores of this machine, or a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from lookaway.core import GaveUp, Resources, Service, ServiceClients
from lookaway.engine.on_ray.cluster import joined
from lookaway.engine.on_ray.services import cores_of, start_services
from lookaway.engine.on_ray.worker_pool import WorkerPool

Item = TypeVar("Item")
Result = TypeVar("Result")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "LP_NUM_THREADS": "0"}
"""Linear algebra, and the software renderer of the simulated world."""


class RayExecutor:
    """So many workers, each made once; an item whose worker dies is tried again by another one."""

    name = "ray"
    has_services = True

    def __init__(self, resources: Resources | None = None) -> None:
        self._resources = resources or Resources()
        self.dashboard: str | None = None
        self._crew: WorkerPool | None = None

    @property
    def workers(self) -> int:
        """As many as were asked for; by default as many as there are cores, which of a cluster is known once it is
        joined."""
        return self._crew.size if self._crew else self._resources.workers or os.cpu_count() or 1

    @property
    def deaths(self) -> int:
        """Of workers, in the work that is being done or was done last."""
        return self._crew.deaths if self._crew else 0

    @property
    def retries(self) -> int:
        """Items that were handed out again, in the work that is being done or was done last."""
        return self._crew.retries if self._crew else 0

    def map(
        self,
        make_worker: Callable[[ServiceClients], Callable[[Item], Result]],
        items: Iterable[Item],
        *,
        at_once: int = 1,
        services: Mapping[str, Service] | None = None,
    ) -> Iterator[Result | GaveUp[Item]]:
        """Results in the order in which they are finished."""
        services = services or {}
        gpus = self._resources.gpus_per_worker
        networks_are_shared = any(service.wants_gpu for service in services.values())
        options = {"num_cpus": 1, "num_gpus": 0 if networks_are_shared else gpus or 0, "max_concurrency": at_once}
        with (
            joined(self._resources.address, cores=self._resources.workers or os.cpu_count() or 1) as cluster,
            start_services(cluster.ray, services, gpus) as clients,
        ):
            self.dashboard = cluster.dashboard
            kind = cluster.ray.remote(**options)(_Worker)
            size = self._resources.workers or max(1, cluster.cores - cores_of(services))
            self._crew = WorkerPool(cluster.ray, lambda: kind.remote(make_worker, clients), size, at_once)
            yield from self._crew.results(iter(items))


class _Worker:
    def __init__(self, make_worker: Callable[[ServiceClients], Callable[[Any], Any]], clients: ServiceClients) -> None:
        # Libraries that start a thread per core would fight each other; the parallelism is over items.
        os.environ.update(ONE_THREAD)
        self._make, self._desks = make_worker, clients

    def ready(self) -> None:
        """Make what works: not in the constructor, so that an error keeps its class."""
        self._work = self._make(self._desks)

    def work(self, item: Any) -> Any:
        return self._work(item)
