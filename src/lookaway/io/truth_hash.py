"""SHA-256 of what is true in a clip: of values, not of files, which encoders may write in other ways."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def hash_pictures(pictures: Iterable[NDArray[Any]]) -> str:
    """Of pictures in their order, each with its type and shape."""
    digest = hashlib.sha256()
    for picture in pictures:
        _add(digest, picture)
    return digest.hexdigest()


def hash_arrays(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Of named arrays, in the order of their names, each with its type and shape."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} ".encode())
        _add(digest, arrays[name])
    return digest.hexdigest()


def _add(digest: hashlib._Hash, array: NDArray[Any]) -> None:
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    digest.update(f"{little.dtype.str} {array.shape}\n".encode())
    digest.update(little.data)
