"""Object storage: read, write, list and remove objects, with retries.

Paths of `upath` report a server that does not answer as a missing file. A run that believed it would lose data, so only
these functions access object storage.
"""

from __future__ import annotations

import errno
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from lookaway.core import MissingExtra, RunError, StorageError, UserError

TRANSIENT_ERRNOS: Final = {errno.EBUSY, errno.EREMOTEIO}
TRANSIENT_CODES: Final = {"SlowDown", "RequestTimeout", "Throttling", "ThrottlingException", "RequestLimitExceeded"}
CHANGED_CODES: Final = {"PreconditionFailed", "412", "ConditionalRequestConflict", "NoSuchKey"}
SERVER_ERROR, NOT_IMPLEMENTED, TOO_MANY_REQUESTS = 500, 501, 429
NO_BUCKET: Final = "NoSuchBucket"
KEYS: Final = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


@contextmanager
def run_errors(what: str) -> Iterator[None]:
    """Turn an `OSError`, such as a full disk, into a `RunError`; errors of object storage pass through."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise RunError(f"{what}: {error}.") from error


def is_transient(error: Exception) -> bool:
    """Whether a retry may help: no answer, a server error, or too many requests."""
    from botocore import exceptions as boto  # type: ignore[import-untyped]
    from botocore.parsers import ResponseParserError  # type: ignore[import-untyped]

    answer = _answer(error)
    if answer is not None:
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        is_server_error = status >= SERVER_ERROR and status != NOT_IMPLEMENTED
        return is_server_error or status == TOO_MANY_REQUESTS or _code(error) in TRANSIENT_CODES
    if isinstance(error, boto.SSLError):
        return False
    no_answer = (boto.HTTPClientError, boto.ConnectionError, boto.IncompleteReadError, ResponseParserError)
    if isinstance(error, (ConnectionError, TimeoutError, *no_answer)):
        return True
    return isinstance(error, OSError) and error.errno in TRANSIENT_ERRNOS


def to_user_error(error: Exception, path: Path) -> Exception:
    """The message for a permanent error; a missing file, and bugs, stay what they are."""
    from botocore import exceptions as boto

    code, bucket = _code(error), str(path).partition("://")[2].partition("/")[0]
    if code == NO_BUCKET:
        return StorageError(f"s3://{bucket}: there is no such bucket. Create it, or choose another one.")
    if isinstance(error, (StorageError, FileNotFoundError)) or not isinstance(
        error, (OSError, ValueError, boto.BotoCoreError, boto.ClientError)
    ):
        return error
    if isinstance(error, (boto.NoCredentialsError, boto.PartialCredentialsError)):
        return StorageError(f"{path}: no credentials for object storage. Set {KEYS}.")
    if isinstance(error, PermissionError):
        return StorageError(f"{path}: object storage denies access ({code}). Check {KEYS}, and the bucket policy.")
    return StorageError(f"{path}: object storage cannot be used ({code}). Check the URL and AWS_ENDPOINT_URL.")


def _code(error: Exception) -> str:
    """The name of an error. Its message may contain a URL with a password, so it is not shown."""
    answer = _answer(error)
    return str(answer.get("Error", {}).get("Code", "")) if answer else type(error).__name__


def _answer(error: Exception) -> dict[str, Any] | None:
    """The server's response, if there was one."""
    for cause in _causes(error):
        answer = getattr(cause, "response", None)
        if isinstance(answer, dict):
            return answer
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


T = TypeVar("T")

MAX_RETRY_SECONDS = 600.0
"""Long enough for a server to restart, short enough to fail within the hour."""
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 15.0


def retry(what: str, call: Callable[[], T]) -> T:
    """Call object storage, and retry transient errors with growing waits."""
    started, tries = time.monotonic(), 0
    while True:
        tries += 1
        try:
            return call()
        except Exception as error:
            if not is_transient(error):
                raise
            wait = min(FIRST_WAIT_SECONDS * 2.0 ** min(tries - 1, 10), LONGEST_WAIT_SECONDS)
            wait *= random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret
            waited = time.monotonic() - started
            if waited + wait > MAX_RETRY_SECONDS:
                raise StorageError(
                    f"{what}: object storage did not answer for {waited:.0f} seconds, {tries} tries "
                    f"({type(error).__name__}). Check AWS_ENDPOINT_URL and the network. Finished work is kept; run the "
                    "same command to resume."
                ) from error
        time.sleep(wait)


Item = TypeVar("Item")

AT_ONCE: Final = 16
"""Concurrent requests when many objects are read or removed."""
PAGE: Final = 1000
"""Objects in one page of a listing."""
_STORAGES: Final[dict[tuple[int, str, str], Any]] = {}
_GUARD: Final = threading.Lock()


def read_object(path: Path, start: int | None = None, end: int | None = None) -> bytes:
    """The content, or a range of it; raises a `FileNotFoundError` if there is no such object."""
    # With one request per object its size is not requested first.
    options = {"start": start, "end": end, "max_concurrency": 1}
    return bytes(_ask("reading", path, lambda: _storage(path).cat_file(str(path), **options)))


