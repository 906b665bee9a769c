"""One writer for a run folder; its workers write with it.

    RUN/writer.json    who writes the run: host, process, command, since when

On disk the operating system locks the file for as long as the process lives, and the file is removed at the end. Object
storage has no locks: there the writer renews the object again and again, and writes `{}` at the end. Who finds an
object that is no longer renewed takes it over. Whether it is renewed is seen by its version, over an interval of the
reader's own clock, so that no two clocks have to agree. All changes are conditional requests, of which one succeeds.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import BinaryIO, Final
from uuid import uuid4

from lookaway.core import RunError, StorageError, UserError
from lookaway.io.files import parse_json
from lookaway.io.object_storage import is_remote, object_version, read_object, run_errors, write_object_if

LOG = logging.getLogger(__name__)
WRITER: Final = "writer.json"
NOBODY: Final = b"{}\n"
PROGRAM: Final = "lookaway"
RENEWAL_SECONDS = 10.0
LEASE_SECONDS = 60.0
"""A writer that renews nothing for so long has died: several renewals, and the longest wait of a retry."""
LOOK_SECONDS = 2.0
"""Between two looks at the object of another writer."""
READ_TRIES: Final = 100
READ_SECONDS: Final = 0.02
"""A writer names itself just after it has locked the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A process that writes a run."""

    host: str
    process: int
    since: str
    command: str
    machine: str = ""
    """This start of the machine and its process numbers, which containers have of their own."""
    process_start: str = ""
    """Distinguishes processes that had the same number one after the other."""
    id: str = ""
    renewals: int = 0

    def in_words(self) -> str:
        """For messages."""
        return f"process {self.process} on {self.host} ({self.command}), since {self.since}"

    def is_alive(self) -> bool | None:
        """Whether it still writes; `None` if that cannot be known: its process may have gone on to other work."""
        if not self.machine or self.machine != _machine():
            return None
        if self.process == os.getpid():
            return self.id in _OWN
        return None if self.process_start == _process_start(self.process) else False


_EXAMPLE: Final = Writer(host="", process=0, since="", command="")
_OWN: Final[set[str]] = set()
"""Ids of the writers in this process."""


def this_writer() -> Writer:
    """This process, with its program and command, but not their options, which may hold keys."""
    program = os.path.basename(sys.argv[0]) or "python"
    return Writer(
        host=socket.gethostname(),
        process=os.getpid(),
        since=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        command=" ".join([program, *(sys.argv[1:2] if program == PROGRAM else [])]),
        machine=_machine(),
        process_start=_process_start(os.getpid()) or "",
        id=uuid4().hex,
    )


def sole_writer(folder: Path) -> AbstractContextManager[Callable[[], None]]:
    """Write a run folder in this context; raises `RunError` if another process does.

    Yields a function to call now and then: it raises `RunError` if this process has lost the folder to another one.
    """
    return _on_object_storage(folder / WRITER) if is_remote(folder) else _on_disk(folder / WRITER)


@contextmanager
def _on_disk(path: Path) -> Iterator[Callable[[], None]]:
    if path.parent.is_file():
        raise RunError(f"{path.parent}: a file, expected a folder for the run. Name another with --output.")
    with run_errors(f"{path.parent}: the run cannot be written here"):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _locked(path)
    own = this_writer()
    _OWN.add(own.id)
    with file:
        try:
            with run_errors(f"{path.parent}: the run cannot be written here"):
                file.truncate(0)
                file.write(_content(own))
                file.flush()
            yield lambda: None
        finally:
            _OWN.discard(own.id)
            # Removed while it is still locked. What cannot be removed does no harm: nobody locks it.
            with suppress(OSError):
                if _is_same(file, path):
                    path.unlink()


def _locked(path: Path) -> BinaryIO:
    """The file, locked until it is closed or this process ends."""
    while True:
        with ExitStack() as closing:
            file = closing.enter_context(path.open("a+b"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if (other := _named(file, path)) is not None:
                    raise _in_use(path, other) from None
                continue
            if _is_same(file, path):  # otherwise its writer has removed it and ended
                closing.pop_all()
                return file


def _is_same(file: BinaryIO, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


def _named(file: BinaryIO, path: Path) -> Writer | None:
    """The writer that has locked the file; `None` if it has ended."""
    for _ in range(READ_TRIES):
        file.seek(0)
        found = _parsed(file.read(), path)
        if found is not None and found.is_alive() is not False:  # it may still name the one before
            return found
        if not _is_same(file, path):
            return None
        time.sleep(READ_SECONDS)
    raise RunError(f"{path.parent}: locked by a process that does not name itself. Wait until it has finished.")


def _in_use(path: Path, writer: Writer) -> RunError:
    return RunError(
        f"{path.parent}: in use by {writer.in_words()}. Wait until it has finished, stop it, or name another folder "
        "with --output."
    )


def _content(writer: Writer) -> bytes:
    return json.dumps(asdict(writer), indent=2).encode() + b"\n"


def _parsed(content: bytes, path: Path) -> Writer | None:
    """The writer that is named there; `None` if there is none, or not all of it."""
    try:
        found = Writer(**parse_json(content, str(path)))
    except (UserError, TypeError):
        return None
    expected = asdict(_EXAMPLE)
    return found if all(type(value) is type(expected[name]) for name, value in asdict(found).items()) else None


@contextmanager
def _on_object_storage(path: Path) -> Iterator[Callable[[], None]]:
    lease = _take(path)
    thread = threading.Thread(target=lease.keep, name="writer", daemon=True)
    thread.start()
    try:
        yield lease.require_held
        lease.release(thread)
    except StorageError:
        raise  # storage does not answer, and waiting for it would take minutes
    except BaseException:
        lease.release(thread)
        raise
    finally:
        lease.is_over.set()
        _OWN.discard(lease.writer.id)


@dataclass(slots=True)
class _Lease:
    """The object of this writer, as it wrote it last."""

    path: Path
    writer: Writer
    version: str
    is_over: threading.Event = field(default_factory=threading.Event)
    _problem: RunError | None = None

    def keep(self) -> None:
        """Renew the object until the end, or until somebody else has taken it."""
        while self._problem is None and not self.is_over.wait(RENEWAL_SECONDS):
            try:
                self._renew()
            except RunError as error:
                self._problem = error

    def require_held(self) -> None:
        """Raise an error if the object is no longer this writer's."""
        if self._problem is not None:
            raise self._problem

    def release(self, keeping: threading.Thread) -> None:
        """Write that nobody writes the run."""
        self.is_over.set()
        keeping.join()
        if self._problem is None:
            try:
                write_object_if(self.path, NOBODY, self.version)
            except StorageError as error:
                LOG.warning("%s", error)

    def _renew(self) -> None:
        self.writer = replace(self.writer, renewals=self.writer.renewals + 1)
        version = _write(self.path, self.writer, self.version)
        if version is None:
            other, _ = _look(self.path)
            raise RunError(
                f"{self.path.parent}: this process did not answer for {LEASE_SECONDS:.0f} seconds, and the run was "
                f"taken over by {other.in_words() if other else 'another process'}. Finished work is kept."
            )
        self.version = version


