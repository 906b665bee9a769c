"""Every body that is not a clip is refused with a reason, and by nothing but a refusal."""

from __future__ import annotations

import asyncio
import io
import json
import pickle
import struct
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from lookaway.core import UserError
from lookaway.engine.scorer import CasePaths
from lookaway.io.arrays import parse_array
from lookaway.serving.body import BodyPart, parse_clip, read_parts
from lookaway.serving.client import encode_clip
from lookaway.serving.schema import NPY, SAFETENSORS, Refused, ScoreOptions, ServingLimits

LIMITS = ServingLimits()
FRAMES = np.arange(4 * 3 * 16 * 24, dtype=np.uint8).reshape(4, 3, 16, 24)
POSES = np.broadcast_to(np.eye(4), (4, 4, 4)).copy()


def npy(array, **options) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def part(name: str, data: bytes, media_type: str = NPY) -> dict[str, BodyPart]:
    return {name: BodyPart(name, media_type, bytearray(data))}


def headered(header: str, data: bytes = b"") -> bytes:
    """A `.npy` file with a header of one's own."""
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def tensors(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    """A safetensors file with a header of one's own."""
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def refused(parts: dict[str, BodyPart], limits: ServingLimits = LIMITS) -> Refused:
    with pytest.raises(Refused) as found:
        parse_clip(parts, limits)
    return found.value


def read(chunks: list[bytes], content_type: str, limits: ServingLimits = LIMITS, **headers: str):
    async def sent():
        for chunk in chunks:
            yield chunk

    found = {"content-type": content_type, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return asyncio.run(read_parts(sent(), found, limits))


@pytest.mark.parametrize("layout", ["first", "last", "fortran"])
def test_frames_come_out_as_they_were_saved(layout):
    frames = {"first": FRAMES, "last": FRAMES.transpose(0, 2, 3, 1), "fortran": np.asfortranarray(FRAMES)}[layout]
    assert np.array_equal(parse_clip(part("frames", npy(frames)), LIMITS).frames, frames)


def test_what_a_client_writes_is_read_back():
    paths = CasePaths(poses=POSES, requested=2 * POSES, intrinsics=np.eye(3))
    options = ScoreOptions(fps=8, prompt=("a room", "a door"), action="left", metrics=("light",))
    boundary, body = encode_clip(FRAMES, options, paths)
    chunks = [body[start : start + 1000] for start in range(0, len(body), 1000)]
    clip = parse_clip(read(chunks, f"multipart/form-data; boundary={boundary}"), LIMITS)
    assert np.array_equal(clip.frames, FRAMES)
    assert clip.options == options
    assert clip.paths is not None
    for name in ("poses", "requested", "intrinsics"):
        assert np.array_equal(getattr(clip.paths, name), getattr(paths, name))


def test_a_safetensors_file_holds_frames_and_poses():
    saved = safetensors.numpy.save({"frames": FRAMES, "poses": POSES, "intrinsics": np.eye(3, dtype=np.float32)})
    clip = parse_clip(part("frames", saved, SAFETENSORS), LIMITS)
    assert np.array_equal(clip.frames, FRAMES)
    assert clip.paths is not None
    assert np.array_equal(clip.paths.poses, POSES)
    assert clip.paths.intrinsics is not None
    assert clip.paths.intrinsics.dtype == np.float64


def test_the_header_that_numpy_writes_is_read_without_its_parser(monkeypatch):
    def refuse(text):
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr("ast.literal_eval", refuse)
    for array in (FRAMES, np.asfortranarray(FRAMES), POSES, POSES.astype("<f4"), np.eye(3), np.zeros(5), np.array(1.0)):
        found = parse_array("array", npy(array))
        assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())


SHAPE = "{'descr': '|u1', 'fortran_order': False, 'shape': %s}"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "does not begin as one"),
        (b"GIF89a and more", "does not begin as one"),
        (npy(FRAMES)[:-1], "is truncated"),
        (npy(FRAMES)[:20], "cut off"),
        (npy(FRAMES) + b"\0", "goes on after its end"),
        (npy(np.array([{"a": 1}]), allow_pickle=True), "pickled objects"),
        (pickle.dumps(FRAMES), "does not begin as one"),
        (headered(SHAPE % "(10**9,)"), "not a NumPy array"),
        (headered(SHAPE % "(1000000000, 3, 9, 9)"), "holds only"),
        (headered(SHAPE % "(-4, 3, 16, 24)"), "holds only"),
        (headered("{'descr': '|u1', 'fortran_order': False}"), "does not name"),
        (headered("__import__('os').abort()"), "not a NumPy array"),
        (b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b"{", "header has 2,147,483,648 bytes"),
        (npy(FRAMES.astype(np.float32)), "frames are float32, expected uint8"),
        (npy(FRAMES[0]), "expected [frames, 3, height, width]"),
        (npy(FRAMES[:0]), "expected [frames, 3, height, width]"),
        (npy(FRAMES[:, :2]), "expected [frames, 3, height, width]"),
        (npy(np.zeros((1, 3, 1, 4000), np.uint8)), "times the shorter"),
    ],
)
def test_a_damaged_or_wrong_npy_is_refused(data, why):
    found = refused(part("frames", data))
    assert (found.status, found.code) == (422, "invalid_clip")
    assert why in str(found)


