import io
import os
import pickle
import struct
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from numpy.lib import format as npy

from lookaway.core import ArtifactError, Reason
from lookaway.io import arrays
from lookaway.io.arrays import ArrayArchive, read_array


def npy_bytes(array, **options):
    buffer = io.BytesIO()
    npy.write_array(buffer, array, **options)
    return buffer.getvalue()


def header_bytes(shape, descr="<f4", fortran_order=False):
    """The beginning of a `.npy` file that claims a shape, without anything behind it."""
    buffer = io.BytesIO()
    npy.write_array_header_1_0(buffer, {"shape": shape, "fortran_order": fortran_order, "descr": descr})
    return buffer.getvalue()


def archive_of(path, *, compression=zipfile.ZIP_STORED, **members):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


def read(path, name="values"):
    with ArrayArchive(path) as archive:
        return archive.read(name)


def refused(path, name="values", read=read):
    with pytest.raises(ArtifactError) as raised:
        read(path, name)
    assert raised.value.reason is Reason.INVALID_INPUT
    assert str(raised.value).startswith(f"{path.name}: ")
    return str(raised.value)


def read_shape(path, name="values"):
    with ArrayArchive(path) as archive:
        return archive.shape(name)


def read_rows(path, name="values"):
    with ArrayArchive(path) as archive:
        return list(archive.rows(name))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8", "u1", "?", ">f4", ">i2"])
def test_arrays_come_back_as_they_were_saved(tmp_path, save, dtype):
    values = np.arange(24).reshape(4, 3, 2).astype(dtype)
    save(tmp_path / "a.npz", values=values, other=np.zeros(3))
    found = read(tmp_path / "a.npz")
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(np.stack(read_rows(tmp_path / "a.npz")), values)


@pytest.mark.parametrize(
    "values", [np.float64(3.5), np.arange(5), np.zeros((0, 3)), np.zeros((2, 0)), np.ones((1, 1, 1))]
)
def test_arrays_of_any_shape_are_read(tmp_path, values):
    np.savez(tmp_path / "a.npz", values=values)
    found = read(tmp_path / "a.npz")
    assert found.shape == np.shape(values)
    np.testing.assert_array_equal(found, values)


def test_column_order_is_read_whole_and_not_by_rows(tmp_path):
    values = np.asfortranarray(np.arange(24.0).reshape(4, 3, 2))
    np.savez(tmp_path / "a.npz", values=values)
    np.testing.assert_array_equal(read(tmp_path / "a.npz"), values)
    assert "default order" in refused(tmp_path / "a.npz", read=read_rows)


def test_a_single_number_has_no_rows(tmp_path):
    np.savez(tmp_path / "a.npz", values=np.float64(1))
    assert "row-major order" in refused(tmp_path / "a.npz", read=read_rows)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_format_is_read(tmp_path, version):
    path = archive_of(tmp_path / "a.npz", values=npy_bytes(np.arange(6.0), version=version))
    np.testing.assert_array_equal(read(path), np.arange(6.0))


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_read(tmp_path, compression):
    path = archive_of(tmp_path / "a.npz", compression=compression, values=npy_bytes(np.arange(6.0)))
    np.testing.assert_array_equal(read(path), np.arange(6.0))


def test_a_shape_is_known_without_reading(tmp_path):
    path = archive_of(tmp_path / "a.npz", values=npy_bytes(np.zeros((7, 5, 3))))
    with ArrayArchive(path) as archive:
        assert archive.shape("values") == (7, 5, 3)
        assert "values" in archive
        assert "value" not in archive


def test_a_wrong_name_is_told_with_the_names_there_are(tmp_path):
    np.savez(tmp_path / "a.npz", depth=np.zeros(1), conf=np.zeros(1))
    assert "no array named 'values'; found: conf, depth" in refused(tmp_path / "a.npz")
    archive_of(tmp_path / "none.npz")
    assert "found: nothing" in refused(tmp_path / "none.npz")


def test_a_missing_file_is_missing_input(tmp_path):
    for path in (tmp_path / "none.npz", tmp_path):
        with pytest.raises(ArtifactError, match="no such file") as raised:
            ArrayArchive(path)
        assert raised.value.reason is Reason.MISSING_INPUT


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(ArtifactError):
        ArrayArchive(tmp_path / "pipe.npz")


class Payload:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (self.trace,)


