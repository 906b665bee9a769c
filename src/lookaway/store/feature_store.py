"""Stores features, keyed by content and recipe."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Feature, StorageError, canonical_json
from lookaway.io.files import read_bytes, write_whole
from lookaway.io.object_storage import is_remote, run_errors

ARRAY, FACTS = "array.", "facts"
"""Prefix of array names, so that none clashes with ours or NumPy's."""


@dataclass(frozen=True, slots=True)
class FeatureStore:
    """Stores features up to a size; larger ones are cheaper to compute again."""

    root: Path
    max_bytes: int = 4 * 1024 * 1024

    def get(self, content: str, recipe: str) -> Feature | None:
        """A stored feature; `None` if it is missing or damaged."""
        path = self._path(content, recipe)
        if not is_remote(path) and not path.is_file():
            return None
        try:
            with io.BytesIO(read_bytes(path)) as file, np.load(file, allow_pickle=False) as archive:
                facts = json.loads(archive[FACTS].tobytes())
                return Feature({name: archive[ARRAY + name] for name in facts["arrays"]}, facts["detail"])
        except StorageError:
            raise
        except Exception:  # noqa: BLE001 - damage can raise anything, and costs one extraction, not the run
            return None

    def put(self, content: str, recipe: str, feature: Feature) -> int:
        """Store a feature if it is small enough; returns the number of stored bytes."""
        if feature.nbytes > self.max_bytes:
            return 0
        facts = canonical_json({"arrays": list(feature.arrays), "detail": dict(feature.detail)})
        arrays: dict[str, NDArray[Any]] = {ARRAY + name: array for name, array in feature.arrays.items()}

        def save(file: BinaryIO) -> None:
            np.savez(file, allow_pickle=False, **{FACTS: np.frombuffer(facts.encode(), np.uint8), **arrays})

        path = self._path(content, recipe)
        with run_errors(f"{path.parent}: features cannot be stored here"):
            # Damage by a power cut is detected by a checksum and computed again; durable writes would cost
            # milliseconds for every feature of every rollout.
            write_whole(path, save, is_durable=False)
        return feature.nbytes

    def _path(self, content: str, recipe: str) -> Path:
        return self.root / recipe[:32] / content[:2] / f"{content}.npz"
