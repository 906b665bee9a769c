"""What can go wrong with object storage: what passes, and what has to be put right."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from lookaway.core import RunError, StorageError

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


def is_passing(error: Exception) -> bool:
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


def explained(error: Exception, path: Path) -> Exception:
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
