"""Features of a rollout: named arrays that can be stored and shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core.lock import Json

Floats: TypeAlias = NDArray[np.floating[Any]]
Indices: TypeAlias = NDArray[np.int64]
Pixels: TypeAlias = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Feature:
    """Named arrays with details."""

    arrays: Mapping[str, NDArray[Any]]
    detail: Mapping[str, Json] = field(default_factory=dict)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    @property
    def nbytes(self) -> int:
        """Size of all arrays together."""
        return sum(array.nbytes for array in self.arrays.values())


Features: TypeAlias = Mapping[str, Feature]
