"""Who writes a run folder: on disk, and on object storage with clocks and servers that do as a test says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from lookaway.core import RunError, StorageError
from lookaway.store import writer as module
from lookaway.store.writer import WRITER, Writer, sole_writer, this_writer

IN_USE = rf"in use by process {os.getpid()} on "


def all_at_once(folder: Path, count: int) -> list[str]:
    """What becomes of so many writers that begin together and write until all have begun: nothing, or an error."""
    begin, tried = threading.Barrier(count), threading.Barrier(count)

    def write(number: int) -> str:
        begin.wait()
        with ExitStack() as held:
            try:
                held.enter_context(sole_writer(folder))
                return ""
            except RunError as error:
                return str(error)
            finally:
                tried.wait()

    with ThreadPoolExecutor(count) as pool:
        return sorted(pool.map(write, range(count)))


# On disk


def test_one_of_eight_writers_at_once_writes_and_the_others_name_it(tmp_path):
    first, *others = all_at_once(tmp_path / "run", 8)
    assert first == ""
    assert len(others) == 7
    assert all(f"in use by process {os.getpid()} on " in error for error in others)


def test_a_folder_is_free_again_at_the_end_and_after_an_error_and_nothing_stays_behind(tmp_path):
    for error in (None, KeyboardInterrupt):
        with ExitStack() as ending:
            if error:
                ending.enter_context(pytest.raises(error))
            with sole_writer(tmp_path / "run"):
                assert (tmp_path / "run" / WRITER).exists()
                if error:
                    raise error
        assert list((tmp_path / "run").iterdir()) == []


def test_one_that_is_refused_leaves_the_writer_its_file(tmp_path):
    with sole_writer(tmp_path):
        before = (tmp_path / WRITER).read_bytes()
        with pytest.raises(RunError, match=IN_USE), sole_writer(tmp_path):
            pytest.fail("two write at once")
        assert (tmp_path / WRITER).read_bytes() == before


HOLDER = """
import sys
from pathlib import Path
from lookaway.store.writer import sole_writer
with sole_writer(Path(sys.argv[1])):
    print("writes", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.merge
def test_the_file_of_a_killed_process_blocks_nobody(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "writes\n"
        with pytest.raises(RunError, match=f"in use by process {holder.pid} on "), sole_writer(tmp_path):
            pytest.fail("two write at once")
        holder.kill()
    assert json.loads((tmp_path / WRITER).read_text())["process"] == holder.pid
    with sole_writer(tmp_path):
        assert json.loads((tmp_path / WRITER).read_text())["process"] == os.getpid()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"host": "h", "process": 1, "since": "s"}'])
def test_a_file_that_nobody_has_locked_blocks_nobody_whatever_it_says(content, tmp_path):
    (tmp_path / WRITER).write_bytes(content)
    with sole_writer(tmp_path):
        pass


def test_a_file_that_its_writer_removes_meanwhile_is_not_taken_for_the_lock(tmp_path, monkeypatch):
    flock, ended = module.fcntl.flock, []

    def end_the_other_first(file: Any, how: int) -> None:
        if not ended:
            ended.append((tmp_path / WRITER).unlink())
        flock(file, how)

    monkeypatch.setattr(module.fcntl, "flock", end_the_other_first)
    with sole_writer(tmp_path), pytest.raises(RunError, match=IN_USE), sole_writer(tmp_path):
        pytest.fail("two write at once")


def test_options_of_the_command_which_may_be_keys_are_not_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/lookaway", "eval", "data", "--judge-key", "sk-0123456789"])
    assert this_writer().command == "lookaway eval"
    monkeypatch.setattr(sys, "argv", ["script.py", "sk-0123456789"])
    assert this_writer().command == "script.py"


def test_a_folder_that_cannot_be_written_is_an_error_of_the_user(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="the run cannot be written here"), sole_writer(tmp_path / "file" / "run"):
        pytest.fail("it was written")


# Who is alive


def test_a_process_is_known_by_its_number_its_start_and_its_machine():
    own = this_writer()
    assert own.is_alive() is False  # it has not begun to write
    assert replace(own, machine="another").is_alive() is None
    assert replace(own, machine="").is_alive() is None
    parent = replace(own, process=os.getppid(), process_start="of another one with its number")
    assert parent.is_alive() is False
    assert replace(parent, process_start=module._process_start(os.getppid()) or "").is_alive() is None  # it may write


def test_a_process_that_has_ended_and_was_not_waited_for_is_dead():
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert module._process_start(ended.pid) is None
    ended.wait()
    assert module._process_start(ended.pid) is None


# On object storage

RUN = PurePosixPath("bucket/run")  # no path on disk, so it is remote


class Storage:
    """Objects with versions, in memory, and a clock that runs while somebody sleeps; there is no other time."""

    def __init__(self) -> None:
        self.content, self.version, self.now, self.seconds_per_look = b"", 0, 0.0, 0.0
        self.on_sleep: Callable[[], None] = lambda: None
        self.loses_answers = False
        self._one = threading.Lock()

    def object_version(self, path: Path) -> str | None:
        self.now += self.seconds_per_look
        return str(self.version) if self.version else None

    def read_object(self, path: Path) -> bytes:
        return self.content

    def write_object_if(self, path: Path, content: bytes, version: str | None) -> str | None:
        with self._one:
            if version != (str(self.version) if self.version else None):
                return None
            self.content, self.version = content, self.version + 1
            return None if self.loses_answers else str(self.version)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.on_sleep()

    def write(self, writer: Writer | None) -> None:
        """As another process would."""
        self.content, self.version = module._content(writer) if writer else module.NOBODY, self.version + 1


@pytest.fixture
def storage(monkeypatch) -> Iterator[Storage]:
    storage = Storage()
    for name in ("object_version", "read_object", "write_object_if"):
        monkeypatch.setattr(module, name, getattr(storage, name))
    monkeypatch.setattr(module, "time", storage)
    return storage


OTHER = Writer(host="far", process=7, since="2031-01-01 00:00:00 UTC", command="lookaway eval", machine="m", id="other")


def test_one_of_eight_writers_of_a_bucket_writes_and_the_others_name_it(storage):
    first, *others = all_at_once(RUN, 8)
    assert first == ""
    assert len(others) == 7
    assert all(f"in use by process {os.getpid()} on " in error for error in others)
    assert storage.content == module.NOBODY


def test_a_writer_that_renews_its_object_is_alive_whatever_its_clock_says(storage):
    storage.write(OTHER)
    storage.on_sleep = lambda: storage.write(replace(OTHER, renewals=1)) if storage.now > 50 else None
    with pytest.raises(RunError, match=r"in use by process 7 on far \(lookaway eval\), since 2031"), sole_writer(RUN):
        pytest.fail("two write at once")
    assert 50 < storage.now < module.LEASE_SECONDS


def test_an_object_that_is_not_renewed_for_the_time_of_a_lease_is_taken_over(storage):
    storage.write(OTHER)
    with sole_writer(RUN):
        assert json.loads(storage.content)["process"] == os.getpid()
    assert module.LEASE_SECONDS <= storage.now < module.LEASE_SECONDS + 2 * module.LOOK_SECONDS


def test_a_process_that_lives_and_no_longer_writes_blocks_nobody(storage):
    parent = replace(this_writer(), process=os.getppid(), process_start=module._process_start(os.getppid()) or "")
    storage.write(parent)
    with sole_writer(RUN):
        pass
    assert storage.now >= module.LEASE_SECONDS


def test_a_process_of_this_machine_that_has_died_is_not_waited_for(storage):
    storage.write(replace(this_writer(), process=os.getppid(), process_start="of another one with its number"))
    with sole_writer(RUN):
        pass
    assert storage.now == 0


@pytest.mark.parametrize("change", [{"process": "../self"}, {"machine": ["m"]}, {"id": None}, {"renewals": 1.5}])
def test_an_object_that_names_no_writer_blocks_nobody(change, storage):
    storage.content, storage.version = json.dumps({**asdict(OTHER), **change}).encode(), 1
    with sole_writer(RUN):
        pass
    assert storage.now == 0


def test_time_in_which_storage_does_not_answer_does_not_count(storage):
    storage.write(OTHER)

    def freeze() -> None:
        storage.seconds_per_look = 500.0 if 50 < storage.now < 100 else 0.0

    storage.on_sleep = freeze
    with sole_writer(RUN):
        pass
    assert storage.now > 50 + 500 + module.LEASE_SECONDS


def test_an_object_that_is_released_while_it_is_watched_is_free(storage):
    storage.write(OTHER)
    storage.on_sleep = lambda: storage.write(None) if storage.version == 1 else None
    with sole_writer(RUN):
        pass
    assert storage.now == module.LOOK_SECONDS


def test_of_two_that_wait_for_a_dead_writer_one_takes_its_place_and_the_other_sees_it(storage):
    storage.write(OTHER)
    quicker = replace(OTHER, process=8, id="quicker")
    storage.on_sleep = lambda: storage.write(replace(quicker, renewals=int(storage.now))) if storage.now > 59 else None
    with pytest.raises(RunError, match="in use by process 8 on far"), sole_writer(RUN):
        pytest.fail("two write at once")


def test_an_object_whose_answer_was_lost_is_recognised_as_the_own(storage):
    storage.loses_answers = True
    with sole_writer(RUN) as require_sole:
        require_sole()
        assert storage.version == 1


def test_a_writer_that_was_taken_over_is_told_by_whom(storage, monkeypatch):
    lease = module._take(RUN / WRITER)
    storage.write(OTHER)
    monkeypatch.setattr(module, "RENEWAL_SECONDS", 0.0)
    lease.keep()
    with pytest.raises(RunError, match=r"the run was taken over by process 7 on far .* Finished work is kept"):
        lease.require_held()


def test_a_lease_is_renewed_until_it_is_released(storage, monkeypatch):
    lease, renewed = module._take(RUN / WRITER), []

    def wait(seconds: float) -> bool:
        renewed.append(json.loads(storage.content)["renewals"])
        return len(renewed) > 3

    lease.is_over = type("Event", (), {"wait": staticmethod(wait)})()
    lease.keep()
    assert renewed == [0, 1, 2, 3]
    lease.require_held()


def test_after_an_error_of_storage_nothing_is_written_and_the_same_process_goes_on(storage):
    with pytest.raises(StorageError), sole_writer(RUN):
        raise StorageError("it does not answer.")
    assert json.loads(storage.content)["process"] == os.getpid()
    with sole_writer(RUN):
        pass
    assert storage.now == 0
    assert storage.content == module.NOBODY
