from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Feature, RunError, StorageError
from lookaway.io import duckdb_object_fs as objects_in_place
from lookaway.io import object_storage
from lookaway.io import object_storage as patience
from lookaway.io.files import read_bytes, remove_all, write_whole
from lookaway.io.journal import Journal
from lookaway.io.object_storage import as_path
from lookaway.store import run_folder
from lookaway.store.feature_store import FeatureStore
from lookaway.store.outcome_reader import OutcomeReader
from lookaway.store.run_folder import RunFolder
from tests.store.rows import ASKED, measured, rollout, score, start_run
from tests.support.s3_server import S3Server, new_bucket, s3_server

pytestmark = pytest.mark.server

ENTRIES = [rollout(f"case{number}") for number in range(6)]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture
def bucket(server: S3Server) -> Path:
    return new_bucket()


def filled(path: Path) -> RunFolder:
    folder = start_run(path, *ENTRIES)
    for number, entry in enumerate(ENTRIES):
        folder.add([measured(score(number / 10, 0.1, 0.2), entry)])
    return folder


def seen(folder: RunFolder) -> tuple[list[str], list[object]]:
    reader = OutcomeReader(folder, [ASKED])
    return [repr(group) for group in reader.groups()], list(reader.units("light"))


def test_rows_and_what_was_asked_are_the_same_there_as_on_disk(bucket, tmp_path):
    on_disk, there = filled(tmp_path / "run"), filled(bucket / "run")
    assert seen(there) == seen(on_disk)
    assert there.lock() == on_disk.lock()
    assert there.about() == on_disk.about()
    assert there.rollouts().equals(on_disk.rollouts())
    assert [part.name for part in there.parts()] == [part.name for part in on_disk.parts()]
    assert [read_bytes(part) for part in there.parts()] == [read_bytes(part) for part in on_disk.parts()]


def test_the_name_of_a_run_is_no_pattern(bucket):
    folder = filled(bucket / "ru[n]* ?")
    decoy = filled(bucket / "run  x")
    before = seen(folder)
    folder.compact()
    assert seen(folder) == before
    assert len(decoy.parts()) == 6


def test_a_folder_that_is_no_run_says_how_to_make_one(bucket):
    with pytest.raises(RunError, match=r"not a run folder, there is no run\.json"):
        RunFolder(bucket / "none").about()
    with pytest.raises(RunError, match=r"not a run folder, there is no run\.json"):
        RunFolder(bucket / "none").rollouts()


def test_a_run_without_rows_is_all_not_yet_measured(bucket):
    (group,) = OutcomeReader(start_run(bucket), [ASKED]).groups()
    assert group.reasons == {"not_yet_measured": 1}


def test_a_database_reads_rows_in_place_and_copies_nothing(server, bucket, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    folder = filled(bucket)
    before = len(server.requests())
    OutcomeReader(folder, [ASKED]).groups()
    requests = [(method, path) for method, path in server.requests()[before:] if ".parquet" in path]
    assert {method for method, _ in requests} == {"GET"}
    parts = [path for _, path in requests if "/outcomes/" in path]
    assert len(set(parts)) == 6
    assert len(parts) <= 6 + 2  # two threads may ask for one at the same time
    assert os.listdir(tmp_path) == []


def test_of_a_large_object_only_what_is_asked_for_is_fetched(bucket, monkeypatch):
    monkeypatch.setattr(objects_in_place, "SMALL_BYTES", 4096)
    folder = start_run(bucket, *ENTRIES)
    units = [float(value) for value in np.random.default_rng(0).random(20_000)]
    folder.add([measured(score(0.5, *units), ENTRIES[0])])
    fetched: list[tuple[int, int]] = []

    def counted(path, start=None, end=None):
        fetched.append((start or 0, end or 0))
        return read_object(path, start, end)

    read_object = objects_in_place.read_object
    monkeypatch.setattr(objects_in_place, "read_object", counted)
    reader = OutcomeReader(folder, [ASKED])
    assert [unit["value"] for unit in reader.units("light")] != []
    size = len(read_bytes(folder.parts()[0]))
    assert size > 100_000
    assert all(end - start < size for start, end in fetched)


def test_compaction_changes_no_group_and_leaves_one_object(bucket):
    folder = filled(bucket)
    before = seen(folder)
    for number in range(3):
        folder.note("measured", rollout=str(number))
    folder.compact()
    assert seen(folder) == before
    assert [part.name[:8] for part in folder.parts()] == ["compact-"]
    assert len(object_storage.object_sizes(bucket / "events.jsonl")) == 1
    assert len(Journal(bucket / "events.jsonl").lines()) == 3
    folder.compact()
    assert len(folder.parts()) == 1


def test_two_that_compact_at_once_lose_nothing_and_nothing_counts_twice(bucket, monkeypatch):
    folder = filled(bucket)
    before = seen(folder)
    is_first = [True]

    def another_first(paths):
        if is_first.pop() if is_first else False:
            assert len(paths) == 6
            remove_all(paths[:1])  # so that both see different parts
            folder.compact()
        remove_all(paths)

    monkeypatch.setattr(run_folder, "remove_all", another_first)
    folder.compact()
    assert len(folder.parts()) == 2
    assert seen(folder) == before


def test_many_that_compact_write_and_read_at_once_agree(bucket):
    folder = filled(bucket)
    before, problems = seen(folder), []

    def compact() -> None:
        try:
            for _ in range(3):
                RunFolder(bucket).compact()
                for number, entry in enumerate(ENTRIES):
                    folder.add([measured(score(number / 10, 0.1, 0.2), entry)])
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=compact) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert seen(folder) == before
    for thread in threads:
        thread.join()
    assert problems == []
    folder.compact()
    assert seen(folder) == before


