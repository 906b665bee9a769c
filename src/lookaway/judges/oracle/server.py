"""The oracle as a server of its own."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lookaway.io.world_clips import WorldClip
from lookaway.judges.oracle.answer_function import AnswerFunction
from lookaway.judges.oracle.book import Book
from lookaway.judges.oracle.dials import Dials
from lookaway.judges.oracle.faults import Faults
from lookaway.judges.oracle.handler import DeskServer, Handler
from lookaway.judges.oracle.oracle import Oracle

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
        dials: Dials | None = None,
        faults: Faults | None = None,
        key: str | None = None,
        port: int = 0,
    ) -> None:
        self.dials = dials or Dials()
        self.faults = faults or Faults()
        self.book = Book()
        self.key = key
        self.oracle = Oracle(world, answers or {}, self.dials)
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

    def __init__(self, desk: OracleServer, port: int) -> None:
        self.desk = desk
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
    dials: Dials | None = None,
    faults: Faults | None = None,
    key: str | None = None,
    *,
    ready: Callable[[OracleServer], None] = lambda server: None,
) -> None:
    """Serve until interrupted; `ready` is called once questions can be put."""
    with OracleServer(world, dials=dials, faults=faults, key=key, port=port) as server:
        ready(server)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
