"""Connects to a Ray cluster, or starts one on this machine for the duration of the work."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import uuid4

from lookaway.core import MissingExtra, UserError

FOLDERS = ("LOOKAWAY_HOME", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME")
STARTS = 3
"""How often Ray is started before it is given up."""
ADDRESSES = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", "HF_HUB_OFFLINE")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A connection to Ray."""

    ray: Any
    dashboard: str | None = None
    """Address of the Ray dashboard."""

    @property
    def cores(self) -> int:
        """All cores of the cluster, free or not."""
        return int(self.ray.cluster_resources().get("CPU", 0))


@contextmanager
def connect(address: str | None, *, cores: int) -> Iterator[Cluster]:
    """Connect to a cluster, or start one with these `cores` on this machine."""
    ray = _load()
    if ray.is_initialized():
        yield Cluster(ray)
        return
    address = address or os.environ.get("RAY_ADDRESS")
    quiet = {"configure_logging": True, "logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address:
            # In its own namespace, a run does not see the actors of others.
            namespace, variables = f"lookaway-{uuid4().hex}", {"env_vars": variables_of_workers(os.environ)}
            context = ray.init(address=address, namespace=namespace, runtime_env=variables, **quiet)
        else:
            context = start_local(ray, num_cpus=cores, include_dashboard=False, **quiet)
    except Exception as error:  # Ray raises bare Exceptions too
        where = f"the Ray cluster at {address}" if address else "Ray on this machine"
        raise UserError(f"Cannot connect to {where}: {error}") from error
    try:
        yield Cluster(ray, context.dashboard_url and f"http://{context.dashboard_url}")
    finally:
        ray.shutdown()


def start_local(ray: Any, **options: Any) -> Any:
    """Start Ray on this machine.

    Ray gives up when its own agents take more than 15 seconds to start, which happens on a busy machine.
    """
    for _ in range(STARTS - 1):
        try:
            return ray.init(address="local", **options)
        except Exception:  # noqa: BLE001 - Ray raises bare Exceptions; the last one is raised
            ray.shutdown()
    return ray.init(address="local", **options)


def variables_of_workers(given: Mapping[str, str]) -> dict[str, str]:
    """Environment variables of the user that workers of an existing cluster need.

    A cluster shows them on its dashboard, so API keys, and addresses that may contain them, are left out; set these
    where the cluster is started.
    """
    folders = {name: os.path.abspath(os.path.expanduser(given[name])) for name in FOLDERS if given.get(name)}
    return folders | {name: given[name] for name in ADDRESSES if given.get(name) and "@" not in given[name]}


@cache
def actor_named(name: str) -> Any:
    """An actor of this run, by name."""
    return _load().get_actor(name)


def _load() -> Any:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("The executor `ray`", "ray") from error
    return ray
