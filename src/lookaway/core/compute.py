"""Device and precision of networks, which change numbers, and resources of a run, which do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias, get_args

from lookaway.core.errors import UnknownName, UserError

Precision: TypeAlias = Literal["float32", "bfloat16", "float16"]


@dataclass(frozen=True, slots=True)
class Compute:
    """Device and precision of a network."""

    device: Annotated[str, "`cpu`, `cuda` or `cuda:1`, as torch names devices"] = "cpu"
    precision: Annotated[Precision, "precision of the network; `float16` is for GPUs"] = "float32"

    def __post_init__(self) -> None:
        if self.precision not in get_args(Precision):
            raise UnknownName("precision", self.precision, get_args(Precision))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Workers of a run, where they run, and which networks they share."""

    workers: int | None = None
    """Number of rollouts measured at once; `None` is one per core."""
    address: str | None = None
    """Address of a running Ray cluster; `None` starts one on this machine for this run."""
    gpus_per_worker: float | None = None
    """GPUs for each process that runs networks; `None` is an equal share."""
    replicas: Mapping[str, int] = field(default_factory=dict)
    """Number of processes that run an extractor, by its name; other extractors are loaded by every worker."""
    rollout_seconds: float | None = None
    """How long a worker may work on one rollout; `None` is a generous limit where workers are processes, else none."""
    rollout_memory: int | None = None
    """Bytes that a worker may hold while it measures one rollout, networks included; `None` as for the time."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise UserError(f"{self.workers} workers; at least one is needed.")
        if self.gpus_per_worker is not None and not self.gpus_per_worker >= 0:
            raise UserError(f"{self.gpus_per_worker} GPUs for each worker; expected zero or more.")
        if self.rollout_seconds is not None and not self.rollout_seconds > 0:
            raise UserError(f"{self.rollout_seconds} seconds for each rollout; expected more than zero.")
        if self.rollout_memory is not None and self.rollout_memory < 1:
            raise UserError(f"{self.rollout_memory} bytes for each rollout; at least one is needed.")
        for name, count in self.replicas.items():
            if count < 1:
                raise UserError(f"{count} replicas of {name!r}; at least one is needed.")
