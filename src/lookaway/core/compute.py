"""Where networks run and how precisely, which moves numbers, and what a run may use of a machine, which does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias, get_args

from lookaway.core.errors import UnknownName, UserError

Precision: TypeAlias = Literal["float32", "bfloat16", "float16"]


@dataclass(frozen=True, slots=True)
class Compute:
    """Where a network runs, and how precisely."""

    device: Annotated[str, "`cpu`, `cuda` or `cuda:1`, as torch names devices"] = "cpu"
    precision: Annotated[Precision, "in which the network computes; `float16` is for GPUs"] = "float32"

    def __post_init__(self) -> None:
        if self.precision not in get_args(Precision):
            raise UnknownName("precision", self.precision, get_args(Precision))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """How many workers there are, where, and which networks they share."""

    workers: int | None = None
    """How many rollouts are worked on at once; `None` is as many as there are cores."""
    address: str | None = None
    """Of a Ray cluster that is already running; `None` starts one on this machine, for this run only."""
    gpus_per_worker: float | None = None
    """How much of a GPU each of those gets that hold networks; `None` is an equal share."""
    replicas: Mapping[str, int] = field(default_factory=dict)
    """How many processes share the work of an extractor, by its name; the others are loaded by every worker."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise UserError(f"{self.workers} workers cannot work; at least one is needed.")
        if self.gpus_per_worker is not None and not self.gpus_per_worker >= 0:
            raise UserError(f"{self.gpus_per_worker} GPUs for each worker; expected zero or more.")
        for name, count in self.replicas.items():
            if count < 1:
                raise UserError(f"{count} replicas of {name!r}; at least one is needed.")
