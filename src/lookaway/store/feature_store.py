"""Features on disk, keyed by what they were perceived in and by the recipe that perceived them."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from lookaway.core import Feature, canonical_json
from lookaway.io.files import write_whole

DETAIL = "__detail__"


@dataclass(frozen=True, slots=True)
class FeatureStore:
    """Keeps features up to a size; larger ones are cheaper to compute again than to keep for every rollout."""

    root: Path
    most_bytes: int = 4 * 1024 * 1024

    def get(self, content: str, recipe: str) -> Feature | None:
        """A kept feature."""
        path = self._path(content, recipe)
        if not path.is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files if name != DETAIL}
                detail = json.loads(archive[DETAIL].tobytes())
        except (ValueError, OSError, KeyError, zipfile.BadZipFile, EOFError):
            return None  # a damaged disk costs one extraction, not the run
        return Feature(arrays, detail)

    def put(self, content: str, recipe: str, feature: Feature) -> None:
        """Keep a feature if it is small enough."""
        if feature.nbytes > self.most_bytes:
            return
        detail = np.frombuffer(canonical_json(dict(feature.detail)).encode(), np.uint8)

        def save(file: BinaryIO) -> None:
            np.savez(file, allow_pickle=False, **{**feature.arrays, DETAIL: detail})

        write_whole(self._path(content, recipe), save)

    def _path(self, content: str, recipe: str) -> Path:
        return self.root / recipe[:32] / content[:2] / f"{content}.npz"
