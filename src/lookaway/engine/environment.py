"""What computes in this process: versions of compiled libraries, instruction sets, BLAS kernels.

It is recorded beside the lock and not hashed: the same lock on another processor measures the same thing, and moves a
few metrics by a little. `reports/lock_explanations.py` says by how much.
"""

from __future__ import annotations

import ctypes
import platform
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from lookaway.core import Json
from lookaway.io.video import ffmpeg_version
from lookaway.perception.opencv import load_opencv

MAPPED = Path("/proc/self/maps")
CORE_NAMES = tuple(
    f"{prefix}openblas_get_corename{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "_64", "")
)
"""What builds of OpenBLAS call the function that names the kernel in use."""


@cache
def environment() -> dict[str, Json]:
    """What may move a number of this process by a little, as text."""
    opencv = load_opencv()
    return {
        "machine": platform.machine(),
        "opencv": opencv.__version__,
        "opencv_features": features_in_use(opencv.getCPUFeaturesLine()),
        "ffmpeg": ffmpeg_version(),
        "numpy_features": _numpy_features(),
        "blas": " ".join(blas_kernels()) or "unknown",
    }


def features_in_use(line: str) -> str:
    """Instruction sets that OpenCV uses: those that it was built for and that the processor has.

    >>> features_in_use("SSE SSE2 *SSE4.1 *AVX2? *AVX512-SKX?")
    'SSE SSE2 SSE4.1'
    """
    return " ".join(name.lstrip("*") for name in line.split() if not name.endswith("?"))


def _numpy_features() -> str:
    simd = np.show_config(mode="dicts").get("SIMD Extensions", {})
    return " ".join([*simd.get("baseline", []), *simd.get("found", [])])


def blas_kernels() -> list[str]:
    """The kernels of the OpenBLAS libraries that are loaded, such as `SkylakeX`; none where that is not known."""
    return sorted({name for library in _loaded("openblas") if (name := _kernel(library))})


def _loaded(name: str) -> Iterator[str]:
    """Files of the loaded libraries with this name."""
    try:
        lines = MAPPED.read_text(errors="replace").splitlines()
    except OSError:
        return
    found = re.compile(rf"(/\S*{name}\S*\.so\S*)$")
    yield from sorted({match[1] for line in lines if (match := found.search(line))})


def _kernel(library: str) -> str:
    try:
        loaded = ctypes.CDLL(library)
    except OSError:
        return ""
    for name in CORE_NAMES:
        if (function := getattr(loaded, name, None)) is not None:
            function.restype = ctypes.c_char_p
            return (function() or b"").decode(errors="replace")
    return ""