U8 = {"dtype": "U8", "shape": [1, 3, 4, 4], "data_offsets": [0, 48]}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "header has 0 bytes"),
        (tensors({"frames": U8}, bytes(48), length=2**60), "header has 1,152,921,504,606,846,976 bytes"),
        (tensors([1]), "not a JSON object"),
        (struct.pack("<Q", 4) + b"{{{{", "not a JSON object"),
        (tensors({"weights": U8}, bytes(48)), "other tensors"),
        (tensors({"frames": {"dtype": "U8"}}), "lacks"),
        (tensors({"frames": {**U8, "dtype": "F16"}}, bytes(48)), "of another type"),
        (tensors({"frames": {**U8, "dtype": ["U8"]}}, bytes(48)), "of another type"),
        (tensors({"frames": U8}, bytes(40)), "truncated or misplaced"),
        (tensors({"frames": {**U8, "shape": [9, 3, 4, 4]}}, bytes(48)), "truncated or misplaced"),
        (tensors({"frames": {**U8, "data_offsets": [8, 56]}}, bytes(56)), "truncated or misplaced"),
        (tensors({"frames": {**U8, "shape": [-1, 3, 4, 4]}}, bytes(48)), "not whole numbers"),
        (tensors({"frames": {**U8, "shape": [True, 3, 4, 4]}}, bytes(48)), "not whole numbers"),
        (tensors({"frames": U8}, bytes(50)), "goes on after its last tensor"),
        (safetensors.numpy.save({"frames": FRAMES.astype(np.float32)}), "frames are float32"),
    ],
)
def test_a_damaged_or_wrong_safetensors_file_is_refused(data, why):
    found = refused(part("frames", data, SAFETENSORS))
    assert (found.status, found.code) == (422, "invalid_clip")
    assert why in str(found)


@pytest.mark.parametrize(
    ("name", "array", "why"),
    [
        ("poses", np.eye(4), "Expected floats [frames, 4, 4]"),
        ("poses", POSES.astype(int), "Expected floats [frames, 4, 4]"),
        ("poses", POSES[:0], "Expected floats [frames, 4, 4]"),
        ("requested", np.full((4, 4, 4), np.nan), "not finite"),
        ("intrinsics", np.eye(4), "Expected floats [3, 3]"),
    ],
)
def test_poses_of_another_shape_or_type_are_refused(name, array, why):
    found = refused(part("frames", npy(FRAMES)) | part(name, npy(array)))
    assert (found.status, found.code) == (422, "invalid_clip")
    assert why in str(found)


def test_more_frames_or_pixels_than_the_limit_are_refused():
    assert "4 frames. Expected at most 3" in str(refused(part("frames", npy(FRAMES)), replace(LIMITS, frames=3)))
    found = refused(part("frames", npy(FRAMES)), replace(LIMITS, pixels=16 * 24 - 1))
    assert "24 x 16 pixels. Expected at most 383" in str(found)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (b"{", "options: Invalid JSON"),
        (b'{"fps": 0}', "options.fps"),
        (b'{"fps": NaN}', "options"),
        (b'{"fps": 1e9}', "options.fps"),
        (b'{"path": "/etc/passwd"}', "options.path: Extra inputs"),
        (b'{"prompt": "a text"}', "options.prompt"),
    ],
)
def test_options_that_are_not_known_or_not_valid_are_refused(options, why):
    found = refused(part("frames", npy(FRAMES)) | part("options", options, "application/json"))
    assert (found.status, found.code) == (422, "invalid_options")
    assert why in str(found)
    assert "passwd" not in str(found)


