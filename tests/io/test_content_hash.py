import os
import time

import pytest

from lookaway.io.files import content_hash
from tests.support.clips import numbered_frames, write_clip

MEBIBYTE = 1024 * 1024


def test_name_place_and_time_do_not_matter(tmp_path):
    first, second = tmp_path / "first.mp4", tmp_path / "folder" / "second.bin"
    second.parent.mkdir()
    for path in (first, second):
        path.write_bytes(b"the same content")
    os.utime(second, (1, 1))
    assert content_hash(first) == content_hash(second)
    second.rename(tmp_path / "third")
    assert content_hash(first) == content_hash(tmp_path / "third")


def test_the_hash_never_changes_between_releases(tmp_path):
    (tmp_path / "file").write_bytes(b"lookaway")
    assert content_hash(tmp_path / "file") == "782eff3f71e907566fd778c3b122d52bc4cfc0e2ac01bd8104e39cf740006baa"


@pytest.mark.parametrize("size", [1, 100, 70_000, MEBIBYTE])
def test_any_byte_of_a_small_file_matters(tmp_path, size):
    path = tmp_path / "file"
    path.write_bytes(bytes(size))
    before = content_hash(path)
    for position in {0, size // 3, size // 2, size - 1}:
        path.write_bytes(bytes(position) + b"\1" + bytes(size - position - 1))
        assert content_hash(path) != before


@pytest.mark.parametrize("size", [0, 1, 65_536, MEBIBYTE, 3 * MEBIBYTE])
def test_the_size_matters(tmp_path, size):
    path, longer = tmp_path / "file", tmp_path / "longer"
    path.write_bytes(bytes(size))
    longer.write_bytes(bytes(size + 1))
    assert content_hash(path) != content_hash(longer)


@pytest.mark.parametrize("position", [0, 65_535, -65_536, -1])
def test_both_ends_of_a_large_file_matter(tmp_path, position):
    path = tmp_path / "file"
    data = bytearray(5 * MEBIBYTE + 7)
    path.write_bytes(data)
    before = content_hash(path)
    data[position] = 1
    path.write_bytes(data)
    assert content_hash(path) != before


def test_a_long_change_in_a_large_file_shows(tmp_path):
    path = tmp_path / "file"
    data = bytearray(8 * MEBIBYTE)
    path.write_bytes(data)
    before = content_hash(path)
    data[3 * MEBIBYTE : 4 * MEBIBYTE] = b"\1" * MEBIBYTE
    path.write_bytes(data)
    assert content_hash(path) != before


def test_encoding_again_gives_another_hash(tmp_path):
    frames = numbered_frames(8)
    first = write_clip(tmp_path / "first.mp4", frames, options={"crf": "18"})
    second = write_clip(tmp_path / "second.mp4", frames, options={"crf": "30"})
    assert content_hash(first) != content_hash(second)


def test_a_huge_file_is_not_read_whole(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(64 * 1024 * MEBIBYTE)
    started = time.process_time()
    content_hash(path)
    assert time.process_time() - started < 1
