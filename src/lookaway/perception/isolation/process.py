"""A child process that serves a runner file, seen from the parent."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from lookaway.core import Json, Reason, Unmeasurable
from lookaway.perception.isolation import child
from lookaway.perception.isolation.variables import child_variables, fit_to_show

CHUNK_BYTES = 1024 * 1024
WORDS_KEPT = 64
"""Pieces of what the child last wrote to its standard error, of at most 4 KiB each."""
LINES_SHOWN = 12


class RunnerFailed(RuntimeError):
    """The process of a runner failed, died or took too long; this says so for one rollout, with its last words."""


class ChildProcess:
    """One running child. It ends when this object does, or when the process that holds it does."""

    def __init__(self, python: Path, max_bytes: int = child.MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._process = subprocess.Popen(  # noqa: S603 - our own program, in an environment that we made
            [str(python), "-I", child.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=child_variables(),
            cwd=tempfile.gettempdir(),
            # In a group of its own, it can be ended with all that it started.
            start_new_session=True,
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None and stdout is not None and stderr is not None  # noqa: S101, PT018 - as requested above
        self._to, self._from = stdin.fileno(), stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)
        self._words: deque[bytes] = deque(maxlen=WORDS_KEPT)
        self._listener = threading.Thread(target=_listen, args=(stderr, self._words), daemon=True)
        self._listener.start()
        self._deadline = 0.0
        self.end = weakref.finalize(self, _end, self._process)

    def ask(
        self, header: Mapping[str, Json], arrays: Mapping[str, NDArray[Any]], seconds: float
    ) -> dict[str, NDArray[Any]]:
        """Send a request and wait for the arrays of its answer. After a `RunnerFailed` the child may be gone."""
        self._deadline = time.monotonic() + seconds
        try:
            child.send(self._write, header, arrays, self._max_bytes)
            answer, found = child.receive(self._fill, self._max_bytes)
        except (EOFError, BrokenPipeError) as error:
            raise self._failed(self._how_it_ended()) from error
        except TimeoutError as error:
            self.end()
            raise self._failed(f"was stopped because it did not answer within {seconds:g} seconds.") from error
        except child.NotAMessage as error:
            self.end()
            raise self._failed(f"could not be talked to: {error}") from error
        except BaseException:
            self.end()  # half a message may be under way
            raise
        match answer.get("kind"):
            case "answer":
                return found
            case "unmeasurable" if answer.get("reason") in list(Reason):
                raise Unmeasurable(Reason(answer["reason"]), fit_to_show(str(answer.get("message"))))
            case _:
                raise self._failed(f"failed:\n{fit_to_show(str(answer.get('trace') or answer))}", words=False)

    @property
    def is_alive(self) -> bool:
        """Whether it can be called again."""
        return self.end.alive and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def _write(self, view: memoryview) -> None:
        while view:
            self._wait(self._to, select.POLLOUT)
            view = view[os.write(self._to, view[:CHUNK_BYTES]) :]

    def _fill(self, view: memoryview) -> None:
        while view:
            self._wait(self._from, select.POLLIN)
            count = os.readv(self._from, [view])
            if count == 0:
                raise EOFError
            view = view[count:]

    def _wait(self, file: int, event: int) -> None:
        poll = select.poll()
        poll.register(file, event)
        if not poll.poll(max(0.0, self._deadline - time.monotonic()) * 1000):
            raise TimeoutError

    def _how_it_ended(self) -> str:
        """After a pipe broke: in a moment the child is gone, or else it is ended."""
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            code = None
        self.end()
        if code is None:
            return "closed its pipes."
        if code >= 0:
            return f"ended by itself with exit code {code}."
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"was killed by {name}{', as a machine out of memory does' if name == 'SIGKILL' else ''}."

    def _failed(self, how: str, *, words: bool = True) -> RunnerFailed:
        if not words:
            return RunnerFailed(f"The runner {how}")
        self._listener.join(0.5)
        last = fit_to_show(b"".join(self._words).decode(errors="replace")).strip().splitlines()[-LINES_SHOWN:]
        output = "\n".join(["Its last output:", *last]) if last else "It printed nothing."
        return RunnerFailed(f"The runner {how} {output}")


def _listen(stderr: IO[bytes], words: deque[bytes]) -> None:
    """Keep the pipe of errors empty, so that a child that talks much does not wait for a listener."""
    with stderr:
        while piece := stderr.read(4096):
            words.append(piece)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the child and all that it started, and leave no zombie."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