def write_object(path: Path, content: bytes) -> None:
    """Write an object atomically."""
    _ask("writing", path, lambda: _storage(path).pipe_file(str(path), content))


def object_version(path: Path) -> str | None:
    """The entity tag of an object, which changes with its content; `None` if there is no such object."""
    try:
        return str(_ask("finding", path, lambda: _storage(path).info(str(path), refresh=True))["ETag"])
    except FileNotFoundError:
        return None


def write_object_if(path: Path, content: bytes, version: str | None) -> str | None:
    """Write an object if it still has this version, or, with `None`, if there is none yet.

    Returns the new version; `None` if somebody else has written it since.
    """
    condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}

    def write() -> Any:
        bucket, key, _ = _storage(path).split_path(str(path))
        return _storage(path).call_s3("put_object", Bucket=bucket, Key=key, Body=content, **condition)

    try:
        return str(_ask("writing", path, lambda: _unless_changed(write))["ETag"])
    except _Changed:
        return None


class _Changed(Exception):
    """An object is not what a conditional request expects."""


def _unless_changed(request: Callable[[], T]) -> T:
    try:
        return request()
    except Exception as error:
        if _code(error) in CHANGED_CODES:
            raise _Changed from error
        raise


def is_object(path: Path) -> bool:
    """Whether there is such an object."""
    try:
        return bool(_ask("finding", path, lambda: _storage(path).info(str(path)))["type"] == "file")
    except FileNotFoundError:
        return False


def object_sizes(folder: Path) -> dict[Path, int]:
    """Every object directly in a folder, with its size; none if there is no folder."""
    found = _listed(folder)
    if len(found) >= PAGE:
        # Long listings have several pages, and what is merged between two requests may be in neither.
        found |= _listed(folder)
    return found


def objects_below(folder: Path) -> list[Path]:
    """Every object in a folder and the folders in it; none if there is no folder."""
    own = str(folder).partition("://")[2].rstrip("/") + "/"
    try:
        names = _ask("listing", folder, lambda: _storage(folder).find(str(folder)))
    except FileNotFoundError:
        return []
    return [folder / name.removeprefix(own) for name in names if name.startswith(own)]


def remove_object(path: Path) -> None:
    """Remove an object, if it is there."""
    _ask("removing", path, lambda: _storage(path).rm_file(str(path)))


def for_all(do: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    """The results of many concurrent requests."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="objects") as pool:
        return list(pool.map(do, items))


def _listed(folder: Path) -> dict[Path, int]:
    try:
        entries = _ask("listing", folder, lambda: _storage(folder).ls(str(folder), detail=True, refresh=True))
    except FileNotFoundError:
        return {}
    sizes, own = {}, str(folder).partition("://")[2].rstrip("/")
    for entry in entries:
        above, _, name = entry["name"].rpartition("/")
        # An object that has the folder's own name is listed where the folder is empty.
        if name and entry["type"] == "file" and above == own:
            sizes[folder / name] = entry["size"]
    return sizes


def _ask(doing: str, path: Path, call: Callable[[], Any]) -> Any:
    try:
        return retry(f"{doing} {path}", call)
    except Exception as error:
        shown = to_user_error(error, path)
        if shown is error:
            raise
        raise shown from error


def _storage(path: Path) -> Any:
    """The file system, shared by all threads of this process, since each has its own connections."""
    where: Any = path
    known = (os.getpid(), where.protocol, repr(sorted(where.storage_options.items())))
    with _GUARD:
        if known not in _STORAGES:
            from fsspec import filesystem  # type: ignore[import-untyped]

            _STORAGES[known] = filesystem(where.protocol, **where.storage_options)
            _STORAGES[known].retries = 1  # retries happen in `retry` alone
        return _STORAGES[known]


OBJECT_STORAGE: Final = "s3"
OPTIONS: Final[dict[str, Any]] = {
    # What others write must be visible at once, so no listing is cached.
    "use_listings_cache": False,
    # Retries happen in `retry` alone: hidden ones would only add to its waits.
    "config_kwargs": {"retries": {"max_attempts": 0}},
}


def as_path(where: Path | str) -> Path:
    """A path on disk, or on object storage such as `s3://bucket/run`."""
    if not isinstance(where, str) or "://" not in where:
        return where if not isinstance(where, str) else Path(where)
    protocol, _, address = where.partition("://")
    bucket = address.partition("/")[0]
    if protocol != OBJECT_STORAGE or not bucket:
        found = f"{protocol}://" if "@" in where else where  # the part before an @ may be a password
        raise UserError(f"{found}: expected a folder, or a URL such as s3://bucket/run.")
    if "@" in bucket:
        raise UserError("A URL must not contain credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
    try:
        from upath import UPath
    except ImportError as error:
        raise MissingExtra("A run on object storage", "s3") from error
    # Some requests treat an empty part of a path as a folder, others ignore it.
    return cast(Path, UPath("/".join([f"{protocol}:/", *filter(None, address.split("/"))]), **OPTIONS))


def is_remote(path: Path) -> bool:
    """Whether it is on object storage."""
    return not isinstance(path, Path)
