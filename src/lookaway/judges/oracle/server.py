"""The oracle as a server of its own."""

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
from lookaway.judges.oracle.asked import AnswerFunction, CannotAnswer, read_question
from lookaway.judges.oracle.clip_index import ClipIndex, Flight
from lookaway.judges.oracle.completion import chat_completion
from lookaway.judges.oracle.noise import Chance, Noise
from lookaway.judges.oracle.oracle import Oracle
from lookaway.judges.oracle.server_errors import Faults

COMPLETIONS, MODELS, BOOK = "/v1/chat/completions", "/v1/models", "/oracle/book"
SERVER_ERRORS = {500: "Internal error.", 502: "Bad gateway.", 503: "Overloaded."}


class ServiceClient(Protocol):
    """What connections share."""

    oracle: Oracle
    book: ClipIndex
    noise: Noise
    faults: Faults
    key: str | None
    stopping: threading.Event


class DeskServer(ThreadingHTTPServer):
    """A server with a desk."""

    client: ServiceClient


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    server: DeskServer
    _flight: Flight | None = None

    def do_GET(self) -> None:
        """Models, and the book."""
        client = self.server.client
        if not self._is_allowed():
            return
        if self.path == MODELS:
            name = client.noise.reported_model or "oracle"
            model = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "lookaway"}
            self._reply(200, {"object": "list", "data": [model]})
        elif self.path == BOOK:
            self._reply(200, client.book.as_json())
        else:
            self._reject(404, "not_found", f"there is nothing at {self.path!r:.80}.")

    def do_POST(self) -> None:
        """Chat completions."""
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
        with self.server.client.book.flight(digest(fields)) as self._flight:
            try:
                self._answer(fields, self._flight)
            except CannotAnswer as error:
                self._reject(400, "cannot_answer", str(error))
        self._flight = None

    def _answer(self, fields: Json, flight: Flight) -> None:
        client = self.server.client
        chance = Chance(client.noise.seed, flight.key, flight.attempt)
        fault = client.faults.next(flight.number, chance)
        seconds = client.noise.latency_seconds + client.noise.latency_jitter_seconds * chance.draw("latency")
        if client.stopping.wait(seconds):
            self.close_connection = True
            return
        if fault is not None:
            client.book.gives(flight.key, fault)
        if self._fails(fault, chance):
            return
        asked = read_question(fields, flight.key)
        wait_for_answer = client.oracle.hear(asked, chance, fault)
        completion = chat_completion(
            wait_for_answer.said,
            asked,
            wait_for_answer.pixels,
            f"chatcmpl-{flight.key[:16]}-{flight.attempt}",
            model=client.noise.reported_model or asked.model,
            logprobs=client.noise.gives_logprobs,
        )
        self._send(completion, fault, flight)

    def _fails(self, fault: str | None, chance: Chance) -> bool:
        """Whether nothing but an error, or nothing at all, was sent."""
        faults = self.server.client.faults
        match fault:
            case "rate_limited":
                wait = {"Retry-After": f"{faults.retry_after_seconds:g}"}
                self._error(429, "rate_limit_exceeded", "Too many requests.", wait)
            case "server_error":
                status = chance.pick("status", tuple(SERVER_ERRORS))
                self._error(status, "server_error", SERVER_ERRORS[status])
            case "vanished_model":
                self._error(404, "model_not_found", "The model does not exist.")
            case "time_out":
                self._hang(faults.hang_seconds)
            case "dropped_connection" if chance.draw("when") < 0.5:
                self.close_connection = True
            case _:
                return False
        return True

    def _send(self, completion: Json, fault: str | None, flight: Flight) -> None:
        body = json.dumps(completion, ensure_ascii=False).encode()
        if self._has_left():
            self.close_connection = True
        elif fault == "dropped_connection":
            self.wfile.write(self._head(200, len(body)) + body[: len(body) // 2])
            self.close_connection = True
        elif fault == "truncated_json":
            self.wfile.write(self._head(200, len(body) // 2) + body[: len(body) // 2])
        else:
            with self.server.client.book.answer(flight.key):
                self.wfile.write(self._head(200, len(body)) + body)

    def _body(self) -> bytes | None:
        """`None` where the client left before its last byte."""
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
        key, given = self.server.client.key, self.headers.get("Authorization", "")
        if key is None or hmac.compare_digest(given.encode(), f"Bearer {key}".encode()):
            return True
        self._reject(401, "invalid_api_key", "the key is missing or wrong.")
        return False

    def _has_left(self) -> bool:
        """Whether the client hung up: what is written after that is heard by nobody."""
        try:
            return len(self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)) == 0
        except BlockingIOError:
            return False

    def _hang(self, seconds: float) -> None:
        """Say nothing until the client leaves, the server stops, or the time is over."""
        self.close_connection = True
        self.connection.settimeout(seconds)
        with suppress(TimeoutError):
            self.connection.recv(1, socket.MSG_PEEK)

    def _reject(self, status: int, code: str, message: str) -> None:
        self.server.client.book.rejects(status)
        self._error(status, code, message)

    def _error(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        kind = "invalid_request_error" if status < 429 else "server_error"
        error = {"message": message, "type": kind, "param": None, "code": code}
        self._reply(status, {"error": error}, headers)

    def _reply(self, status: int, content: Json, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(content).encode()
        self.wfile.write(self._head(status, len(body), headers) + body)

    def _head(self, status: int, length: int, headers: dict[str, str] | None = None) -> bytes:
        """To be written together with the body: of two writes, the second would wait for the client."""
        if self._flight is not None:
            self.server.client.book.lands(self._flight)
        everything = {"Content-Type": "application/json", "Content-Length": str(length), **(headers or {})}
        lines = [f"{self.protocol_version} {status} {HTTPStatus(status).phrase}"]
        lines += [f"{name}: {value}" for name, value in everything.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def log_message(self, *args: object) -> None:
        """Say nothing: what was asked is in the book."""


LOOPBACK = "127.0.0.1"
LOOK_SECONDS = 0.05
"""How often the server looks whether it should stop."""


class OracleServer:
    """Answers chat completions about clips of a simulated world, on loopback. Use as a context manager.

    A question is known by the text of its prompt, a clip by its pictures. `answers` adds functions by names of prompts,
    or by words that an instruction holds, where a name has spaces; of several that fit, the longest name wins. Without
    a world, questions show no pictures, and functions answer from the material.

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
        faults: Faults | None = None,
        key: str | None = None,
        port: int = 0,
    ) -> None:
        self.noise = noise or Noise()
        self.faults = faults or Faults()
        self.book = ClipIndex()
        self.key = key
        self.oracle = Oracle(world, answers or {}, self.noise)
        self.stopping = threading.Event()
        self._port = port
        self._running: tuple[_Loopback, threading.Thread] | None = None

    @property
    def base_url(self) -> str:
        """What clients are given; known while the server runs."""
        if self._running is None:
            raise RuntimeError("the oracle does not run: start it, or use it as a context manager.")
        return f"http://{LOOPBACK}:{self._running[0].server_port}/v1"

    def start(self) -> None:
        """Listen, and answer from threads of this process."""
        self.stopping.clear()
        server = _Loopback(self, self._port)
        thread = threading.Thread(target=server.serve_forever, args=(LOOK_SECONDS,), name="oracle", daemon=True)
        thread.start()
        self._running = server, thread

    def stop(self) -> None:
        """Hang up, and wait until nothing is left."""
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


class _Loopback(DeskServer):
    """Keeps its connections, so that it can hang up on clients that keep theirs alive."""

    daemon_threads = False  # those that are not are waited for at the end
    request_queue_size = 256

    def __init__(self, client: OracleServer, port: int) -> None:
        self.client = client
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__((LOOPBACK, port), Handler)

    def hang_up(self) -> None:
        """Wake every thread that waits for its client; to be called when no more connections are taken."""
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Keep the connection."""
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Let go of the connection."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no error; everything else is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def serve(
    world: Path,
    port: int = 0,
    noise: Noise | None = None,
    faults: Faults | None = None,
    key: str | None = None,
    *,
    ready: Callable[[OracleServer], None] = lambda server: None,
) -> None:
    """Serve until interrupted; `ready` is called once questions can be put."""
    with OracleServer(world, noise=noise, faults=faults, key=key, port=port) as server:
        ready(server)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
