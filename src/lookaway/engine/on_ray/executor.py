"""The executor that runs on Ray: on the cores of this machine, or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from lookaway.core import GaveUp, LastResult, Resources, Service, ServiceClients
from lookaway.engine.on_ray.cluster import connect
from lookaway.engine.on_ray.services import cores_of, start_services
from lookaway.engine.on_ray.worker_pool import WorkerPool

Item = TypeVar("Item")
Result = TypeVar("Result")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "LP_NUM_THREADS": "0"}
"""Linear algebra, and the software renderer of the simulated world."""


class RayExecutor:
    """A pool of workers; an item whose worker dies is retried by another one."""

    name = "ray"
    has_services = True
    can_end_workers = True

    def __init__(self, resources: Resources | None = None) -> None:
        self._resources = resources or Resources()
        self.dashboard: str | None = None
        self._pool: WorkerPool | None = None

    @property
    def workers(self) -> int:
        """The requested number, by default the number of cores, which is known once a cluster is connected."""
        return self._pool.size if self._pool else self._resources.workers or os.cpu_count() or 1

    @property
    def deaths(self) -> int:
        """Workers that died in the current or last `map`."""
        return self._pool.deaths if self._pool else 0

    @property
    def retries(self) -> int:
        """Items that were retried in the current or last `map`."""
        return self._pool.retries if self._pool else 0

    def map(
        self,
        make_worker: Callable[[ServiceClients], Callable[[Item], Result | LastResult[Result]]],
        items: Iterable[Item],
        *,
        at_once: int = 1,
        services: Mapping[str, Service] | None = None,
    ) -> Iterator[Result | GaveUp[Item]]:
        """Results in order of completion."""
        services = services or {}
        gpus = self._resources.gpus_per_worker
        networks_are_shared = any(service.wants_gpu for service in services.values())
        options = {"num_cpus": 1, "num_gpus": 0 if networks_are_shared else gpus or 0, "max_concurrency": at_once}
        with (
            connect(self._resources.address, cores=self._resources.workers or os.cpu_count() or 1) as cluster,
            start_services(cluster.ray, services, gpus) as clients,
        ):
            self.dashboard = cluster.dashboard
            kind = cluster.ray.remote(**options)(_Worker)
            size = self._resources.workers or max(1, cluster.cores - cores_of(services))
            self._pool = WorkerPool(cluster.ray, lambda: kind.remote(make_worker, clients), size, at_once)
            yield from self._pool.results(iter(items))


class _Worker:
    def __init__(self, make_worker: Callable[[ServiceClients], Callable[[Any], Any]], clients: ServiceClients) -> None:
        # Items run in parallel, so libraries must not start a thread per core.
        os.environ.update(ONE_THREAD)
        self._make, self._clients = make_worker, clients

    def ready(self) -> None:
        """Create the worker: not in the constructor, so that an error keeps its class."""
        self._work = self._make(self._clients)

    def work(self, item: Any) -> Any:
        return self._work(item)
