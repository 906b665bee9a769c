from __future__ import annotations

import json
import pickle
import resource
import threading
from pathlib import Path

import pytest

from lookaway.core import RunError
from lookaway.io import journal as journal_module
from lookaway.io.files import list_files, write_text
from lookaway.io.journal import MERGED, Journal
from tests.support.s3_server import new_bucket, s3_server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(params=["file", "folder", pytest.param("objects", marks=pytest.mark.server)])
def path(request, tmp_path) -> Path:
    """A journal as it is on disk, copied from object storage to disk, and on object storage."""
    if request.param == "objects":
        request.getfixturevalue("server")
        return new_bucket() / "events.jsonl"
    if request.param == "folder":
        (tmp_path / "events.jsonl").mkdir()
    return tmp_path / "events.jsonl"


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "events.jsonl").mkdir()
    return tmp_path / "events.jsonl"


def appended(path: Path, count: int = 5) -> list[bytes]:
    lines = [b"line %d" % number for number in range(count)]
    for line in lines:
        Journal(path).append([line])
    return lines


def names(path: Path) -> list[str]:
    return [entry.name for entry in list_files(path, ".jsonl")]


def test_lines_come_back_in_the_order_of_the_appends(path):
    assert Journal(path).lines() == []
    journal = Journal(path)
    journal.append(["first", b"second"])
    Journal(path).append(["größer"])
    journal.append([])
    assert Journal(path).lines() == [b"first", b"second", "größer".encode()]
    assert journal.lines() == Journal(path).lines()


def test_news_are_given_once_whoever_wrote_them(path):
    reader, other = Journal(path), Journal(path)
    reader.append(["own"])
    other.append(["other"])
    assert reader.news() == [b"own", b"other"]
    assert reader.news() == []
    other.append(["later"])
    assert reader.news() == [b"later"]
    assert other.news() == [b"own", b"other", b"later"]


def test_own_news_come_without_those_of_others_where_these_take_long(path):
    reader, other = Journal(path), Journal(path)
    other.append(["other"])
    reader.append(["own"])
    first = reader.news(of_others=False)
    assert b"own" in first
    assert sorted(first + reader.news()) == [b"other", b"own"]
    assert reader.news(of_others=False) == reader.news() == []


def test_a_line_that_is_being_written_is_not_given_yet(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"whole\nha")
    reader = Journal(path)
    assert reader.news() == [b"whole"]
    with path.open("ab") as file:
        file.write(b"lf\n")
    assert reader.news() == [b"half"]


def test_merging_changes_no_line_and_gives_none_twice(path):
    reader = Journal(path)
    lines = appended(path)
    assert reader.news() == lines
    Journal(path).append(["new"])
    Journal(path).merge()
    assert reader.news() == [b"new"]
    assert Journal(path).lines() == [*lines, b"new"]
    Journal(path).append(["last"])
    Journal(path).merge()
    assert Journal(path).lines() == [*lines, b"new", b"last"]
    assert reader.news() == [b"last"]


def test_merging_leaves_one_object_and_then_leaves_it_alone(folder):
    appended(folder)
    Journal(folder).merge()
    (merged,) = names(folder)
    assert merged.startswith(MERGED)
    Journal(folder).merge()
    assert names(folder) == [merged]
    appended(folder, 1)
    Journal(folder).merge()
    assert len(names(folder)) == 2


@pytest.mark.parametrize("removed", [0, 1, 4])
def test_a_merger_that_is_killed_half_way_neither_loses_nor_doubles_a_line(removed, folder, monkeypatch):
    lines = appended(folder)
    reader = Journal(folder)
    reader.news()
    remove_all = journal_module.remove_all

    def die(paths):
        remove_all(paths[:removed])
        raise KeyboardInterrupt

    monkeypatch.setattr(journal_module, "remove_all", die)
    with pytest.raises(KeyboardInterrupt):
        Journal(folder).merge()
    monkeypatch.undo()
    assert len(names(folder)) == 6 - removed
    assert Journal(folder).lines() == lines
    assert reader.news() == []
    Journal(folder).merge()
    assert Journal(folder).lines() == lines
    assert reader.news() == []


def test_two_mergers_at_once_neither_lose_nor_double_a_line(folder, monkeypatch):
    lines = appended(folder)
    remove_all, is_first = journal_module.remove_all, [True]

    def another_first(paths):
        if is_first.pop() if is_first else False:
            Journal(folder).append(["meanwhile"])
            Journal(folder).merge()
        remove_all(paths)

    monkeypatch.setattr(journal_module, "remove_all", another_first)
    Journal(folder).merge()
    assert len(names(folder)) == 2
    assert Journal(folder).lines() == [*lines, b"meanwhile"]