@pytest.mark.parametrize("disguise", [False, True])
def test_pickled_objects_are_refused_and_never_run(tmp_path, disguise):
    trace = str(tmp_path / "it ran")
    hostile = np.empty(2, object)
    hostile[:] = [Payload(trace), 1]
    if disguise:  # a bare pickle in the place of an array
        archive_of(tmp_path / "a.npz", values=pickle.dumps(Payload(trace)))
    else:
        np.savez(tmp_path / "a.npz", values=hostile, allow_pickle=True)
    for attempt in (read, read_rows, read_shape):
        refused(tmp_path / "a.npz", read=attempt)
    assert not os.path.exists(trace)
    if not disguise:
        assert "pickled objects, which are never loaded" in refused(tmp_path / "a.npz")
        with np.load(tmp_path / "a.npz", allow_pickle=True) as archive:
            archive["values"]
        assert os.path.exists(trace)  # the trap does work


@pytest.mark.parametrize(
    "descr", ["<U8", "|S8", "<M8[s]", "|V8", [("x", "<f4"), ("y", "<f4")], "|O", "(3,)<f4", "<f99", "nonsense", 7]
)
def test_anything_but_plain_numbers_is_refused(tmp_path, descr):
    header = header_bytes((2,), "<f4").replace(b"'<f4'", repr(descr).encode().replace(b", ", b",").ljust(5))
    refused(archive_of(tmp_path / "a.npz", values=header + bytes(64)))


@pytest.mark.parametrize(
    "text",
    ["{'descr': '<f4', 'shape': (2,", "(" * 9000, "{}", "[1, 2]", '"""', "{'descr': 1}", "\0", "1" * 9000],
)
def test_a_header_that_makes_no_sense_is_refused(tmp_path, text):
    header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    assert "not a NumPy array" in refused(archive_of(tmp_path / "a.npz", values=header + bytes(64)))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("claim", [10_001, 300_000_000, 2**32 - 1])
def test_a_huge_header_is_refused_before_it_takes_memory(tmp_path, version, claim):
    header = b"\x93NUMPY" + bytes([version, 0]) + claim.to_bytes(4, "little")
    content = header + b" " * min(claim, 20_000_000)
    archive_of(tmp_path / "a.npz", compression=zipfile.ZIP_DEFLATED, values=content)
    del content
    (tmp_path / "a.npy").write_bytes(header + bytes(1000))
    tracemalloc.start()
    message = refused(tmp_path / "a.npz")
    with pytest.raises(ArtifactError, match="at most 10,000 are read"):
        read_array(tmp_path / "a.npy")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert f"its header has {claim:,} bytes, and at most 10,000 are read" in message
    assert peak < 1_000_000


def test_a_header_of_python_2_is_read(tmp_path):
    header = header_bytes((2,), "<f4").replace(b"(2,), ", b"(2L,),")
    np.testing.assert_array_equal(read(archive_of(tmp_path / "a.npz", values=header + bytes(8))), np.zeros(2))


@pytest.mark.parametrize("canary", ["{'descr': '<f4', 'AKIA': (2,", "AKIA", "'AKIA'", "{'AKIA': 1}", "AKIA()"])
def test_a_header_is_not_quoted(tmp_path, canary):
    header = b"\x93NUMPY\x01\x00" + len(canary).to_bytes(2, "little") + canary.encode()
    assert "AKIA" not in refused(archive_of(tmp_path / "a.npz", values=header + bytes(64)))


def test_more_dimensions_than_any_reader_needs_are_refused(tmp_path):
    for dimensions in (9, 40, 70):
        message = refused(archive_of(tmp_path / "a.npz", values=header_bytes((1,) * dimensions) + bytes(64)))
        assert f"claims {dimensions} dimensions, at most 8 are read" in message