def test_a_part_that_vanishes_while_it_is_compacted_is_left_to_whoever_took_it(bucket, monkeypatch):
    folder = filled(bucket)

    def one_is_gone(paths):
        raise FileNotFoundError(paths[0])

    monkeypatch.setattr(run_folder, "read_all", one_is_gone)
    folder.compact()
    assert len(folder.parts()) == 6


def test_units_are_found_again_where_objects_were_compacted_since(bucket):
    folder = filled(bucket)
    reader = OutcomeReader(folder, [ASKED])
    folder.compact()
    assert len(list(reader.units("light"))) == 12


def test_a_damaged_object_is_left_out_and_then_set_aside(bucket, caplog):
    folder = filled(bucket)
    part = folder.parts()[0]
    content = read_bytes(part)
    for damaged in (content[:-20], b"", b"PAR1", content[:50] + b"?" + content[51:]):
        write_whole(part, lambda file, damaged=damaged: file.write(damaged))
        (group,) = OutcomeReader(folder, [ASKED]).groups()
        assert len(group.values) == len(ENTRIES) - 1
    assert caplog.text.count(part.name) == 4
    (aside,) = folder.set_aside_damaged()
    assert aside.name == f"{part.name}.damaged"
    assert read_bytes(aside) == damaged
    assert part not in folder.parts()
    assert len(folder.parts()) == len(ENTRIES) - 1


def test_a_server_that_comes_back_while_rows_are_read_is_waited_for(server, bucket, monkeypatch):
    monkeypatch.setattr(objects_in_place, "CACHED_BYTES", 0)
    monkeypatch.setattr(patience, "LONGEST_WAIT_SECONDS", 0.25)
    folder = filled(bucket)
    before, reader = seen(folder), OutcomeReader(folder, [ASKED])
    restarting = server.kill_and_start(seconds=0.1)
    while server.answers():
        pass
    assert list(reader.units("light")) == before[1]
    restarting.join()
    assert seen(folder) == before


def test_a_server_that_stays_away_is_not_called_a_damaged_file(server, bucket, monkeypatch):
    monkeypatch.setattr(objects_in_place, "CACHED_BYTES", 0)
    folder = filled(bucket)
    reader = OutcomeReader(folder, [ASKED])
    monkeypatch.setattr(patience, "MAX_RETRY_SECONDS", 0.3)
    server.kill()
    asks = (
        lambda: list(reader.units("light")),
        lambda: OutcomeReader(folder, [ASKED]),
        folder.parts,
        folder.about,
        folder.compact,
        lambda: folder.add([measured(score(0.5))]),
        lambda: folder.note("measured"),
        lambda: FeatureStore(bucket).get("a", "b"),
        lambda: FeatureStore(bucket).put("a", "b", Feature({"x": np.zeros(3)})),
    )
    try:
        for ask in asks:
            with pytest.raises(RunError, match=r"did not answer for .* the same command to resume") as told:
                ask()
            assert "Delete" not in str(told.value)
    finally:
        server.start()
    assert len(list(reader.units("light"))) == 12


def test_objects_that_may_be_listed_and_not_read_are_not_called_damaged(bucket, monkeypatch):
    def refused(path, start=None, end=None):
        raise StorageError(f"{path}: object storage refuses it")

    folder = filled(bucket)
    monkeypatch.setattr(object_storage, "read_object", refused)
    with pytest.raises(StorageError, match="refuses it"):
        OutcomeReader(folder, [ASKED])


def test_features_are_kept_there_and_a_damaged_one_is_none(bucket):
    store, feature = FeatureStore(bucket / "features"), Feature({"x": np.arange(5)}, {"rule": "fold"})
    assert store.get("ab" * 16, "cd" * 16) is None
    store.put("ab" * 16, "cd" * 16, feature)
    found = store.get("ab" * 16, "cd" * 16)
    assert found is not None
    np.testing.assert_array_equal(found["x"], feature["x"])
    path = as_path(str(bucket / "features" / ("cd" * 16) / "ab" / f"{'ab' * 16}.npz"))
    whole = read_bytes(path)
    write_whole(path, lambda file: file.write(whole[:-30]))
    assert store.get("ab" * 16, "cd" * 16) is None
