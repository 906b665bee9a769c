"""Keeps the paths that a dataset names inside the dataset."""

from __future__ import annotations

import os
from pathlib import Path

from lookaway.core import Reason, UnsafePath


def inside(root: Path, path: str, *, base: Path | None = None, allow_outside: bool = False) -> Path:
    """The file that a dataset names, or an `UnsafePath` where it lies outside the dataset's root.

    Links are followed before the question is asked. `base` is the folder that relative paths start from.
    """
    if "\0" in path:
        raise UnsafePath(Reason.UNSAFE_PATH, f"the path {path!r} holds a NUL character.")
    named = os.path.join(base or root, path)
    if allow_outside:
        return Path(os.path.normpath(named))
    real_root, real = os.path.realpath(root), os.path.realpath(named)
    if real != real_root and not real.startswith(real_root + os.sep):
        raise UnsafePath(
            Reason.UNSAFE_PATH,
            f"the path {path!r} leads out of the dataset. Move the file into it, or allow it with --allow-outside.",
        )
    return Path(real)
