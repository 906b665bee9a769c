from __future__ import annotations

import errno
import time

import pytest
from botocore import exceptions as boto

from lookaway.core import RunError, StorageError
from lookaway.io import object_storage as patience
from lookaway.io.object_storage import as_path, is_transient, retry, run_errors, to_user_error
from tests.support.s3_server import SECRET

ADDRESS = f"http://user:{SECRET}@server"


def answered(status: int, code: str, kind: type[Exception] = OSError) -> Exception:
    """What a filesystem raises where the server answers with a fault."""
    answer = {"Error": {"Code": code, "Message": SECRET}, "ResponseMetadata": {"HTTPStatusCode": status}}
    error = kind(SECRET)
    error.__cause__ = boto.ClientError(answer, "PutObject")
    return error


PASSING = [
    boto.EndpointConnectionError(endpoint_url=ADDRESS),
    boto.ConnectTimeoutError(endpoint_url=ADDRESS),
    boto.ReadTimeoutError(endpoint_url=ADDRESS),
    boto.ConnectionClosedError(endpoint_url=ADDRESS),
    ConnectionResetError(SECRET),
    TimeoutError(SECRET),
    OSError(errno.EBUSY, "busy"),
    answered(500, "InternalError"),
    answered(502, "502"),
    answered(503, "SlowDown"),
    answered(429, "TooManyRequests"),
    answered(400, "RequestTimeout"),
]
LASTING = [
    (answered(403, "AccessDenied", PermissionError), r"denies access \(AccessDenied\)\. Check AWS_ACCESS_KEY_ID"),
    (answered(403, "SignatureDoesNotMatch", PermissionError), "denies access"),
    (answered(404, "NoSuchBucket", FileNotFoundError), "s3://bucket: there is no such bucket"),
    (boto.NoCredentialsError(), r"no credentials for object storage\. Set AWS_ACCESS_KEY_ID"),
    (boto.SSLError(endpoint_url=ADDRESS, error=SECRET), "AWS_ENDPOINT_URL"),
    (ValueError(f"Invalid endpoint: {ADDRESS}"), "AWS_ENDPOINT_URL"),
    (answered(400, "InvalidArgument"), r"cannot be used \(InvalidArgument\)"),
]


def raising(*errors: Exception):
    left = list(errors)

    def call():
        if left:
            raise left.pop(0)
        return "done"

    return call


@pytest.mark.parametrize("error", PASSING, ids=lambda error: type(error).__name__)
def test_what_passes_is_tried_again(error, monkeypatch):
    monkeypatch.setattr(patience, "FIRST_WAIT_SECONDS", 0.001)
    assert is_transient(error)
    assert retry("reading", raising(error, error)) == "done"


@pytest.mark.parametrize(("error", "told"), LASTING, ids=lambda value: type(value).__name__)
def test_what_stays_is_told_at_once_with_what_to_do_and_without_secrets(error, told, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("waited"))
    assert not is_transient(error)
    with pytest.raises(type(error)):
        retry("reading", raising(error))
    message = to_user_error(error, as_path("s3://bucket/run/file"))
    assert isinstance(message, StorageError)
    with pytest.raises(RunError, match=told):
        raise message
    assert SECRET not in str(message)


@pytest.mark.parametrize("error", [FileNotFoundError("none"), ZeroDivisionError(), KeyError("ours")])
def test_a_missing_file_and_a_bug_of_ours_stay_what_they_are(error):
    assert not is_transient(error)
    assert to_user_error(error, as_path("s3://bucket/run")) is error


def test_patience_ends_with_how_long_it_lasted_and_without_secrets(monkeypatch):
    now = [0.0]
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    error = boto.EndpointConnectionError(endpoint_url=ADDRESS)
    with pytest.raises(StorageError) as told:
        retry("reading s3://b/x", raising(*[error] * 1000))
    lasted = f"for {sum(waits):.0f} seconds, {len(waits) + 1} tries (EndpointConn"
    assert str(told.value).startswith(f"reading s3://b/x: object storage did not answer {lasted}")
    assert SECRET not in str(told.value)
    assert "run the same command to resume" in str(told.value)
    assert 570 < sum(waits) <= 600
    assert 0.25 <= waits[0] <= 0.5
    assert waits[1] <= 1.0
    assert max(waits) <= 15
    assert min(waits[6:]) >= 7.5
    assert len(set(waits[6:])) > 5


def test_a_disk_tells_of_itself_once_and_object_storage_in_its_own_words():
    with pytest.raises(RunError, match=r"^the run: \[Errno 28\] full\.$"), run_errors("the run"):
        raise OSError(errno.ENOSPC, "full")
    with pytest.raises(StorageError, match=r"^silence$"), run_errors("the run"):
        raise StorageError("silence")
