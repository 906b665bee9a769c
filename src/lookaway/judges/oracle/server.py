"""The HTTP server of the oracle."""

from __future__ import annotations

import hmac
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from lookaway.core import DatasetError, Json, digest
from lookaway.io.files import parse_json
from lookaway.io.world_clips import WorldClip
from lookaway.judges.oracle.completion import chat_completion
from lookaway.judges.oracle.noise import Chance, Noise
from lookaway.judges.oracle.oracle import Oracle
from lookaway.judges.oracle.parsed_question import AnswerFunction, CannotAnswer, read_question
from lookaway.judges.oracle.request_log import Flight, RequestLog
from lookaway.judges.oracle.server_errors import ServerErrors

COMPLETIONS, MODELS, REQUESTS = "/v1/chat/completions", "/v1/models", "/oracle/requests"
SERVER_ERRORS = {500: "Internal error.", 502: "Bad gateway.", 503: "Overloaded."}


class OracleState(Protocol):
    """State shared by all connections."""

    oracle: Oracle
    request_log: RequestLog
    noise: Noise
    errors: ServerErrors
    key: str | None
    stopping: threading.Event


class OracleHTTPServer(ThreadingHTTPServer):
    """A server whose connections share the state of an oracle."""

    state: OracleState


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    server: OracleHTTPServer
    _flight: Flight | None = None

    def do_GET(self) -> None:
        """List the models, or return the request log."""
        state = self.server.state
        if not self._is_allowed():
            return
        if self.path == MODELS:
            name = state.noise.reported_model or "oracle"
            model = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "lookaway"}
            self._reply(200, {"object": "list", "data": [model]})
        elif self.path == REQUESTS:
            self._reply(200, state.request_log.as_json())
        else:
            self._reject(404, "not_found", f"there is nothing at {self.path!r:.80}.")

    def do_POST(self) -> None:
        """Answer a chat completion."""
        body = self._body()
        if body is None or not self._is_allowed():
            return
        if self.path != COMPLETIONS:
            self._reject(404, "not_found", f"there is nothing at {self.path!r:.80}.")
            return
        try:
            fields = parse_json(body, "the request")
        except DatasetError as error:
            self._reject(400, "invalid_json", str(error))
            return
        with self.server.state.request_log.flight(digest(fields)) as self._flight:
            try:
                self._answer(fields, self._flight)
            except CannotAnswer as error:
                self._reject(400, "cannot_answer", str(error))
        self._flight = None

    def _answer(self, fields: Json, flight: Flight) -> None:
        state = self.server.state
        chance = Chance(state.noise.seed, flight.key, flight.attempt)
        error = state.errors.next(flight.number, chance)
        seconds = state.noise.latency_seconds + state.noise.latency_jitter_seconds * chance.draw("latency")
        if state.stopping.wait(seconds):
            self.close_connection = True
            return
        if error is not None:
            state.request_log.add_error(flight.key, error)
        if self._fails(error, chance):
            return
        question = read_question(fields, flight.key)
        answer = state.oracle.answer(question, chance, error)
        completion = chat_completion(
            answer.message,
            question,
            answer.pixels,
            f"chatcmpl-{flight.key[:16]}-{flight.attempt}",
            model=state.noise.reported_model or question.model,
            logprobs=state.noise.gives_logprobs,
        )
        self._send(completion, error, flight)

    def _fails(self, error: str | None, chance: Chance) -> bool:
        """Send an error, or nothing, if the error is one that replaces the reply; returns whether it is."""
        errors = self.server.state.errors
        match error:
            case "rate_limited":
                wait = {"Retry-After": f"{errors.retry_after_seconds:g}"}
                self._error(429, "rate_limit_exceeded", "Too many requests.", wait)
            case "server_error":
                status = chance.pick("status", tuple(SERVER_ERRORS))
                self._error(status, "server_error", SERVER_ERRORS[status])
            case "vanished_model":
                self._error(404, "model_not_found", "The model does not exist.")
            case "time_out":
                self._hang(errors.hang_seconds)
            case "dropped_connection" if chance.draw("when") < 0.5:
                self.close_connection = True
            case _:
                return False
        return True

    def _send(self, completion: Json, error: str | None, flight: Flight) -> None:
        body = json.dumps(completion, ensure_ascii=False).encode()
        if self._has_left():
            self.close_connection = True
        elif error == "dropped_connection":
            self.wfile.write(self._head(200, len(body)) + body[: len(body) // 2])
            self.close_connection = True
        elif error == "truncated_json":
            self.wfile.write(self._head(200, len(body) // 2) + body[: len(body) // 2])
        else:
            with self.server.state.request_log.answer(flight.key):
                self.wfile.write(self._head(200, len(body)) + body)

    def _body(self) -> bytes | None:
        """The body of the request; `None` if the client left before its last byte."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.close_connection = True
            self._reject(411, "length_required", "the request has no Content-Length.")
            return None
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            return None
        return body

    def _is_allowed(self) -> bool:
        key, given = self.server.state.key, self.headers.get("Authorization", "")
        if key is None or hmac.compare_digest(given.encode(), f"Bearer {key}".encode()):
            return True
        self._reject(401, "invalid_api_key", "the key is missing or wrong.")
        return False

    def _has_left(self) -> bool:
        """Whether the client closed the connection."""
        try:
            return len(self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)) == 0
        except BlockingIOError:
            return False

    def _hang(self, seconds: float) -> None:
        """Send nothing until the client leaves, the server stops, or the time is over."""
        self.close_connection = True
        self.connection.settimeout(seconds)
        with suppress(TimeoutError):
            self.connection.recv(1, socket.MSG_PEEK)

    def _reject(self, status: int, code: str, message: str) -> None:
        self.server.state.request_log.reject(status)
        self._error(status, code, message)

    def _error(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        kind = "invalid_request_error" if status < 429 else "server_error"
        error = {"message": message, "type": kind, "param": None, "code": code}
        self._reply(status, {"error": error}, headers)

    def _reply(self, status: int, content: Json, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(content).encode()
        self.wfile.write(self._head(status, len(body), headers) + body)

    def _head(self, status: int, length: int, headers: dict[str, str] | None = None) -> bytes:
        """The head of a reply; write it together with the body, since a second write would wait for the client."""
        if self._flight is not None:
            self.server.state.request_log.land(self._flight)
        everything = {"Content-Type": "application/json", "Content-Length": str(length), **(headers or {})}
        lines = [f"{self.protocol_version} {status} {HTTPStatus(status).phrase}"]
        lines += [f"{name}: {value}" for name, value in everything.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def log_message(self, *args: object) -> None:
        """Print nothing: requests are in the log."""


LOOPBACK = "127.0.0.1"
LOOK_SECONDS = 0.05
"""How often the server checks whether it should stop."""


class OracleServer:
    """Answers chat completions about clips of a simulated world, on loopback. Use as a context manager.

    A question is recognised by the text of its prompt, a clip by its pictures. `answers` adds functions by prompt name,
    or, for names with spaces, by words that the instruction contains; if several match, the longest name wins. Without
    a world, questions have no pictures, and functions answer from the material.

    >>> with OracleServer(None) as server:
    ...     server.base_url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        world: Path | Sequence[WorldClip] | None,
        *,
        answers: Mapping[str, AnswerFunction] | None = None,
        noise: Noise | None = None,
        errors: ServerErrors | None = None,
        key: str | None = None,
        port: int = 0,
    ) -> None:
        self.noise = noise or Noise()
        self.errors = errors or ServerErrors()
        self.request_log = RequestLog()
        self.key = key
        self.oracle = Oracle(world, answers or {}, self.noise)
        self.stopping = threading.Event()
        self._port = port
        self._running: tuple[_Loopback, threading.Thread] | None = None

    @property
    def base_url(self) -> str:
        """The address for clients; known while the server runs."""
        if self._running is None:
            raise RuntimeError("the oracle is not running. Start it, or use it as a context manager.")
        return f"http://{LOOPBACK}:{self._running[0].server_port}/v1"

    def start(self) -> None:
        """Listen, and answer in threads of this process."""
        self.stopping.clear()
        server = _Loopback(self, self._port)
        thread = threading.Thread(target=server.serve_forever, args=(LOOK_SECONDS,), name="oracle", daemon=True)
        thread.start()
        self._running = server, thread

    def stop(self) -> None:
        """Close all connections, and wait until all threads have ended."""
        if self._running is None:
            return
        server, thread = self._running
        self._running = None
        self.stopping.set()
        server.shutdown()
        server.hang_up()
        server.server_close()
        thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Loopback(OracleHTTPServer):
    """Tracks its connections, so that it can close those that clients keep alive."""

    daemon_threads = False  # server_close waits for threads that are not daemons
    request_queue_size = 256

    def __init__(self, state: OracleServer, port: int) -> None:
        self.state = state
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__((LOOPBACK, port), Handler)

    def hang_up(self) -> None:
        """Wake every thread that waits for its client; call this when no more connections are accepted."""
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Track the connection."""
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Stop tracking the connection."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that leave; print everything else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def serve(
    world: Path,
    port: int = 0,
    noise: Noise | None = None,
    errors: ServerErrors | None = None,
    key: str | None = None,
    *,
    ready: Callable[[OracleServer], None] = lambda server: None,
) -> None:
    """Serve until interrupted; `ready` is called once the server accepts requests."""
    with OracleServer(world, noise=noise, errors=errors, key=key, port=port) as server, suppress(KeyboardInterrupt):
        ready(server)
        threading.Event().wait()