@pytest.mark.parametrize("media_type", ["", "video/mp4", "application/octet-stream", "application/x-npz"])
def test_frames_of_another_type_are_refused(media_type):
    found = refused(part("frames", npy(FRAMES), media_type))
    assert (found.status, found.code) == (415, "unsupported_type")


def test_a_body_without_frames_is_refused():
    found = refused(part("options", b"{}", "application/json"))
    assert (found.status, str(found)[:38]) == (400, "There is no part named frames. Expecte")


@pytest.mark.parametrize(
    ("body", "content_type", "status", "why"),
    [
        (b"{}", "application/json", 415, "Expected multipart/form-data"),
        (b"", "", 415, "Expected multipart/form-data"),
        (b"", "multipart/form-data", 415, "Expected multipart/form-data"),
        (b"", f"multipart/form-data; boundary={'b' * 5000}", 400, "not valid multipart"),
        (b"no boundary here", "multipart/form-data; boundary=b", 400, "not valid multipart"),
        (b"--b\r\n", "multipart/form-data; boundary=b", 400, "ends before its last boundary"),
        (b"--b\r\nX: y\r\n\r\nz\r\n--b--\r\n", "multipart/form-data; boundary=b", 400, "another name"),
        (
            b'--b\r\nContent-Disposition: form-data; name="video"\r\n\r\n/etc/passwd\r\n--b--\r\n',
            "multipart/form-data; boundary=b", 400, "another name",
        ),
        (
            2 * b'--b\r\nContent-Disposition: form-data; name="frames"\r\n\r\nx\r\n' + b"--b--\r\n",
            "multipart/form-data; boundary=b", 400, "is sent twice",
        ),
        (b"--b\r\n" + b"X: y\r\n" * 50, "multipart/form-data; boundary=b", 400, "not valid multipart"),
        (b"--b\r\nX: " + b"y" * 5000, "multipart/form-data; boundary=b", 400, "not valid multipart"),
    ],
)  # fmt: skip
def test_a_body_that_is_not_multipart_is_refused(body, content_type, status, why):
    with pytest.raises(Refused, match=why) as found:
        read([body], content_type)
    assert found.value.status == status


def test_a_body_that_says_it_is_too_large_is_refused_unread():
    with pytest.raises(Refused, match="has 101 bytes") as found:
        read([b"never read"], "multipart/form-data; boundary=b", replace(LIMITS, body_bytes=100), content_length="101")
    assert found.value.status == 413


def test_a_body_that_turns_out_too_large_is_not_read_to_its_end():
    sent = []

    async def endless():
        yield b'--b\r\nContent-Disposition: form-data; name="frames"\r\n\r\n'
        while True:
            sent.append(1)
            yield bytes(1000)

    limits = replace(LIMITS, body_bytes=10_000)
    with pytest.raises(Refused, match="more than 10,000 bytes") as found:
        asyncio.run(read_parts(endless(), {"content-type": "multipart/form-data; boundary=b"}, limits))
    assert (found.value.status, len(sent)) == (413, 10)


def test_a_client_refuses_to_send_objects():
    with pytest.raises(UserError, match="Python objects"):
        encode_clip(np.array([None]), ScoreOptions())


@given(st.binary(max_size=300), st.sampled_from([NPY, SAFETENSORS]), st.integers(0, 200))
@settings(max_examples=300, deadline=None)
def test_bytes_of_any_kind_are_a_clip_or_refused(noise, media_type, start):
    valid = npy(FRAMES) if media_type == NPY else safetensors.numpy.save({"frames": FRAMES})
    for data in (noise, valid[:start] + noise + valid[start + len(noise) :], valid[:start] + noise):
        with suppress(Refused):
            parse_clip(part("frames", data, media_type), LIMITS)


@given(st.binary(max_size=300), st.integers(1, 50))
@settings(max_examples=200, deadline=None)
def test_bodies_of_any_kind_are_read_or_refused(noise, size):
    boundary, body = encode_clip(FRAMES[:1], ScoreOptions())
    damaged = body[:50] + noise + body[50 + len(noise) :]
    chunks = [damaged[start : start + size * 40] for start in range(0, len(damaged), size * 40)]
    with suppress(Refused):
        parse_clip(read(chunks, f"multipart/form-data; boundary={boundary}"), LIMITS)
