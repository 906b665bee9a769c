"""One worker in a child process, which can be ended in the middle of its work and replaced."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

from lookaway.core import GaveUp, LastResult, LookawayError, RunError, ServiceClients

MakeWorker = Callable[[ServiceClients], Callable[[Any], Any]]
SECONDS_TO_CLOSE = 30.0
START = -1
"""The key of no item."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """The result of an item, or the error that ended it; or whether the worker could be made."""

    key: int
    result: Any = None
    error: BaseException | None = None


class WorkerProcess:
    """The process of a worker, seen from its parent."""

    def __init__(self, make_worker: MakeWorker) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks that other threads hold
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, make_worker), daemon=True)
        self._process.start()
        other.close()
        reply = self.receive()
        if reply is None:
            raise RunError(
                f"The process that measures rollouts died before it was ready (exit code {self._process.exitcode}). "
                'A script that calls `evaluate` with limits must do so under `if __name__ == "__main__":`.'
            )
        if reply.error is not None:
            self.kill()
            raise reply.error

    def send(self, key: int, item: Any) -> None:
        """Hand in an item; a process that has died says so to `receive`."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self._pipe.send((key, item))

    def receive(self) -> _Reply | None:
        """The next reply; `None` if the process has died."""
        try:
            reply: _Reply = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            self.kill()
            return None
        return reply

    def close(self) -> None:
        """Let the worker close its connections; one that does not is killed."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self._pipe.send(None)
        self._process.join(SECONDS_TO_CLOSE)
        self.kill()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


@dataclass(slots=True)
class ChildWorker:
    """Runs items in a child process, and replaces it when it dies or holds a rollout that passed a limit."""

    make_worker: MakeWorker
    at_once: int
    deaths: int = 0
    retries: int = 0
    """Items that were retried."""
    _process: WorkerProcess | None = None
    _held: dict[int | None, Any] = field(default_factory=dict)
    _alone: deque[Any] = field(default_factory=deque)
    """Items to retry with none beside them."""
    _keys: Iterator[int] = field(default_factory=count)

    def results(self, items: Iterator[Any]) -> Iterator[Any]:
        """Results in order of completion, and items that the child died of as `GaveUp`."""
        try:
            while (process := self._hand_out(items)) is not None:
                reply = process.receive()
                if reply is None:
                    yield from self._on_death()
                elif reply.error is not None:
                    raise reply.error
                elif isinstance(reply.result, LastResult):
                    del self._held[reply.key]
                    self._replace()
                    yield reply.result.result
                else:
                    del self._held[reply.key]
                    yield reply.result
            if self._process is not None:
                self._process.close()
        finally:
            if self._process is not None:
                self._process.kill()

    def _hand_out(self, items: Iterator[Any]) -> WorkerProcess | None:
        """Give the child as many items as it takes; `None` if there are none left."""
        while not self._held or (len(self._held) < self.at_once and not self._alone):
            item = self._alone.popleft() if self._alone else next(items, _NOTHING)
            if item is _NOTHING:
                break
            if self._process is None:
                self._process = WorkerProcess(self.make_worker)
            key = next(self._keys)
            self._held[key] = item
            self._process.send(key, item)
        return self._process if self._held else None

    def _on_death(self) -> Iterator[Any]:
        """Any of several items that the child held may be to blame: each is retried alone."""
        self.deaths += 1
        if len(self._held) == 1:
            (item,) = self._held.values()
            self._held.clear()
            yield GaveUp(item, 1)
        self._replace()

    def _replace(self) -> None:
        """Kill the child, and retry what it still holds in the next one."""
        self.retries += len(self._held)
        self._alone.extend(self._held.values())
        self._held.clear()
        if self._process is not None:
            self._process.kill()
            self._process = None


_NOTHING: Any = object()


def _serve(pipe: Connection, make_worker: MakeWorker) -> None:
    """The child: each item in a thread, so that the end of the parent is noticed at once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its child
    lock = threading.Lock()
    try:
        worker = make_worker({})
    except Exception as error:  # noqa: BLE001 - raised by the parent
        _send(pipe, lock, _Reply(START, error=error))
        return
    _send(pipe, lock, _Reply(START))
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            os._exit(1)  # the parent is gone, and threads must not outlive it
        if message is None:
            break
        threading.Thread(target=_work, args=(pipe, lock, worker, *message), daemon=True).start()
    close: Callable[[], object] = getattr(worker, "close", lambda: None)
    close()


def _work(pipe: Connection, lock: threading.Lock, worker: Callable[[Any], Any], key: int, item: Any) -> None:
    try:
        reply = _Reply(key, worker(item))
    except BaseException as error:  # noqa: BLE001 - raised by the parent
        if not isinstance(error, LookawayError):
            error.add_note("".join(traceback.format_exception(error)))
        reply = _Reply(key, error=error)
    _send(pipe, lock, reply)


def _send(pipe: Connection, lock: threading.Lock, reply: _Reply) -> None:
    try:
        message = pickle.dumps(reply)
    except Exception:  # noqa: BLE001 - an error of a plugin may hold anything
        message = pickle.dumps(_Reply(reply.key, error=RuntimeError(f"{type(reply.error).__name__}: {reply.error}")))
    with lock:
        pipe.send_bytes(message)
