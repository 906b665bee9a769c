"""Stores features, keyed by content and recipe."""

from __future__ import annotations

import io
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lookaway.core import DamagedFile, Feature, StorageError, canonical_json
from lookaway.io.checksums import byte_hash
from lookaway.io.files import read_bytes, write_whole
from lookaway.io.object_storage import run_errors

ARRAY, FACTS = "array.", "facts"
"""Prefix of array names, so that none clashes with ours or NumPy's."""
SUFFIX = ".npz"
SEAL, SEAL_BYTES = b"blake2b:", 40
END = b"PK\x05\x06"
"""Begins the last 22 bytes of an `.npz` file; where it does not, the hash after them was cut."""
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FeatureStore:
    """Stores features up to a size; larger ones are cheaper to compute again."""

    root: Path
    max_bytes: int = 4 * 1024 * 1024

    def get(self, content: str, recipe: str) -> Feature | None:
        """A stored feature; `None` if it is missing or damaged."""
        path = self._path(content, recipe)
        try:
            return read_feature(path, read_bytes(path))
        except StorageError:
            raise
        except OSError:  # most often there is no such file
            return None
        except DamagedFile as error:
            LOG.warning("%s", error)
            return None

    def has(self, recipe: str) -> bool:
        """Whether a folder on disk holds any feature of a recipe."""
        return (self.root / recipe[:32]).is_dir()

    def put(self, content: str, recipe: str, feature: Feature) -> int:
        """Store a feature if it is small enough; returns the number of stored bytes."""
        if feature.nbytes > self.max_bytes:
            return 0
        facts = canonical_json({"arrays": list(feature.arrays), "detail": dict(feature.detail)})
        arrays: dict[str, NDArray[Any]] = {ARRAY + name: array for name, array in feature.arrays.items()}

        path = self._path(content, recipe)

        def save(file: BinaryIO) -> None:
            packed = io.BytesIO()
            np.savez(packed, allow_pickle=False, **{FACTS: np.frombuffer(facts.encode(), np.uint8), **arrays})
            file.write(packed.getbuffer())
            file.write(_seal(path, packed.getvalue()))

        with run_errors(f"{path.parent}: features cannot be stored here"):
            # Damage by a power cut is detected by the hash and computed again; durable writes would cost
            # milliseconds for every feature of every rollout.
            write_whole(path, save, is_durable=False)
        return feature.nbytes

    def _path(self, content: str, recipe: str) -> Path:
        return self.root / recipe[:32] / content[:2] / f"{content}{SUFFIX}"


def read_feature(path: Path, content: bytes) -> Feature:
    """The feature in a file with this content; raises `DamagedFile` if it is not as it was written, or elsewhere."""
    packed = content[:-SEAL_BYTES] if has_seal(content) else content
    is_whole = _seal(path, packed) == content[-SEAL_BYTES:] if has_seal(content) else packed[-22:].startswith(END)
    if not is_whole:
        raise DamagedFile(f"{path}: the stored feature is damaged, and is computed again.")
    try:
        with io.BytesIO(packed) as file, np.load(file, allow_pickle=False) as archive:
            facts = json.loads(archive[FACTS].tobytes())
            return Feature({name: archive[ARRAY + name] for name in facts["arrays"]}, facts["detail"])
    except Exception as error:
        raise DamagedFile(f"{path}: the stored feature cannot be read, and is computed again.") from error


def has_seal(content: bytes) -> bool:
    """Whether a stored feature ends with its hash; those of older versions do not."""
    return content[-SEAL_BYTES:].startswith(SEAL)


def _seal(path: Path, packed: bytes) -> bytes:
    """The end of the file: a hash of recipe, content and feature."""
    where = f"{path.parent.parent.name}/{path.name}/".encode()
    return SEAL + byte_hash(where + packed).encode()