@pytest.mark.parametrize("form", ["plain", "64 bits", "hidden in a comment"])
def test_a_huge_list_of_arrays_is_refused_before_it_takes_memory(tmp_path, form):
    path, entries = tmp_path / "a.npz", b"PK\1\2" * 750_000
    size = {"plain": len(entries)}.get(form, 46)
    end = b"PK\5\6" + struct.pack("<4H2IH", 0, 0, 9, 9, size, 0, 0)
    wide = b"PK\6\6" + struct.pack("<Q2H2I4Q", 44, 45, 45, 0, 0, 9, 9, len(entries), 0)
    wide += b"PK\6\7" + struct.pack("<IQI", 0, len(entries), 1)
    if form == "hidden in a comment":
        end = b"PK\5\6" + struct.pack("<4H2IH", 0, 0, 9, 9, len(entries), 0, 30) + end + b"12345678"
    path.write_bytes(entries + (wide if form == "64 bits" else b"") + end)
    tracemalloc.start()
    message = refused(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "list of arrays is larger than 1,048,576 bytes" in message
    assert peak < 1_000_000


HUGE = [(10**12,), (2**62, 2**62), (2**40, 0), (2**63,), (10**6, 10**6), (2**33, 2**31, 4), (-1,), (-4, -4)]


@pytest.mark.parametrize("shape", HUGE)
@pytest.mark.parametrize("attempt", [read, read_rows])
def test_a_claim_beyond_what_the_file_holds_is_refused_at_once(tmp_path, shape, attempt):
    path = archive_of(tmp_path / "a.npz", values=header_bytes(shape) + bytes(1000))
    started = time.process_time()
    tracemalloc.start()
    message = refused(path, read=attempt)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert str(shape) in message
    assert peak < 1_000_000
    assert time.process_time() - started < 1


def test_a_bomb_that_does_unpack_is_refused_by_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "MAX_ARRAY_BYTES", 1_000_000)
    np.savez_compressed(tmp_path / "a.npz", values=np.zeros((1, 500_000)))
    assert (tmp_path / "a.npz").stat().st_size < 10_000
    assert "too large" in refused(tmp_path / "a.npz")
    assert "too large" in refused(tmp_path / "a.npz", read=read_rows)


def test_rows_may_together_be_larger_than_what_is_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "MAX_ARRAY_BYTES", 1_000_000)
    np.savez(tmp_path / "a.npz", values=np.zeros((30, 10_000)))
    assert len(read_rows(tmp_path / "a.npz")) == 30
    refused(tmp_path / "a.npz")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_rows_are_read_one_at_a_time(tmp_path, save):
    save(tmp_path / "a.npz", values=np.random.default_rng(0).random((100, 50_000)))
    with ArrayArchive(tmp_path / "a.npz") as archive:
        tracemalloc.start()
        total = sum(float(row.sum()) for row in archive.rows("values"))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert total == pytest.approx(100 * 50_000 / 2, rel=0.01)
    assert peak < 10 * 50_000 * 8


@pytest.mark.parametrize(
    "text", [b"", b"x", b"not an archive" * 100, b"PK\x03\x04" + bytes(100), b"PK\x05\x06" + bytes(18)]
)
def test_what_is_no_archive_is_refused(tmp_path, text):
    (tmp_path / "a.npz").write_bytes(text)
    refused(tmp_path / "a.npz")


def test_a_bare_npy_file_is_no_archive(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3))
    assert "not a readable .npz archive" in refused(tmp_path / "a.npy")


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_cut_archive_is_refused(tmp_path, save, fraction):
    save(tmp_path / "a.npz", values=np.random.default_rng(0).random(500))
    data = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(data[: int(len(data) * fraction)])
    refused(tmp_path / "a.npz")


def test_an_array_that_is_cut_off_within_a_whole_archive_is_refused(tmp_path):
    whole = npy_bytes(np.arange(100.0).reshape(10, 10))
    path = archive_of(tmp_path / "a.npz", values=whole[:-1])
    assert "truncated" in refused(path)
    assert "truncated" in refused(path, read=read_rows)
    refused(archive_of(tmp_path / "b.npz", values=whole[:20]))
    refused(archive_of(tmp_path / "c.npz", values=b""))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damage_is_never_silent_and_never_a_crash(tmp_path, save):
    values = np.random.default_rng(0).random((20, 10))
    save(tmp_path / "a.npz", values=values)
    data = (tmp_path / "a.npz").read_bytes()
    random = np.random.default_rng(1)
    refusals = 0
    for _ in range(300):
        copy = bytearray(data)
        copy[random.integers(len(data))] ^= 1 << random.integers(8)
        (tmp_path / "b.npz").write_bytes(copy)
        try:
            np.testing.assert_array_equal(read(tmp_path / "b.npz"), values)
        except ArtifactError:
            refusals += 1
    assert refusals > 150


def test_an_encrypted_member_is_refused(tmp_path):
    path = archive_of(tmp_path / "a.npz", values=npy_bytes(np.zeros(3)))
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "cannot be read" in refused(path)
