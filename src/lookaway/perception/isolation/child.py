"""Serves one runner file over pipes. Runs in an environment of its own: the standard library and NumPy, nothing else.

A message is a magic word, the length of a header, the header as JSON, and the bytes of the arrays that it lists. The
first message names the runner file and the settings to load it with; each one after it carries arrays in, and its
answer carries arrays out. Both ends use the functions below, and believe nothing that the other end claims.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import select
import signal
import struct
import sys
import threading
import traceback
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

MAGIC = b"lookaway"
PREFIX = struct.Struct("<8sQ")
MAX_HEADER_BYTES = 1024 * 1024
MAX_ARRAYS = 256
MAX_AXES = 8
MAX_BYTES = 4 * 1024**3
"""All arrays of a message together."""
NUMBERS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
DTYPES = {name: np.dtype(name).newbyteorder("<") for name in NUMBERS.split()}


class NotAMessage(Exception):
    """What arrived, or was to be sent, is no message of this protocol."""


def send(
    write: Callable[[memoryview], None], header: Mapping[str, Any], arrays: Mapping[str, Any], most: int = MAX_BYTES
) -> None:
    """Write one message; `write` has to take all that it is given."""
    values = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in values.items():
        if not isinstance(name, str) or array.dtype.name not in DTYPES:
            raise NotAMessage(f"the array {name!r} holds {array.dtype}; numbers and truth values can be sent.")
    listed = [[name, array.dtype.name, list(array.shape)] for name, array in values.items()]
    _check(listed, most)
    text = json.dumps({**header, "arrays": listed}, allow_nan=False).encode()
    if len(text) > MAX_HEADER_BYTES:
        raise NotAMessage(f"a header of {len(text)} bytes is too long to send.")
    write(memoryview(PREFIX.pack(MAGIC, len(text)) + text))
    for array in values.values():
        if array.size:
            write(_bytes(np.ascontiguousarray(array, DTYPES[array.dtype.name])))


def receive(
    fill: Callable[[memoryview], None], most: int = MAX_BYTES
) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Read one message; `fill` fills the whole of what it is given, or raises."""
    prefix = bytearray(PREFIX.size)
    fill(memoryview(prefix))
    magic, length = PREFIX.unpack(prefix)
    if magic != MAGIC or length > MAX_HEADER_BYTES:
        raise NotAMessage(f"{bytes(prefix)!r} does not begin a message.")
    text = bytearray(length)
    fill(memoryview(text))
    try:
        header = json.loads(bytes(text))
        listed = header["arrays"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise NotAMessage("the header is not a JSON object that lists arrays.") from error
    _check(listed, most)
    arrays = {}
    for name, dtype, shape in listed:
        array = np.empty(shape, DTYPES[dtype])
        if array.size:
            fill(_bytes(array))
        arrays[name] = array
    return header, arrays


def _bytes(array: np.ndarray[Any, Any]) -> memoryview:
    """The memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data


def _check(listed: Any, most: int) -> None:
    """Refuse arrays that nobody could mean, before a byte of them is reserved."""
    if not isinstance(listed, list) or len(listed) > MAX_ARRAYS:
        raise NotAMessage(f"a message lists at most {MAX_ARRAYS} arrays.")
    total, names = 0, set()
    for entry in listed:
        if not (isinstance(entry, list) and len(entry) == 3):
            raise NotAMessage("an array is listed as its name, type and shape.")
        name, dtype, shape = entry
        if not isinstance(name, str) or name in names or not isinstance(dtype, str) or dtype not in DTYPES:
            raise NotAMessage(f"the array {name!r:.80} of the type {dtype!r:.80} cannot be sent.")
        if not (isinstance(shape, list) and len(shape) <= MAX_AXES and all(_is_extent(n, most) for n in shape)):
            raise NotAMessage(f"the array {name!r:.80} has the shape {shape!r:.80}.")
        names.add(name)
        total += math.prod(shape) * DTYPES[dtype].itemsize
    if total > most:
        raise NotAMessage(f"the arrays of a message take {total} bytes, {most} are allowed.")


def _is_extent(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


# From here on: only in the child.


class _Pipes:
    """The two pipes of the protocol, out of reach of whatever else reads and prints in this process."""

    def __init__(self) -> None:
        self.requests, self.answers = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)

    def fill(self, view: memoryview) -> None:
        while view:
            count = os.readv(self.requests, [view])
            if count == 0:
                raise EOFError
            view = view[count:]

    def write(self, view: memoryview) -> None:
        while view:
            view = view[os.write(self.answers, view) :]


def _end_with_parent(requests: int) -> None:
    """Leave no process behind: when the other end of the pipe is gone, so are we, busy or not."""

    def watch() -> None:
        poll = select.poll()
        poll.register(requests, 0)
        poll.poll()
        _end()

    threading.Thread(target=watch, daemon=True).start()


def _end() -> None:
    """End this process, and all that it started where the group is its own."""
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _load(path: str, settings: dict[str, Any]) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    """Load a runner file as a module of a package, so that it can import what lies beside it."""
    package = types.ModuleType("runners")
    package.__path__ = [os.path.dirname(path)]
    sys.modules["runners"] = package
    name = os.path.basename(path).removesuffix(".py")
    return importlib.import_module(f"runners.{name}").load(settings)  # type: ignore[no-any-return]


def _report(error: BaseException) -> dict[str, Any]:
    """An error with a `reason` says that there is nothing to be measured; any other is a failure."""
    reason = getattr(error, "reason", None)
    if isinstance(reason, str):
        return {"kind": "unmeasurable", "reason": str(reason), "message": str(error)[:4000]}
    return {"kind": "failure", "trace": "".join(traceback.format_exception(error))[-8000:]}


def _answer(run: Any, header: dict[str, Any], arrays: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The loaded runner and no arrays, or the arrays that it answers with."""
    if header["kind"] == "load":
        return _load(header["runner"], header["settings"]), {}
    answer = run(arrays, header["settings"])
    if not isinstance(answer, dict):
        raise TypeError(f"a runner answers with a dictionary of arrays, found {type(answer).__name__}.")
    return run, answer


def main() -> None:
    """Serve requests until there are no more."""
    pipes = _Pipes()
    _end_with_parent(pipes.requests)
    run = None
    while True:
        try:
            header, arrays = receive(pipes.fill)
        except EOFError:
            _end()
        try:
            run, answer = _answer(run, header, arrays)
            send(pipes.write, {"kind": "answer"}, answer)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the parent tells it to its user
            send(pipes.write, _report(error), {})


if __name__ == "__main__":
    main()
