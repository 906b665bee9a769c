"""Objects in place of files: read, written, listed and removed whole, and patiently.

The paths of `upath` say of a server that does not answer that there is no such file. A run that believed it would lose
what it has, so nothing but these functions asks object storage.
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

PASSING_NUMBERS: Final = {errno.EBUSY, errno.EREMOTEIO}
PASSING_CODES: Final = {"SlowDown", "RequestTimeout", "Throttling", "ThrottlingException", "RequestLimitExceeded"}
SERVER_FAULT, TOO_MANY_REQUESTS = 500, 429
NO_BUCKET: Final = "NoSuchBucket"
KEYS: Final = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


@contextmanager
def run_errors(what: str) -> Iterator[None]:
    """Tell the user of a disk that is full, missing or closed to us; object storage tells of itself."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise RunError(f"{what}: {error}.") from error


def is_transient(error: Exception) -> bool:
    """Whether it may be gone in a moment: nobody answers, or the server is at fault or has too much to do."""
    from botocore import exceptions as boto  # type: ignore[import-untyped]
    from botocore.parsers import ResponseParserError  # type: ignore[import-untyped]

    answer = _answer(error)
    if answer is not None:
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return status >= SERVER_FAULT or status == TOO_MANY_REQUESTS or _code(error) in PASSING_CODES
    if isinstance(error, boto.SSLError):
        return False
    silence = (boto.HTTPClientError, boto.ConnectionError, boto.IncompleteReadError, ResponseParserError)
    if isinstance(error, (ConnectionError, TimeoutError, *silence)):
        return True
    return isinstance(error, OSError) and error.errno in PASSING_NUMBERS


def to_user_error(error: Exception, path: Path) -> Exception:
    """What to tell the user of a fault that stays; a file that is not there, and our own bugs, stay what they are."""
    from botocore import exceptions as boto

    code, bucket = _code(error), str(path).partition("://")[2].partition("/")[0]
    if code == NO_BUCKET:
        return StorageError(f"s3://{bucket}: there is no such bucket. Make it, or name another one.")
    if isinstance(error, (StorageError, FileNotFoundError)) or not isinstance(
        error, (OSError, ValueError, boto.BotoCoreError, boto.ClientError)
    ):
        return error
    if isinstance(error, (boto.NoCredentialsError, boto.PartialCredentialsError)):
        return StorageError(f"{path}: there are no keys to object storage. Set {KEYS}.")
    if isinstance(error, PermissionError):
        return StorageError(f"{path}: object storage refuses it ({code}). Check {KEYS}, and what the bucket allows.")
    return StorageError(f"{path}: object storage cannot be used ({code}). Check the address, and AWS_ENDPOINT_URL.")


def _code(error: Exception) -> str:
    """The name of a fault. What is said besides may hold an address with a password, so it is not shown."""
    answer = _answer(error)
    return str(answer.get("Error", {}).get("Code", "")) if answer else type(error).__name__


def _answer(error: Exception) -> dict[str, Any] | None:
    """What the server answered, where it did."""
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

PATIENCE_SECONDS = 600.0
"""Long enough for a server to be started again, short enough to be told the same hour."""
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 15.0


def retry(what: str, call: Callable[[], T]) -> T:
    """The result of a call to object storage, tried again while nobody answers, with growing waits."""
    started, tries = time.monotonic(), 0
    while True:
        tries += 1
        try:
            return call()
        except Exception as error:
            if not is_transient(error):
                raise
            wait = min(FIRST_WAIT_SECONDS * 2.0 ** min(tries - 1, 10), LONGEST_WAIT_SECONDS)
            wait *= random.uniform(0.5, 1.0)  # noqa: S311 - waits are spread, nothing is kept secret
            waited = time.monotonic() - started
            if waited + wait > PATIENCE_SECONDS:
                raise StorageError(
                    f"{what}: object storage did not answer for {waited:.0f} seconds, {tries} tries "
                    f"({type(error).__name__}). What is finished is kept; the same command goes on from there when it "
                    "answers again. Check AWS_ENDPOINT_URL and the network."
                ) from error
        time.sleep(wait)


Item = TypeVar("Item")

AT_ONCE: Final = 16
"""Requests under way, where many objects are read or removed: each mostly waits."""
PAGE: Final = 1000
"""Objects in one answer to a request for a listing."""
_STORAGES: Final[dict[tuple[int, str, str], Any]] = {}
_GUARD: Final = threading.Lock()


def read_object(path: Path, start: int | None = None, end: int | None = None) -> bytes:
    """The content, or a part of it; a `FileNotFoundError` where there is no such object."""
    # Without several requests for one object the size need not be asked for first.
    options = {"start": start, "end": end, "max_concurrency": 1}
    return bytes(_ask("reading", path, lambda: _storage(path).cat_file(str(path), **options)))


def write_object(path: Path, content: bytes) -> None:
    """Put an object in place; nobody ever sees a part of it."""
    _ask("writing", path, lambda: _storage(path).pipe_file(str(path), content))


def is_object(path: Path) -> bool:
    """Whether there is one."""
    try:
        return bool(_ask("finding", path, lambda: _storage(path).info(str(path)))["type"] == "file")
    except FileNotFoundError:
        return False


def object_sizes(folder: Path) -> dict[Path, int]:
    """Every object that lies directly in a folder, with its bytes; none where there is no folder."""
    found = _listed(folder)
    if len(found) >= PAGE:
        # Many objects come in several answers, and what is merged between two of them may be in neither.
        found |= _listed(folder)
    return found


def remove_object(path: Path) -> None:
    """Remove an object, if it is there."""
    _ask("removing", path, lambda: _storage(path).rm_file(str(path)))


def for_all(do: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    """The results of many requests, several of which are under way at once."""
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
        told = to_user_error(error, path)
        if told is error:
            raise
        raise told from error


def _storage(path: Path) -> Any:
    """One for all threads of this process: each has connections of its own, and takes a moment to make."""
    where: Any = path
    known = (os.getpid(), where.protocol, repr(sorted(where.storage_options.items())))
    with _GUARD:
        if known not in _STORAGES:
            from fsspec import filesystem  # type: ignore[import-untyped]

            _STORAGES[known] = filesystem(where.protocol, **where.storage_options)
            _STORAGES[known].retries = 1  # patience is ours, here too
        return _STORAGES[known]


OBJECT_STORAGE: Final = "s3"
OPTIONS: Final[dict[str, Any]] = {
    # What others write must be seen at once, so no listing is remembered.
    "use_listings_cache": False,
    # Patience is ours, and one place has it: tries hidden below it would only add to its waits.
    "config_kwargs": {"retries": {"max_attempts": 0}},
}


def as_path(where: Path | str) -> Path:
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
