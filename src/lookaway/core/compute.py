"""Where networks run, and how precisely: both move numbers, so recipes hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias, get_args

from lookaway.core.errors import UnknownName

Precision: TypeAlias = Literal["float32", "bfloat16", "float16"]


@dataclass(frozen=True, slots=True)
class Compute:
    """Where a network runs, and how precisely."""

    device: Annotated[str, "`cpu`, `cuda` or `cuda:1`, as torch names devices"] = "cpu"
    precision: Annotated[Precision, "in which the network computes; `float16` is for GPUs"] = "float32"

    def __post_init__(self) -> None:
        if self.precision not in get_args(Precision):
            raise UnknownName("precision", self.precision, get_args(Precision))
