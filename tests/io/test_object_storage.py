from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from lookaway.core import DatasetError, RunError, StorageError
from lookaway.io import object_storage
from lookaway.io import object_storage as patience
from lookaway.io.files import (
    is_file,
    list_files,
    read_all,
    read_bytes,
    read_json,
    remove_all,
    write_json,
    write_text,
    write_whole,
)
from lookaway.io.object_storage import as_path
from tests.support.s3_server import SECRET, S3Server, forget_servers, new_bucket, s3_server

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture
def bucket(server: S3Server) -> Path:
    return new_bucket()


def test_an_object_comes_back_as_it_was_written(bucket):
    write_text(bucket / "run" / "a [1]* +ü.txt", "content")
    assert read_bytes(bucket / "run" / "a [1]* +ü.txt") == b"content"
    write_json(bucket / "run.json", {"ü": [1, None]})
    assert read_json(bucket / "run.json") == {"ü": [1, None]}


def test_a_listing_holds_the_files_of_one_folder_in_order_and_nothing_else(bucket):
    for name in ("b.parquet", "a.parquet", "a.json", "deeper/c.parquet", "folder.parquet/d.parquet"):
        write_text(bucket / "run" / name, name)
    write_text(bucket / "runner" / "d.parquet", "d")
    assert list_files(bucket / "run", ".parquet") == [bucket / "run" / "a.parquet", bucket / "run" / "b.parquet"]
    assert list_files(bucket / "none", ".parquet") == []
    assert list_files(bucket / "run" / "a.parquet", ".parquet") == []
    assert len(list_files(bucket / "run" / "deeper", ".parquet")) == 1


def test_more_objects_than_one_answer_holds_are_all_listed_read_and_removed(bucket, monkeypatch):
    monkeypatch.setattr(object_storage, "PAGE", 5)
    paths = [bucket / f"{number:02d}.txt" for number in range(30)]
    object_storage.for_all(lambda path: write_text(path, path.name), paths)
    assert list_files(bucket, ".txt") == paths
    assert read_all(paths) == [path.name.encode() for path in paths]
    remove_all(paths[1:])
    assert list_files(bucket, ".txt") == paths[:1]


def test_what_is_merged_between_two_answers_to_one_listing_is_still_listed(bucket, monkeypatch):
    small, merged = bucket / "b.txt", bucket / "a.txt"
    listings = [{bucket / "c.txt": 1}, {bucket / "c.txt": 1, merged: 2}]
    monkeypatch.setattr(object_storage, "_listed", lambda folder: listings.pop(0))
    assert list_files(bucket, ".txt") == [bucket / "c.txt"]
    listings[:] = [{bucket / "c.txt": 1, small: 1}, {bucket / "c.txt": 1, merged: 2}]
    monkeypatch.setattr(object_storage, "PAGE", 2)
    assert list_files(bucket, ".txt") == [merged, small, bucket / "c.txt"]


def test_what_is_not_there_is_told_apart_from_what_is(bucket):
    write_text(bucket / "folder" / "file", "")
    assert is_file(bucket / "folder" / "file")
    assert not is_file(bucket / "folder")
    assert not is_file(bucket / "none")
    with pytest.raises(FileNotFoundError):
        read_bytes(bucket / "none")
    with pytest.raises(DatasetError, match="there is no such file"):
        read_json(bucket / "none.json")
    remove_all([bucket / "none"])


def test_what_another_process_writes_is_seen_at_once(bucket):
    assert list_files(bucket, ".txt") == []
    write_text(bucket / "a.txt", "")
    assert list_files(bucket, ".txt") == [bucket / "a.txt"]
    remove_all([bucket / "a.txt"])
    assert list_files(bucket, ".txt") == []


def test_a_write_that_fails_leaves_what_was_there(bucket):
    def fail(file):
        file.write(b"half")
        raise ZeroDivisionError

    write_text(bucket / "file", "old")
    with pytest.raises(ZeroDivisionError):
        write_whole(bucket / "file", fail)
    assert read_bytes(bucket / "file") == b"old"


def all_calls(folder: Path):
    return [
        lambda: read_bytes(folder / "file"),
        lambda: read_json(folder / "file"),
        lambda: is_file(folder / "file"),
        lambda: list_files(folder, ".txt"),
        lambda: write_text(folder / "file", ""),
        lambda: remove_all([folder / "file"]),
    ]


@pytest.mark.parametrize("number", range(6))
def test_a_missing_bucket_is_told_at_once(number, bucket):
    started = time.monotonic()
    with pytest.raises(StorageError, match=r"s3://no-such-bucket: there is no such bucket\. Create it"):
        all_calls(as_path("s3://no-such-bucket/run"))[number]()
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("number", range(6))
def test_a_server_that_is_gone_is_never_taken_for_a_missing_file(number, bucket, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://user:password@127.0.0.1:9")
    monkeypatch.setattr(patience, "MAX_RETRY_SECONDS", 0.2)
    forget_servers()
    with pytest.raises(StorageError, match=r"did not answer for .* seconds, .* tries .*same command to resume") as told:
        all_calls(bucket / "run")[number]()
    assert isinstance(told.value, RunError)
    assert "password" not in str(told.value)
    assert SECRET not in str(told.value)
    monkeypatch.undo()
    forget_servers()


def test_an_acknowledged_object_outlasts_a_server_that_is_killed_between_uploads(server, bucket, monkeypatch):
    monkeypatch.setattr(patience, "MAX_RETRY_SECONDS", 0.0)
    written: set[Path] = set()
    removed = bucket / "removed"
    write_text(removed, "")
    remove_all([removed])

    def upload(number: int) -> None:
        with suppress(StorageError):
            for count in range(1000):
                path = bucket / f"{number}-{count}.txt"
                write_text(path, path.name)
                written.add(path)

    threads = [threading.Thread(target=upload, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    while len(written) < 40:
        time.sleep(0.01)
    server.kill()
    for thread in threads:
        thread.join()
    server.start()
    found = list_files(bucket, ".txt")
    assert written <= set(found)
    assert len(found) <= len(written) + len(threads)
    assert read_all(found) == [path.name.encode() for path in found]
    assert not is_file(removed)


UPLOAD = """
import hashlib, os, sys
from lookaway.io.files import write_whole
from lookaway.io.object_storage import as_path
while True:
    content = os.urandom(3_000_000)
    path = as_path(sys.argv[1]) / f"{hashlib.sha256(content).hexdigest()}.bin"
    write_whole(path, lambda file: file.write(content))
    print("written", flush=True)
"""


def test_an_object_is_whole_or_not_there_whenever_its_writer_is_killed(bucket):
    dice = random.Random(0)
    for _ in range(4):
        with subprocess.Popen([sys.executable, "-c", UPLOAD, str(bucket)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(dice.uniform(0, 0.05))
            writer.kill()
    found = list_files(bucket, ".bin")
    assert len(found) >= 4
    assert [hashlib.sha256(content).hexdigest() for content in read_all(found)] == [path.stem for path in found]
