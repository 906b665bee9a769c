"""Where a run is kept: a folder on disk, or one on object storage."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from lookaway.core import MissingExtra


def place(where: Path | str) -> Path:
    """A path on disk, or one on object storage such as `s3://bucket/run`, which is used like a path."""
    if not isinstance(where, str) or "://" not in where:
        return where if not isinstance(where, str) else Path(where)
    try:
        from upath import UPath
    except ImportError as error:
        raise MissingExtra("A run on object storage", "s3") from error
    # What others write must be seen at once, so no listing is remembered.
    return cast(Path, UPath(where, use_listings_cache=False))


def is_remote(path: Path) -> bool:
    """Whether it lies on object storage."""
    return not isinstance(path, Path)
