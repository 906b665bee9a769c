"""Keeps the paths that a dataset names inside the dataset."""

from __future__ import annotations

import os
from pathlib import Path

from lookaway.core import Reason, UnsafePath


def inside(root: Path, path: str, *, base: Path | None = None, allow_outside: bool = False) -> Path:
    """The file that a dataset names, or an `UnsafePath` where it lies outside the dataset's root.

    Links are followed before the question is asked. `base` is the folder that relative paths start from.
    """
    if not path:
        raise UnsafePath(Reason.UNSAFE_PATH, "the path is empty.")
    named = os.path.join(base or root, path)
    try:
        os.lstat(named)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # the reader of the file will say so
    except (OSError, ValueError) as error:  # too long, a ring of links, NUL, half a surrogate pair
        raise UnsafePath(Reason.UNSAFE_PATH, f"the path {path[:80]!r} cannot be a path ({error}).") from error
    if allow_outside:
        return Path(os.path.normpath(named))
    real = Path(os.path.realpath(named))
    if not real.is_relative_to(os.path.realpath(root)):
        raise UnsafePath(
            Reason.UNSAFE_PATH,
            f"the path {path!r} leads out of the dataset. Move the file into it, or allow it with --allow-outside.",
        )
    return real
