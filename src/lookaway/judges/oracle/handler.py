"""One connection to the oracle: requests in, replies and faults out."""

from __future__ import annotations

import hmac
import json
import socket
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from lookaway.core import DatasetError, Json, digest
from lookaway.io.files import parse_json
from lookaway.judges.oracle.asked import read_question
from lookaway.judges.oracle.book import Book, Flight
from lookaway.judges.oracle.cannot_answer import CannotAnswer
from lookaway.judges.oracle.chance import Chance
from lookaway.judges.oracle.completion import chat_completion
from lookaway.judges.oracle.dials import Dials
from lookaway.judges.oracle.faults import Faults
from lookaway.judges.oracle.oracle import Oracle

COMPLETIONS, MODELS, BOOK = "/v1/chat/completions", "/v1/models", "/oracle/book"
SERVER_ERRORS = {500: "Internal error.", 502: "Bad gateway.", 503: "Overloaded."}


class Desk(Protocol):
    """What connections share."""

    oracle: Oracle
    book: Book
    dials: Dials
    faults: Faults
    key: str | None
    stopping: threading.Event


class DeskServer(ThreadingHTTPServer):
    """A server with a desk."""

    desk: Desk


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    server: DeskServer
    _flight: Flight | None = None

    def do_GET(self) -> None:
        """Models, and the book."""
        desk = self.server.desk
        if not self._is_allowed():
            return
        if self.path == MODELS:
            name = desk.dials.reported_model or "oracle"
            model = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "lookaway"}
            self._reply(200, {"object": "list", "data": [model]})
        elif self.path == BOOK:
            self._reply(200, desk.book.as_json())
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
        with self.server.desk.book.flight(digest(fields)) as self._flight:
            try:
                self._answer(fields, self._flight)
            except CannotAnswer as error:
                self._reject(400, "cannot_answer", str(error))
        self._flight = None

    def _answer(self, fields: Json, flight: Flight) -> None:
        desk = self.server.desk
        chance = Chance(desk.dials.seed, flight.key, flight.attempt)
        fault = desk.faults.next(flight.number, chance)
        seconds = desk.dials.latency_seconds + desk.dials.latency_jitter_seconds * chance.draw("latency")
        if desk.stopping.wait(seconds):
            self.close_connection = True
            return
        if fault is not None:
            desk.book.gives(flight.key, fault)
        if self._fails(fault, chance):
            return
        asked = read_question(fields, flight.key)
        heard = desk.oracle.hear(asked, chance, fault)
        completion = chat_completion(
            heard.said,
            asked,
            heard.pixels,
            f"chatcmpl-{flight.key[:16]}-{flight.attempt}",
            model=desk.dials.reported_model or asked.model,
            logprobs=desk.dials.gives_logprobs,
        )
        self._send(completion, fault, flight)

    def _fails(self, fault: str | None, chance: Chance) -> bool:
        """Whether nothing but an error, or nothing at all, was sent."""
        faults = self.server.desk.faults
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
            with self.server.desk.book.answer(flight.key):
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
        key, given = self.server.desk.key, self.headers.get("Authorization", "")
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
        self.server.desk.book.rejects(status)
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
            self.server.desk.book.lands(self._flight)
        everything = {"Content-Type": "application/json", "Content-Length": str(length), **(headers or {})}
        lines = [f"{self.protocol_version} {status} {HTTPStatus(status).phrase}"]
        lines += [f"{name}: {value}" for name, value in everything.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def log_message(self, *args: object) -> None:
        """Say nothing: what was asked is in the book."""