def test_what_somebody_else_is_merging_is_left_to_them(folder, monkeypatch):
    appended(folder)
    before = names(folder)

    def vanished(paths):
        raise FileNotFoundError

    monkeypatch.setattr(journal_module, "read_all", vanished)
    Journal(folder).merge()
    assert names(folder) == before


def test_what_is_merged_while_it_is_read_is_read_where_it_went(folder, monkeypatch):
    lines = appended(folder)
    read_all, is_first = journal_module.read_all, [True]

    def merged_before(paths):
        if is_first.pop() if is_first else False:
            Journal(folder).merge()
        return read_all(paths)

    monkeypatch.setattr(journal_module, "read_all", merged_before)
    assert Journal(folder).lines() == lines


@pytest.mark.server
def test_writers_mergers_and_readers_at_once_agree_in_the_end(server):
    path = new_bucket() / "spending.jsonl"
    reader, seen, is_over = Journal(path), [], threading.Event()

    def write(number: int) -> None:
        journal = Journal(path)
        for count in range(15):
            journal.append([f"{number} {count}"])

    def merge() -> None:
        while not is_over.is_set():
            Journal(path).merge()

    writers = [threading.Thread(target=write, args=[number]) for number in range(3)]
    mergers = [threading.Thread(target=merge) for _ in range(2)]
    for thread in writers + mergers:
        thread.start()
    while any(thread.is_alive() for thread in writers):
        seen += reader.news()
    is_over.set()
    for thread in writers + mergers:
        thread.join()
    seen += reader.news()
    expected = sorted(b"%d %d" % (number, count) for number in range(3) for count in range(15))
    assert sorted(seen) == expected
    assert sorted(Journal(path).lines()) == expected


@pytest.mark.server
def test_what_a_run_noted_on_disk_counts_after_it_was_copied_to_object_storage(server):
    path = new_bucket() / "spending.jsonl"
    write_text(path, "old\n")
    journal = Journal(path)
    journal.append(["new"])
    assert journal.news() == [b"old", b"new"]
    Journal(path).append(["newer"])
    journal.merge()
    assert journal.news() == [b"newer"]
    assert journal.lines() == [b"old", b"new", b"newer"]


@pytest.mark.parametrize(
    "content",
    [
        "no json\n",
        "{}\n",
        '{"append": "a", "bytes": 99}\nshort\n',
        '{"append": "a", "bytes": -5}\n',
        '{"append": "a", "bytes": "x"}\n',
        '{"append": "a"',
        "[]\n",
    ],
)
def test_a_damaged_merged_object_is_named_and_not_half_read(content, folder):
    (folder / f"{MERGED}1.jsonl").write_text(content)
    with pytest.raises(RunError, match=rf"{MERGED}1\.jsonl: damaged"):
        Journal(folder).lines()


def test_lines_of_several_threads_never_mix(path):
    text = json.dumps("trace\n" * 5_000)
    threads = [threading.Thread(target=Journal(path).append, args=[[text, text]]) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Journal(path).lines() == [text.encode()] * 12


def test_a_journal_is_sent_to_another_process_without_what_it_has_read(path):
    journal = Journal(path)
    journal.append(["line"])
    journal.news()
    assert pickle.loads(pickle.dumps(journal)).news() == [b"line"]


def test_a_line_that_the_disk_had_no_room_for_leaves_nothing_behind(tmp_path):
    journal = Journal(tmp_path / "events.jsonl")
    journal.append(["first"])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match="No space left"):
            journal.append(["too long for what is left"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    journal.append(["second"])
    assert journal.lines() == [b"first", b"second"]


def test_an_append_after_an_unfinished_line_is_a_line_of_its_own(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"event": "started"}\n{"eve')
    journal = Journal(path)
    journal.end_line()
    journal.append(['{"event": "resumed"}'])
    assert journal.lines() == [b'{"event": "started"}', b'{"eve (unfinished)', b'{"event": "resumed"}']
    journal.end_line()
    assert path.read_bytes().count(b"\n") == 3


def test_a_last_line_that_lacks_only_its_end_is_not_lost(tmp_path):
    path = tmp_path / "events.jsonl"
    journal = Journal(path)
    journal.append(['{"event": "started"}'])
    path.write_bytes(path.read_bytes()[:-1])
    journal.end_line()
    journal.append(['{"event": "resumed"}'])
    assert Journal(path).lines() == [b'{"event": "started"}', b'{"event": "resumed"}']


def test_a_line_whose_checksum_fails_is_left_out_and_counted(tmp_path, caplog):
    path = tmp_path / "events.jsonl"
    Journal(path).append(['{"time": 1}', '{"time": 2}'])
    path.write_bytes(path.read_bytes().replace(b'"time": 1', b'"time": 3'))
    journal = Journal(path)
    assert journal.news() == [b'{"time": 2}']
    assert journal.damaged == 1
    assert "events.jsonl: 1 damaged lines are left out" in caplog.text
