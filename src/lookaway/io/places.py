"""Where a run is kept: a folder on disk, or one on object storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

from lookaway.core import MissingExtra, UserError

OBJECT_STORAGE: Final = "s3"
OPTIONS: Final[dict[str, Any]] = {
    # What others write must be seen at once, so no listing is remembered.
    "use_listings_cache": False,
    # Patience is ours, and one place has it: tries hidden below it would only add to its waits.
    "config_kwargs": {"retries": {"max_attempts": 0}},
}


def place(where: Path | str) -> Path:
    """A path on disk, or one on object storage such as `s3://bucket/run`, which is used like a path."""
    if not isinstance(where, str) or "://" not in where:
        return where if not isinstance(where, str) else Path(where)
    protocol, _, address = where.partition("://")
    bucket = address.partition("/")[0]
    if protocol != OBJECT_STORAGE or not bucket:
        found = f"{protocol}://" if "@" in where else where  # what stands before an @ may be a password
        raise UserError(f"{found}: expected a folder, or one on object storage such as s3://bucket/run.")
    if "@" in bucket:
        raise UserError("An address of object storage holds no keys. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
    try:
        from upath import UPath
    except ImportError as error:
        raise MissingExtra("A run on object storage", "s3") from error
    # An empty part of a path would be a folder of its own to some requests, and nothing to others.
    return cast(Path, UPath("/".join([f"{protocol}:/", *filter(None, address.split("/"))]), **OPTIONS))


def is_remote(path: Path) -> bool:
    """Whether it lies on object storage."""
    return not isinstance(path, Path)