def _look(path: Path) -> tuple[Writer | None, str | None]:
    """The writer that is named there, if there is one, and the version of the object."""
    # First the version: a condition on it fails if the object changes between the two requests.
    if (version := object_version(path)) is None:
        return None, None
    try:
        return _parsed(read_object(path), path), version
    except FileNotFoundError:
        return None, None


def _write(path: Path, writer: Writer, version: str | None) -> str | None:
    """The new version; `None` if somebody else has written it since."""
    if (written := write_object_if(path, _content(writer), version)) is not None:
        return written
    # A request that was repeated, since its answer was lost, is refused because of what it wrote itself.
    found, now = _look(path)
    return now if found == writer else None


def _take(path: Path) -> _Lease:
    """Become the writer, or raise an error that names the one that there is."""
    own = this_writer()
    _OWN.add(own.id)
    try:
        while True:
            other, version = _look(path)
            if other is not None and version is not None and _is_alive(path, other, version):
                raise _in_use(path, other)
            if (written := _write(path, own, version)) is not None:
                return _Lease(path, own, written)
    except BaseException:
        _OWN.discard(own.id)
        raise


def _is_alive(path: Path, other: Writer, version: str) -> bool:
    """Whether another writer still writes. If not, it has died, or the object has changed."""
    if (is_alive := other.is_alive()) is not None:
        return is_alive
    LOG.warning("%s: waiting up to %.0f seconds for %s.", path.parent, LEASE_SECONDS, other.in_words())
    watched, last = 0.0, time.monotonic()
    while watched < LEASE_SECONDS:
        time.sleep(LOOK_SECONDS)
        found, now_version = _look(path)
        if now_version != version:
            return found is not None and found.id == other.id
        now = time.monotonic()
        # While storage does not answer, nobody can renew anything.
        watched = watched + now - last if now - last < LEASE_SECONDS / 2 else 0.0
        last = now
    return False


@cache
def _machine() -> str:
    """This start of this machine, and whose process numbers are seen."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""


def _process_start(process: int) -> str | None:
    """When a process began, in ticks of the machine; `None` if there is none."""
    try:
        state, *fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in "ZX" else fields[18]
