"""Reads the body of a request: parts within limits as they arrive, then frames and poses without pickle."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from lookaway.core import ArtifactError, Floats, MissingExtra, UserError
from lookaway.engine.scorer import CasePaths
from lookaway.io.array_frames import as_frames
from lookaway.io.arrays import parse_array
from lookaway.serving.schema import (
    FRAMES,
    GIVEN_PATHS,
    NPY,
    OPTIONS,
    SAFETENSORS,
    Refused,
    ScoreOptions,
    ServingLimits,
)

MAX_OPTIONS_BYTES: Final = 4 * 1024 * 1024
MAX_TENSOR_HEADER_BYTES: Final = 100_000
MAX_PART_HEADERS: Final = 8
MAX_PART_HEADER_BYTES: Final = 1024
TENSOR_TYPES: Final = {"U8": np.uint8, "F32": np.float32, "F64": np.float64}
HEADER_LENGTH: Final = 8
"""Bytes of the number at the start of a safetensors file, which is the length of its header."""
EXPECTED_PARTS: Final = f"Expected {FRAMES}, and if you like {OPTIONS}, {', '.join(GIVEN_PATHS)}."


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRequest:
    """One clip to measure, checked."""

    frames: NDArray[np.uint8]
    options: ScoreOptions = field(default_factory=ScoreOptions)
    paths: CasePaths | None = None


@dataclass(slots=True)
class BodyPart:
    """One part of a multipart body."""

    name: str
    media_type: str
    data: bytearray = field(default_factory=bytearray)


async def read_parts(
    chunks: AsyncIterator[bytes], headers: Mapping[str, str], limits: ServingLimits
) -> dict[str, BodyPart]:
    """The parts of a body. What is too large or too slow is refused before the rest of it is read."""
    declared = headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limits.body_bytes:
        raise _too_large(f"The body has {int(declared):,} bytes", limits)
    reader = _PartReader(headers.get("content-type", ""))
    received = 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for chunk in chunks:
                received += len(chunk)
                if received > limits.body_bytes:
                    raise _too_large(f"The body has more than {limits.body_bytes:,} bytes", limits)
                reader.add(chunk)
    except TimeoutError:
        raise Refused(
            408,
            "slow_body",
            f"{received:,} bytes came in {limits.body_seconds:g} s, and not the end of the body. Send smaller clips, "
            "or start the server with a larger --body-timeout.",
        ) from None
    return reader.finish()


def parse_clip(parts: Mapping[str, BodyPart], limits: ServingLimits) -> ClipRequest:
    """The clip in the parts of a body; raises `Refused`."""
    if FRAMES not in parts:
        raise Refused(400, "bad_request", f"There is no part named {FRAMES}. {EXPECTED_PARTS}")
    options = _parse_options(parts[OPTIONS].data if OPTIONS in parts else b"{}")
    try:
        arrays = _parse_arrays(parts)
        frames = arrays.pop(FRAMES)
        if frames.ndim == 4 and len(frames) > limits.frames:
            raise UserError(
                f"the clip has {len(frames):,} frames. Expected at most {limits.frames:,}; see --max-frames."
            )
        height, width = as_frames(frames).shape[1:3]
        if height * width > limits.pixels:
            raise UserError(
                f"frames have {width} x {height} pixels. Expected at most {limits.pixels:,} in all; see --max-pixels."
            )
        given = {name: _parse_path(name, array, limits) for name, array in arrays.items()}
    except (ArtifactError, UserError) as error:
        raise Refused(422, "invalid_clip", str(error)) from error
    return ClipRequest(frames=frames, options=options, paths=CasePaths(**given) if given else None)


def _parse_options(data: bytes | bytearray) -> ScoreOptions:
    if len(data) > MAX_OPTIONS_BYTES:
        raise Refused(413, "too_large", f"{OPTIONS} has {len(data):,} bytes. Expected at most {MAX_OPTIONS_BYTES:,}.")
    try:
        return ScoreOptions.model_validate_json(bytes(data))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        where = ".".join([OPTIONS, *map(str, found["loc"])])
        raise Refused(422, "invalid_options", f"{where}: {found['msg']}.") from None


def _parse_arrays(parts: Mapping[str, BodyPart]) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name in (FRAMES, *GIVEN_PATHS):
        if name not in parts:
            continue
        part = parts[name]
        if part.media_type == SAFETENSORS and name == FRAMES:
            arrays |= _parse_tensors(part.data)
        elif part.media_type == NPY:
            if name in arrays:
                raise UserError(f"{name} is sent twice: in a part of its own, and with the frames. Send it once.")
            arrays[name] = parse_array(name, part.data)
        else:
            raise Refused(
                415,
                "unsupported_type",
                f"the part {name} is {part.media_type or 'of no type'!r}. Expected {NPY}"
                + (f" or {SAFETENSORS}." if name == FRAMES else "."),
            )
    return arrays


def _parse_tensors(data: bytearray) -> dict[str, NDArray[Any]]:
    """Frames and poses in the bytes of a safetensors file, without a copy."""
    count = int.from_bytes(data[:HEADER_LENGTH], "little")
    if len(data) < HEADER_LENGTH or count > min(MAX_TENSOR_HEADER_BYTES, len(data) - HEADER_LENGTH):
        raise UserError(
            f"{FRAMES} is not a safetensors file: its header has {count:,} bytes. Expected at most "
            f"{MAX_TENSOR_HEADER_BYTES:,}, and no more than there are."
        )
    start = HEADER_LENGTH + count
    try:
        header = json.loads(data[HEADER_LENGTH:start].decode())
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    except (ValueError, AttributeError, RecursionError):
        raise UserError(f"{FRAMES} is not a safetensors file: its header is not a JSON object.") from None
    if FRAMES not in entries or not entries.keys() <= {FRAMES, *GIVEN_PATHS}:
        raise UserError(f"the safetensors file has other tensors. {EXPECTED_PARTS}")
    held, end = memoryview(data)[start:], 0
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in sorted(entries.items(), key=lambda item: _begin(*item)):
        dtype, shape, begin, stop = _tensor_fields(name, entry)
        if begin != end or stop - begin != math.prod(shape) * dtype.itemsize or stop > len(held):
            raise UserError(
                f"{name} is truncated or misplaced: its shape {list(shape)} of {dtype} does not fit into bytes "
                f"{begin:,} to {stop:,} of {len(held):,}."
            )
        arrays[name] = np.ndarray(shape, dtype, held, offset=begin)
        end = stop
    if end != len(held):
        raise UserError(f"the safetensors file goes on after its last tensor: {len(held) - end:,} bytes more.")
    return arrays


def _begin(name: str, entry: Any) -> int:
    return _tensor_fields(name, entry)[2]


def _tensor_fields(name: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    try:
        kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    except (KeyError, TypeError):
        raise UserError(f"{name}: the header of the safetensors file lacks dtype, shape or data_offsets.") from None
    if not isinstance(kind, str) or kind not in TENSOR_TYPES:
        raise UserError(f"{name} is of another type. Expected U8 for {FRAMES}, F32 or F64 for the others.")
    numbers = [*shape, *offsets] if isinstance(shape, list) and isinstance(offsets, list) else [None]
    if not all(type(number) is int and number >= 0 for number in numbers) or len(shape) > 4 or len(offsets) != 2:
        raise UserError(f"{name}: shape and data_offsets are not whole numbers from 0, at most 4 and just 2 of them.")
    return np.dtype(TENSOR_TYPES[kind]), tuple(shape), offsets[0], offsets[1]


def _parse_path(name: str, array: NDArray[Any], limits: ServingLimits) -> Floats:
    shape = "[3, 3]" if name == "intrinsics" else "[frames, 4, 4]"
    fits = array.shape == (3, 3) if name == "intrinsics" else array.ndim == 3 and array.shape[1:] == (4, 4)
    if not fits or array.dtype.kind != "f" or not 0 < len(array) <= limits.frames:
        raise UserError(f"{name} is {array.dtype} of the shape {list(array.shape)}. Expected floats {shape}.")
    if not np.isfinite(array).all():
        raise UserError(f"{name} has a number that is not finite. Expected finite ones; leave {name} out if unknown.")
    return array.astype(np.float64)


class _PartReader:
    """Collects the parts of a body chunk by chunk."""

    def __init__(self, content_type: str) -> None:
        try:
            from python_multipart import MultipartParser
            from python_multipart.exceptions import FormParserError
            from python_multipart.multipart import parse_options_header
        except ImportError as error:
            raise MissingExtra("The server", "serve") from error
        self._options, self._broken = parse_options_header, FormParserError
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise Refused(
                415,
                "unsupported_type",
                f"the body is {kind.decode('latin-1')[:100] or 'of no type'!r}. Expected multipart/form-data with a "
                f"boundary and the parts {FRAMES}, {OPTIONS}; paths of files are not read.",
            )
        self._parts: dict[str, BodyPart] = {}
        self._headers: dict[bytes, bytes] = {}
        self._field, self._value = bytearray(), bytearray()
        self._part: BodyPart | None = None
        self._is_complete = False
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._headers.clear,
                    "on_part_data": self._add_data,
                    "on_header_begin": self._begin_header,
                    "on_header_field": lambda data, start, end: self._field.extend(data[start:end]),
                    "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._begin_part,
                    "on_end": self._end,
                },
                max_header_count=MAX_PART_HEADERS,
                max_header_size=MAX_PART_HEADER_BYTES,
            )
        except FormParserError as error:
            raise self._malformed(error) from None

    def add(self, chunk: bytes) -> None:
        """Read on."""
        try:
            self._parser.write(chunk)
        except self._broken as error:
            raise self._malformed(error) from None

    def finish(self) -> dict[str, BodyPart]:
        """All parts by name."""
        if not self._is_complete:
            raise self._malformed("it ends before its last boundary")
        return self._parts

    def _begin_header(self) -> None:
        self._field.clear()
        self._value.clear()

    def _end_header(self) -> None:
        self._headers[bytes(self._field).lower()] = bytes(self._value)

    def _begin_part(self) -> None:
        kind, options = self._options(self._headers.get(b"content-disposition", b""))
        name = options.get(b"name", b"").decode("latin-1")
        if kind != b"form-data" or name not in (FRAMES, OPTIONS, *GIVEN_PATHS):
            raise Refused(400, "bad_request", f"There is a part of another name. {EXPECTED_PARTS}")
        if name in self._parts:
            raise Refused(400, "bad_request", f"The part {name} is sent twice. Send one clip with each request.")
        media_type = self._options(self._headers.get(b"content-type", b""))[0].decode("latin-1")[:100]
        self._part = self._parts[name] = BodyPart(name, media_type)

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        assert self._part is not None  # noqa: S101 - headers come first
        self._part.data += memoryview(data)[start:end]

    def _end(self) -> None:
        self._is_complete = True

    def _malformed(self, why: object) -> Refused:
        return Refused(400, "bad_request", f"The body is not valid multipart/form-data: {str(why).rstrip('.')}.")


def _too_large(found: str, limits: ServingLimits) -> Refused:
    return Refused(
        413,
        "too_large",
        f"{found}. Expected at most {limits.body_bytes:,}; send fewer or smaller frames, or start the server with a "
        "larger --max-body.",
    )
