"""Arrays as the bytes of the files that models read."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray


def npy_bytes(array: NDArray[Any]) -> bytes:
    """A `.npy` file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def npz_bytes(**arrays: NDArray[Any]) -> bytes:
    """A `.npz` file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()
