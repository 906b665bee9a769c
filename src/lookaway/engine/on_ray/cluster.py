"""Joins a Ray cluster, or starts one on this machine for as long as it is needed."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from lookaway.core import MissingExtra, UserError


@dataclass(frozen=True, slots=True)
class Cluster:
    """Ray, connected."""

    ray: Any
    dashboard: str | None = None
    """Address of the page that shows what runs."""

    @property
    def cores(self) -> int:
        """All that it has, free or not."""
        return int(self.ray.cluster_resources().get("CPU", 0))


@contextmanager
def joined(address: str | None, *, cores: int) -> Iterator[Cluster]:
    """A cluster; `cores` are what one that is started here has to offer."""
    ray = _load()
    if ray.is_initialized():
        yield Cluster(ray)
        return
    address = address or os.environ.get("RAY_ADDRESS")
    quiet = {"configure_logging": True, "logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address:
            # In a namespace of its own, a run meets nobody else's actors.
            context = ray.init(address=address, namespace=f"lookaway-{uuid4().hex}", **quiet)
        else:
            context = ray.init(address="local", num_cpus=cores, include_dashboard=False, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        where = f"the Ray cluster at {address}" if address else "Ray on this machine"
        raise UserError(f"Cannot join {where}: {error}") from error
    try:
        yield Cluster(ray, context.dashboard_url and f"http://{context.dashboard_url}")
    finally:
        ray.shutdown()


def _load() -> Any:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("The executor `ray`", "ray") from error
    return ray
