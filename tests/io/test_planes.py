import os
import time
import tracemalloc

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

from lookaway.core import ArtifactError, Reason
from lookaway.io import planes
from lookaway.io.encoding import Encoding, write_pictures
from lookaway.io.planes import read_planes, write_planes
from tests.support.clips import write_clip

RNG = np.random.default_rng(0)
DEPTH = [RNG.integers(0, 65536, (48, 64), np.uint16) for _ in range(5)]
INSTANCES = [(np.arange(48 * 64).reshape(48, 64) // 200 + index).astype(np.uint8) for index in range(5)]


def refused(path):
    with pytest.raises(ArtifactError) as raised:
        list(read_planes(path))
    assert str(raised.value).startswith(f"{path.name}: ")
    assert raised.value.reason is Reason.INVALID_INPUT
    return str(raised.value)


def with_codec(path, frames, *, pixel_format="gray", **fields):
    pictures = [av.VideoFrame.from_ndarray(frame, format=pixel_format) for frame in frames]
    encoding = Encoding(**{"container": "matroska", "codec": "ffv1", "fps": 1, "options": {}, **fields})
    write_pictures(path, pictures, encoding)
    return path


@pytest.mark.parametrize("written", [DEPTH, INSTANCES], ids=["16 bits", "8 bits"])
def test_planes_come_back_as_they_were_written(tmp_path, written):
    write_planes(tmp_path / "a.mkv", iter(written))
    found = list(read_planes(tmp_path / "a.mkv"))
    assert {plane.dtype for plane in found} == {written[0].dtype}
    np.testing.assert_array_equal(np.stack(found), np.stack(written))


@settings(max_examples=30, deadline=None)
@given(
    plane=some.arrays(
        st.sampled_from([np.uint8, np.uint16]), st.tuples(st.integers(2, 40), st.integers(2, 40)), fill=st.just(7)
    ),
    count=st.integers(1, 3),
)
def test_any_size_and_any_value_comes_back(tmp_path_factory, plane, count):
    path = tmp_path_factory.mktemp("planes") / "a.mkv"
    write_planes(path, [plane] * count)
    np.testing.assert_array_equal(np.stack(list(read_planes(path))), np.stack([plane] * count))


def test_two_writes_give_the_same_bytes(tmp_path):
    for name in ("a.mkv", "b.mkv"):
        write_planes(tmp_path / name, DEPTH)
    assert (tmp_path / "a.mkv").read_bytes() == (tmp_path / "b.mkv").read_bytes()


def test_planes_are_read_one_at_a_time(tmp_path):
    plane = RNG.integers(0, 65536, (256, 256), np.uint16)
    write_planes(tmp_path / "a.mkv", (plane for _ in range(40)))
    tracemalloc.start()
    count = sum(1 for _ in read_planes(tmp_path / "a.mkv"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 40
    assert peak < 10 * plane.nbytes


def test_what_is_not_read_to_the_end_can_be_removed_and_read_again(tmp_path):
    write_planes(tmp_path / "a.mkv", DEPTH)
    first = next(read_planes(tmp_path / "a.mkv"))
    np.testing.assert_array_equal(first, next(read_planes(tmp_path / "a.mkv")))


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ([], "no pictures"),
        ([np.zeros((4, 4))], "float64"),
        ([np.zeros((4, 4), np.int32)], "int32"),
        ([np.zeros((4, 4, 3), np.uint8)], "expected"),
        ([np.zeros((0, 4), np.uint8)], "expected"),
        ([np.zeros((4, 1), np.uint8)], "2 or more each"),
        ([INSTANCES[0], DEPTH[0]], "picture 1"),
        ([INSTANCES[0], INSTANCES[0][:40]], "picture 1"),
    ],
)
def test_planes_that_do_not_belong_together_are_refused_and_leave_no_file(tmp_path, written, words):
    with pytest.raises(ValueError, match=words):
        write_planes(tmp_path / "a.mkv", written)
    assert os.listdir(tmp_path) == []


def test_a_missing_file_is_missing_input(tmp_path):
    with pytest.raises(ArtifactError, match="no such file") as raised:
        list(read_planes(tmp_path / "none.mkv"))
    assert raised.value.reason is Reason.MISSING_INPUT


def test_a_folder_a_pipe_text_and_another_container_are_refused(tmp_path):
    (tmp_path / "folder.mkv").mkdir()
    os.mkfifo(tmp_path / "pipe.mkv")
    (tmp_path / "text.mkv").write_text("not a video")
    (tmp_path / "empty.mkv").write_bytes(b"")
    write_clip(tmp_path / "video.mp4", [np.zeros((32, 32, 3), np.uint8)] * 2)
    for name in ("folder.mkv", "pipe.mkv", "text.mkv", "empty.mkv"):
        refused(tmp_path / name)
    assert "not a Matroska file" in refused(tmp_path / "video.mp4")


def test_another_codec_and_other_pixels_are_refused(tmp_path):
    crc = {"level": "3", "slicecrc": "1"}
    assert "FFV1" in refused(with_codec(tmp_path / "h264.mkv", INSTANCES, codec="libx264"))
    wide = [np.zeros((48, 32), np.uint8)] * 2
    assert "is yuv420p" in refused(with_codec(tmp_path / "yuv.mkv", wide, pixel_format="yuv420p", options=crc))


def test_a_file_without_checksums_is_refused(tmp_path):
    options = {"level": "3", "slicecrc": "0"}
    assert "damaged" in refused(with_codec(tmp_path / "a.mkv", INSTANCES, options=options))


def test_a_header_that_claims_a_huge_picture_is_refused_at_once(tmp_path, monkeypatch):
    write_planes(tmp_path / "a.mkv", INSTANCES)
    monkeypatch.setattr(planes, "MAX_PIXELS", 48 * 64 - 1)
    refused(tmp_path / "a.mkv")
    monkeypatch.undo()
    data = (tmp_path / "a.mkv").read_bytes()
    width = data.index(b"\xb0\x81\x40")  # PixelWidth of one byte, 64, and PixelHeight, 48
    assert data[width + 3 : width + 6] == b"\xba\x81\x30"
    (tmp_path / "b.mkv").write_bytes(data[:width] + b"\xb0\x84\x7f\xff\xff\xff"[:6] + data[width + 6 :])
    started = time.process_time()
    refused(tmp_path / "b.mkv")
    assert time.process_time() - started < 2


def test_a_damaged_width_is_noticed(tmp_path):
    write_planes(tmp_path / "a.mkv", INSTANCES)
    data = (tmp_path / "a.mkv").read_bytes()
    (tmp_path / "b.mkv").write_bytes(data.replace(b"\xb0\x81\x40\xba\x81\x30", b"\xb0\x81\x44\xba\x81\x30"))
    assert "is 48x68, or damaged, expected 48x64" in refused(tmp_path / "b.mkv")


def test_a_picture_that_is_missing_between_two_others_is_noticed(tmp_path):
    options = {"level": "3", "slicecrc": "1", "g": "1"}
    path = with_codec(tmp_path / "a.mkv", INSTANCES, options=options, fps=2, metadata={"SHAPE": "48x64"})
    assert "picture 1 is missing" in refused(path)


@pytest.mark.parametrize("written", [DEPTH, INSTANCES], ids=["16 bits", "8 bits"])
def test_no_flipped_bit_changes_a_plane_in_silence(tmp_path, written):
    write_planes(tmp_path / "a.mkv", written)
    data = (tmp_path / "a.mkv").read_bytes()
    random = np.random.default_rng(1)
    refusals = 0
    for _ in range(400):
        copy = bytearray(data)
        copy[random.integers(len(data))] ^= 1 << random.integers(8)
        (tmp_path / "b.mkv").write_bytes(copy)
        try:
            np.testing.assert_array_equal(np.stack(list(read_planes(tmp_path / "b.mkv"))), np.stack(written))
        except ArtifactError:
            refusals += 1
    assert refusals > 200


def test_no_cut_goes_unnoticed(tmp_path):
    write_planes(tmp_path / "a.mkv", INSTANCES)
    data = (tmp_path / "a.mkv").read_bytes()
    for kept in [*range(0, len(data), 61), len(data) - 1]:
        (tmp_path / "b.mkv").write_bytes(data[:kept])
        refused(tmp_path / "b.mkv")


def test_a_blank_part_goes_never_unnoticed(tmp_path):
    write_planes(tmp_path / "a.mkv", DEPTH)
    data = (tmp_path / "a.mkv").read_bytes()
    for start in range(0, len(data) - 400, len(data) // 20):
        (tmp_path / "b.mkv").write_bytes(data[:start] + bytes(400) + data[start + 400 :])
        try:
            np.testing.assert_array_equal(np.stack(list(read_planes(tmp_path / "b.mkv"))), np.stack(DEPTH))
        except ArtifactError:
            continue
        pytest.fail(f"a gap at byte {start} went unnoticed")
