"""A client of `lookaway serve`: called like `Scorer`, it sends frames and retries what did not get through."""

from __future__ import annotations

import email.utils
import http.client
import io
import os
import random
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from lookaway.core import LookawayError, UserError
from lookaway.engine.scorer import CasePaths, VideoScores
from lookaway.judges.server import Secret
from lookaway.serving.schema import (
    FRAMES,
    GIVEN_PATHS,
    INFO_PATH,
    NPY,
    OPTIONS,
    REQUEST_ID,
    SCORE_PATH,
    TOKEN_VARIABLE,
    ErrorResponse,
    ScoreOptions,
    ScoreResponse,
    ServerInfo,
    as_reward,
    as_scores,
)
from lookaway.training.reward import RewardValue

RETRIED: Final = (408, 429, 502, 503, 504)
"""Statuses after which a request is sent again; some are those of a proxy in between."""
Model = TypeVar("Model", bound=BaseModel)
BROKEN: Final = (OSError, http.client.HTTPException)
"""What a connection raises that was refused, reset, or closed in the middle of an answer."""
MAX_ANSWER_BYTES: Final = 256 * 1024 * 1024


class ScoringFailed(LookawayError):
    """The server gave no measurement, and asking again did not help; the message says why."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        """Status of the last answer; `None` where there was none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRetries:
    """How often and how long a client tries."""

    tries: int = 8
    first_wait_seconds: float = 0.25
    """Wait before the second try; doubled after each further one, and shortened by chance."""
    longest_wait_seconds: float = 30.0
    """Also where the server asks for more."""


class ScorerClient:
    """Measures videos on a server; safe to call from several threads. Close it, or use it as a context manager.

    A request keeps its id when it is sent again, so the server measures it once and answers it once.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout_seconds: float = 330.0,
        retries: ClientRetries | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(f"{url!r} is not the address of a server. Expected one such as http://127.0.0.1:8321.")
        if parts.username or parts.password:
            raise UserError(f"The address contains a password. Give the token as `token` or in {TOKEN_VARIABLE}.")
        self._address, self._prefix = f"{parts.hostname}:{parts.port or parts.scheme}", parts.path.rstrip("/")
        self._parts = parts
        self._token = Secret(os.environ.get(TOKEN_VARIABLE, "") if token is None else token)
        self._timeout, self._retries, self._sleep = timeout_seconds, retries or ClientRetries(), sleep
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(
        self,
        video: Any,
        *,
        fps: float = 16.0,
        paths: CasePaths | None = None,
        prompt: Sequence[str] = (),
        action: str | None = None,
    ) -> VideoScores:
        """Measure one clip: uint8 frames [frames, 3, height, width] of numpy or torch on any device."""
        return as_scores(self.score(video, ScoreOptions(fps=fps, prompt=tuple(prompt), action=action), paths))

    def reward(
        self, video: Any, *, fps: float = 16.0, paths: CasePaths | None = None, prompt: Sequence[str] = ()
    ) -> RewardValue:
        """What a clip earns, on a server that was started with `--reward`."""
        found = as_reward(self.score(video, ScoreOptions(fps=fps, prompt=tuple(prompt)), paths))
        if found is None:
            raise UserError(f"The server at {self._address} has no reward. Start it with --reward.")
        return found

    def score(
        self, video: Any, options: ScoreOptions, paths: CasePaths | None = None, *, request: str | None = None
    ) -> ScoreResponse:
        """The answer itself; `request` is the id, for a caller who keeps a list of them."""
        boundary, body = encode_clip(video, options, paths)
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", REQUEST_ID: request or uuid4().hex}
        return _parsed(ScoreResponse, self._send("POST", SCORE_PATH, body, headers))

    def info(self) -> ServerInfo:
        """What the server measures and accepts."""
        return _parsed(ServerInfo, self._send("GET", INFO_PATH, b"", {}))

    def close(self) -> None:
        """Close all connections that are not in use; the next request opens another."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> bytes:
        if self._token:
            headers = {**headers, "Authorization": f"Bearer {self._token.reveal()}"}
        retries, why, status = self._retries, "", None
        for attempt in range(retries.tries):
            wait = min(retries.longest_wait_seconds, retries.first_wait_seconds * 2**attempt)
            wait *= random.uniform(0.5, 1)  # noqa: S311 - clients that failed together come back one by one
            try:
                status, found, answer = self._exchange(method, path, body, headers)
            except BROKEN as error:
                status, why = None, f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            else:
                if status == 200:
                    return answer
                why = _why(status, answer)
                if status not in RETRIED:
                    raise ScoringFailed(f"The server at {self._address} refused the request ({status}): {why}", status)
                wait = max(wait, min(retries.longest_wait_seconds, _seconds_asked(found)))
            if attempt + 1 < retries.tries:
                self._sleep(wait)
        raise ScoringFailed(
            f"The server at {self._address} gave no measurement in {retries.tries} tries; the last one: {why}", status
        )

    def _exchange(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], bytes]:
        with self._lock:
            connection = self._idle.pop() if self._idle else self._connect()
        is_kept = False
        try:
            connection.request(method, self._prefix + path, body or None, dict(headers))
            response = connection.getresponse()
            answer = response.read(MAX_ANSWER_BYTES)
            is_kept = response.isclosed() and not response.will_close
        finally:
            if is_kept:
                with self._lock:
                    self._idle.append(connection)
            else:
                connection.close()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, answer

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(host, port, timeout=self._timeout)


def encode_clip(video: Any, options: ScoreOptions, paths: CasePaths | None = None) -> tuple[str, bytes]:
    """Boundary and body of a request."""
    boundary = uuid4().hex
    arrays = {FRAMES: np.asarray(video.detach().cpu() if hasattr(video, "detach") else video)}
    for name in GIVEN_PATHS:
        given = None if paths is None else getattr(paths, name)
        if given is not None:
            arrays[name] = np.asarray(given, np.float64)
    written = [(name, NPY, _npy(array)) for name, array in arrays.items()]
    written.append((OPTIONS, "application/json", options.model_dump_json(exclude_defaults=True).encode()))
    parts: list[bytes | memoryview] = []
    for name, media_type, data in written:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
        parts += [f"{head}Content-Type: {media_type}\r\n\r\n".encode(), data, b"\r\n"]
    return boundary, b"".join([*parts, f"--{boundary}--\r\n".encode()])


def _npy(array: NDArray[Any]) -> memoryview | bytes:
    if array.dtype.hasobject:
        raise UserError("frames are Python objects. Expected an array of uint8.")
    file = io.BytesIO()
    np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
    return file.getbuffer()


def _parsed(kind: type[Model], answer: bytes) -> Model:
    try:
        return kind.model_validate_json(answer)
    except ValidationError as error:
        raise ScoringFailed(
            f"The answer is not a {kind.__name__} of this version ({error.error_count()} differences). Install the "
            "same version of lookaway on both sides."
        ) from error


def _why(status: int, answer: bytes) -> str:
    try:
        return ErrorResponse.model_validate_json(answer).message
    except ValidationError:
        return f"status {status}, and no reason that a lookaway server gives. Is the address right?"


def _seconds_asked(headers: Mapping[str, str]) -> float:
    """How long the server asks to wait, in seconds or as a date."""
    given = headers.get("retry-after", "")
    if given.isdigit():
        return float(given)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(given).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0
