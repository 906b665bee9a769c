"""Ways to damage a small dataset, each with a name, each the same on every run."""

from __future__ import annotations

import copy
import io
import json
import os
import random
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.tiny import clip_bytes, pose_bytes, write_folder, write_mbench

MODEL = "models/alpha"
LINES = f"{MODEL}/samples.jsonl"
PLACE = "environment/sample0/left_then_right_10s"
VIDEO = f"{MODEL}/outputs/{PLACE}/video.mp4"
POSES = f"{MODEL}/artifacts/{PLACE}/da3/results.npz"
SAMPLE = "samples/environment/sample0/sample.json"
PASSWORDS = "/etc/passwd"


@dataclass(frozen=True)
class Damage:
    """A name, and what it does to the folder of a dataset that was whole."""

    name: str
    apply: Callable[[Path], object]
    make: Callable[[Path], object] = lambda root: write_whole_mbench(root)
    metrics: tuple[str, ...] | None = ("rendering_lighting", "camera_interaction")
    """`None` is the whole protocol; matching points takes longer than all the rest."""
    suite: str | None = None


def write_whole_mbench(root: Path) -> None:
    """One model, two subsets, one sample each."""
    write_mbench(root, samples=1)
    (root / SAMPLE).parent.mkdir(parents=True)
    (root / SAMPLE).write_text(json.dumps({"metadata": {"caption": "a room"}, "annotations": {}}))


def all_damage() -> list[Damage]:
    """Every way to damage a dataset that is known here."""
    return [
        *records(),
        *texts("lines", LINES, 16),
        *texts("card", "dataset.yaml", 12),
        *texts("sample", SAMPLE, 4),
        *cards(),
        *paths(),
        *videos(),
        *(replace(damage, metrics=None) for damage in (*archives(), *trajectories())),
        *(replace(damage, suite="folder") for damage in manifests()),
    ]


# Records: a value of the wrong type, or none, at every place of a line.

WRONG = {
    "null": None,
    "number": -1,
    "large number": 1e308,
    "integer of many digits": 10**4000,
    "true": True,
    "empty text": "",
    "long text": "x" * 5000,
    "NUL": "a\0b",
    "half a character": "\ud800",
    "list": [],
    "object": {},
    "nested": [[[[{"a": [{}]}]]]],
    "parent": "../../../../../../etc/passwd",
    "absolute": PASSWORDS,
}


def records() -> Iterator[Damage]:
    """Lines of `samples.jsonl` with one entry replaced or missing."""
    line = {
        "item_id": "environment:sample0:left_then_right_10s",
        "dataset_id": "mbencha",
        "subset": "environment",
        "sample_id": "sample0",
        "condition_id": "left_then_right_10s",
        "model_id": "alpha",
        "media": {"videos": [{"path": f"outputs/{PLACE}/video.mp4", "role": "generated"}]},
        "artifacts": {"da3": {"path": f"artifacts/{PLACE}/da3/results.npz"}},
        "annotations": {"action": "left_then_right"},
        "metadata": {"caption": "a room", "seed": 0, "object_anchor": [0.5, 0.5, 0.1, 0.1]},
    }
    dice = random.Random(0)
    for place in _places(line):
        for name in dice.sample(sorted(WRONG), 4):
            yield Damage(f"record {'.'.join(map(str, place))} is {name}", _spoil(line, place, WRONG[name]))
        yield Damage(f"record {'.'.join(map(str, place))} is missing", _spoil(line, place, None, remove=True))


def _places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        yield (*place, key)
        yield from _places(entry, (*place, key))


def _spoil(line: Any, place: tuple[str | int, ...], value: Any, *, remove: bool = False) -> Callable[[Path], object]:
    spoilt = copy.deepcopy(line)
    holder = spoilt
    for step in place[:-1]:
        holder = holder[step]
    if remove:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return lambda root: (root / LINES).write_text(
        _dump(spoilt) + "\n" + (root / LINES).read_text().splitlines()[1] + "\n"
    )


def _dump(value: Any) -> str:
    """JSON, also of integers that Python would rather not write."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(value)
    finally:
        sys.set_int_max_str_digits(limit)


# Any text file: what a disk, an editor or an attacker does to it.


def texts(kind: str, file: str, flips: int) -> Iterator[Damage]:
    """A text file that is cut off, overwritten, or not text."""
    raw: dict[str, Callable[[bytes], bytes]] = {
        "empty": lambda whole: b"",
        "cut in half": lambda whole: whole[: len(whole) // 2],
        "cut by one": lambda whole: whole[:-2],
        "random": lambda whole: random.Random(1).randbytes(2000),
        "zeros": lambda whole: bytes(2000),
        "with a byte order mark": lambda whole: b"\xef\xbb\xbf" + whole,
        "in UTF-16": lambda whole: whole.decode().encode("utf-16"),
        "in Latin-1": lambda whole: whole.replace(b"room", b"r\xf6\xf6m").replace(b"1.0", b"\xe9"),
        "with Windows line ends": lambda whole: whole.replace(b"\n", b"\r\n"),
        "with old Mac line ends": lambda whole: whole.replace(b"\n", b"\r"),
        "with a NUL": lambda whole: whole.replace(b"a", b"\0", 1),
        "a deep list": lambda whole: b"[" * 200_000,
        "a deep object": lambda whole: b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "a number": lambda whole: b"42\n",
        "NaN": lambda whole: whole.replace(b'"a room"', b"NaN").replace(b"'1.0'", b".nan"),
        "an endless number": lambda whole: whole.replace(b'"a room"', b"1" * 10_000).replace(b"'1.0'", b"1" * 10_000),
        "an overflowing number": lambda whole: whole.replace(b'"a room"', b"1e999").replace(b"'1.0'", b"1e999"),
        "half a character": lambda whole: whole.replace(b"a room", b"\\ud800").replace(b"'1.0'", b'"\\ud800"'),
    }
    for name, change in raw.items():
        yield Damage(f"{kind} {name}", _rewrite(file, change))
    for seed in range(flips):
        yield Damage(f"{kind} with bits flipped, {seed}", _rewrite(file, _flip(seed, 1 + seed % 4)))
    yield Damage(f"{kind} is a folder", lambda root: ((root / file).unlink(), (root / file).mkdir()))
    yield Damage(f"{kind} is a pipe", lambda root: ((root / file).unlink(), os.mkfifo(root / file)))
    yield Damage(f"{kind} leads outside", lambda root: _link(root / file, PASSWORDS))
    yield Damage(f"{kind} leads to itself", lambda root: _link(root / file, str(root / file)))


def _rewrite(file: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda root: (root / file).write_bytes(change((root / file).read_bytes()))


def _flip(seed: int, bits: int) -> Callable[[bytes], bytes]:
    def flip(whole: bytes) -> bytes:
        dice, changed = random.Random(seed), bytearray(whole)
        for _ in range(bits):
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        return bytes(changed)

    return flip


def _link(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


# The card of the dataset.

LAUGHS = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12))
CARDS = {
    "of another setting": "dataset_id: mbencht\n",
    "of an unknown setting": "dataset_id: mbenchz\n",
    "with a list for an id": "dataset_id: [mbencha]\n",
    "with a date for a version": "dataset_id: mbencha\nversion: 2026-01-01\n",
    "with a list for subsets": "dataset_id: mbencha\nsubsets: [environment]\n",
    "with numbers for subsets": "dataset_id: mbencha\nsubsets: {1: 2, null: 3}\n",
    "with an unknown convention": "dataset_id: mbencha\nextrinsics_convention: sideways\n",
    "with the other convention": "dataset_id: mbencha\nextrinsics_convention: camera_to_world\n",
    "with a tag of Python": "dataset_id: !!python/object/apply:os.system ['true']\n",
    "with a billion laughs": f"l0: &l0 lol\n{LAUGHS}dataset_id: mbencha\nversion: *l11\n",
    "with a billion laughs for an id": f"l0: &l0 lol\n{LAUGHS}dataset_id: *l11\n",
    "that holds itself": "&a {dataset_id: mbencha, subsets: *a}\n",
    "with keys of lists": "? [a, b]\n: c\ndataset_id: mbencha\n",
    "of two documents": "dataset_id: mbencha\n---\ndataset_id: mbencha\n",
}


def cards() -> Iterator[Damage]:
    """`dataset.yaml` with content that nobody expects."""
    for name, text in CARDS.items():
        yield Damage(f"card {name}", _rewrite("dataset.yaml", lambda whole, text=text: text.encode()))


# Paths, links and folders.


def paths() -> Iterator[Damage]:
    """Files that are elsewhere, are no files, or have impossible names."""
    for kind, file in (("video", VIDEO), ("poses", POSES)):
        yield Damage(f"{kind} is missing", lambda root, file=file: (root / file).unlink())
        yield Damage(f"{kind} leads outside", lambda root, file=file: _link(root / file, PASSWORDS))
        yield Damage(f"{kind} leads to a device", lambda root, file=file: _link(root / file, "/dev/zero"))
        yield Damage(f"{kind} leads to itself", lambda root, file=file: _link(root / file, "results.npz"))
        yield Damage(f"{kind} leads nowhere", lambda root, file=file: _link(root / file, "nowhere"))
        yield Damage(f"{kind} is a folder", lambda root, file=file: ((root / file).unlink(), (root / file).mkdir()))
        yield Damage(f"{kind} is a pipe", lambda root, file=file: ((root / file).unlink(), os.mkfifo(root / file)))
        yield Damage(
            f"{kind} in a folder that leads outside", lambda root, file=file: _outside(root, (root / file).parent)
        )
    for name, text in {
        "of many characters": "a" * 300,
        "of very many characters": "a/" * 3000,
        "that is a point": ".",
        "that is two points": "..",
        "with a line end": "outputs/\n/video.mp4",
        "with a tilde": "~/.ssh/id_rsa",
        "of another machine": "\\\\server\\share\\video.mp4",
        "with a protocol": "http://localhost:1/video.mp4",
        "with FFmpeg's protocol": "concat:/etc/passwd|/etc/hosts",
        "on a device": "/dev/zero",
        "of a process": "/proc/self/mem",
    }.items():
        yield Damage(f"path {name}", _replace_in_lines("outputs/" + PLACE + "/video.mp4", text))
        yield Damage(f"poses path {name}", _replace_in_lines("artifacts/" + PLACE + "/da3/results.npz", text))
    yield Damage(
        "models is a file",
        lambda root: (_outside(root, root / "models"), (root / "models").unlink(), (root / "models").write_text("")),
    )
    yield Damage("models leads outside", lambda root: _outside(root, root / "models"))
    yield Damage("model leads outside", lambda root: _outside(root, root / MODEL))
    yield Damage("model leads to itself", lambda root: (root / "models" / "loop").symlink_to("loop"))
    yield Damage("model without lines", lambda root: (root / LINES).unlink())
    yield Damage(
        "model whose name is no Unicode", lambda root: os.rename(root / MODEL, os.fsencode(root) + b"/models/caf\xe9")
    )
    yield Damage(
        "model whose name speaks to the terminal", lambda root: (root / MODEL).rename(root / "models" / "\x1b[31m\n")
    )
    yield Damage("no card", lambda root: (root / "dataset.yaml").unlink())


def _outside(root: Path, folder: Path) -> None:
    """Move a folder beside the dataset and leave a link to it."""
    away = root.with_name(f"{root.name}-outside")
    folder.rename(away)
    folder.symlink_to(away)


def _replace_in_lines(old: str, new: str) -> Callable[[Path], object]:
    encoded = json.dumps(new).strip('"').encode()
    return _rewrite(LINES, lambda whole: whole.replace(old.encode(), encoded))


# Videos.

FOREIGN = {
    "empty": b"",
    "a letter": b"Dear editor,\n" * 20,
    "zeros": bytes(5000),
    "a playlist": b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
    "a list of files": b"ffconcat version 1.0\nfile /etc/passwd\n",
    "a picture": b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 8, 8, 8, 2, 0, 0, 0) + bytes(40),
    "a page": b"<html><body>404</body></html>",
    "a script": b"#!/bin/sh\ntrue\n",
    "a subtitle": b"1\n00:00:00,000 --> 00:00:01,000\nhello\n",
    "a header alone": b"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2avc1mp41",
    "a header that claims to be long": b"\x00\x00\x00\x01ftyp" + b"\xff" * 8 + b"isom" * 50,
    "sound": b"RIFF"
    + struct.pack("<I", 36 + 64)
    + b"WAVEfmt "
    + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
    + b"data"
    + struct.pack("<I", 64)
    + bytes(64),
}


def videos() -> Iterator[Damage]:
    """A video that is no video, is cut off, or has bits flipped."""
    for name, content in FOREIGN.items():
        yield Damage(f"video is {name}", _rewrite(VIDEO, lambda whole, content=content: content))
    for tenth in range(1, 10):
        yield Damage(f"video cut at {tenth}/10", _rewrite(VIDEO, lambda whole, t=tenth: whole[: len(whole) * t // 10]))
    for box in (b"moov", b"mdat", b"trak", b"stsz", b"stco", b"stts", b"ctts", b"stss", b"avc1", b"avcC", b"tkhd"):
        yield Damage(
            f"video without {box.decode()}", _rewrite(VIDEO, lambda whole, box=box: whole.replace(box, b"free"))
        )
        yield Damage(f"video with wrong {box.decode()}", _rewrite(VIDEO, lambda whole, box=box: _garble(whole, box)))
    for seed in range(30):
        yield Damage(f"video with bits flipped, {seed}", _rewrite(VIDEO, _flip(seed, 1 + 3 * (seed % 5))))
    for seed in range(5):
        yield Damage(f"video of noise, {seed}", _rewrite(VIDEO, lambda whole, s=seed: random.Random(s).randbytes(4000)))


def _garble(whole: bytes, box: bytes) -> bytes:
    at = whole.find(box)
    if at < 0:
        return whole[: len(whole) // 2]
    return whole[: at + 4] + b"\xff" * 8 + whole[at + 12 :]


# Archives of poses.


def archives() -> Iterator[Damage]:
    """An archive that is none, is cut off, or has bits flipped."""
    for name, content in {
        "empty": b"",
        "text": b"poses\n",
        "an archive of nothing": b"PK\x05\x06" + bytes(18),
        "noise": random.Random(2).randbytes(3000),
    }.items():
        yield Damage(f"poses are {name}", _rewrite(POSES, lambda whole, content=content: content))
    for tenth in range(1, 10):
        yield Damage(f"poses cut at {tenth}/10", _rewrite(POSES, lambda whole, t=tenth: whole[: len(whole) * t // 10]))
    for seed in range(30):
        yield Damage(f"poses with bits flipped, {seed}", _rewrite(POSES, _flip(seed, 1 + 3 * (seed % 5))))
    for name, header in {
        "of a huge shape": "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 3, 4), }",
        "of an overflowing shape": "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 3, 4), }",
        "of a negative shape": "{'descr': '<f4', 'fortran_order': False, 'shape': (-20, 3, 4), }",
        "of a shape that is text": "{'descr': '<f4', 'fortran_order': False, 'shape': 'wide', }",
        "of an unknown type": "{'descr': '<q9', 'fortran_order': False, 'shape': (20, 3, 4), }",
        "of a type of no bytes": "{'descr': '|V0', 'fortran_order': False, 'shape': (20, 3, 4), }",
        "of dates": "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (20, 3, 4), }",
        "with a header that is code": "__import__('os').system('true')",
        "with a deep header": "(" * 5000,
        "with an endless header": "{" + " " * 60_000,
    }.items():
        yield Damage(f"poses {name}", lambda root, header=header: _write_member(root, header))


def _write_member(root: Path, header: str) -> None:
    """Replace the extrinsics by an array with a header of our own."""
    with np.load(io.BytesIO(pose_bytes())) as whole:
        arrays = {name: whole[name] for name in whole.files if name != "extrinsics"}
    np.savez(root / POSES, **arrays)
    text = header.encode().ljust(118) + b"\n"
    with zipfile.ZipFile(root / POSES, "a") as archive:
        archive.writestr("extrinsics.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(960))


# Trajectories: archives that are whole, with numbers that make no sense.


class Trap:
    """Would leave a mark if anybody loaded it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch pickle-was-loaded",)


def trajectories() -> Iterator[Damage]:
    """Poses of the wrong type, shape or size."""
    with np.load(io.BytesIO(pose_bytes())) as archive:
        whole = {name: archive[name] for name in archive.files}
    poses, lens, depth = whole["extrinsics"], whole["intrinsics"], whole["depth"]
    moved, many = poses.copy(), 10 * len(poses)
    moved[:, :, 3] = np.linspace(0, 1, len(poses))[:, None]
    changes: dict[str, dict[str, Any]] = {
        "of objects": {"extrinsics": np.array([Trap()] * len(poses), dtype=object)},
        "of text": {"extrinsics": poses.astype("U8")},
        "of bytes": {"extrinsics": poses.astype("S8")},
        "of complex numbers": {"extrinsics": poses.astype(complex)},
        "of truth values": {"extrinsics": poses.astype(bool)},
        "of records": {"extrinsics": np.zeros(20, dtype=[("x", "f4")])},
        "in half precision": {"extrinsics": poses.astype(np.float16)},
        "in column order": {"extrinsics": np.asfortranarray(poses)},
        "with the other end first": {"extrinsics": poses.astype(">f8")},
        "of NaN": {"extrinsics": np.full_like(poses, np.nan)},
        "with one NaN": {"extrinsics": np.where(np.arange(poses.size).reshape(poses.shape) == 7, np.nan, poses)},
        "of infinity": {"extrinsics": np.full_like(poses, np.inf)},
        "of zeros": {"extrinsics": np.zeros_like(poses)},
        "that mirror": {"extrinsics": poses * [-1, 1, 1, 1]},
        "that grow": {"extrinsics": poses * 2},
        "very far away": {"extrinsics": moved * [1, 1, 1, 1e30]},
        "beyond all numbers": {"extrinsics": (moved.astype(np.float64) * [1, 1, 1, 1e300])},
        "very near": {"extrinsics": moved.astype(np.float64) * [1, 1, 1, 1e-300]},
        "that move": {"extrinsics": moved},
        "of one frame": {name: array[:1] for name, array in whole.items()},
        "of two frames": {name: array[:2] for name, array in whole.items()},
        "of no frame": {name: array[:0] for name, array in whole.items()},
        "of more frames than the video": {name: np.repeat(array, 2, axis=0) for name, array in whole.items()},
        "of more than it says": {"extrinsics": np.repeat(poses, 10, axis=0)[:many]},
        "that are flat": {"extrinsics": poses.reshape(len(poses), -1)},
        "that are a number": {"extrinsics": np.float32(1)},
        "without extrinsics": {"extrinsics": None},
        "without a lens": {"intrinsics": None},
        "without depth": {"depth": None},
        "with a lens of zeros": {"intrinsics": np.zeros_like(lens)},
        "with a lens of NaN": {"intrinsics": np.full_like(lens, np.nan)},
        "with a negative lens": {"intrinsics": -lens},
        "with a tiny lens": {"intrinsics": lens.astype(np.float64) * 1e-300},
        "with a huge lens": {"intrinsics": lens.astype(np.float64) * 1e300},
        "with a singular lens": {"intrinsics": lens * [[1, 1, 1], [1, 1, 1], [0, 0, 0]]},
        "with one lens": {"intrinsics": lens[0]},
        "with depth of zeros": {"depth": np.zeros_like(depth)},
        "with depth of NaN": {"depth": np.full_like(depth, np.nan)},
        "with negative depth": {"depth": -depth},
        "with infinite depth": {"depth": np.full_like(depth, np.inf)},
        "with tiny depth": {"depth": np.full(depth.shape, 1e-300)},
        "with huge depth": {"depth": np.full(depth.shape, 1e300)},
        "with depth without area": {"depth": depth[:, :0]},
        "with depth of text": {"depth": depth.astype("U4")},
        "with depth of other frames": {"depth": depth[:5]},
        "with indices that fall": {"frame_indices": np.arange(len(poses))[::-1]},
        "with indices that repeat": {"frame_indices": np.zeros(len(poses), np.int64)},
        "with negative indices": {"frame_indices": np.arange(len(poses)) - 5},
        "with indices beyond the end": {"frame_indices": np.arange(len(poses)) * 100},
        "with indices of many bits": {"frame_indices": np.arange(len(poses), dtype=np.uint64) + np.uint64(2**63)},
        "with indices of fractions": {"frame_indices": np.arange(len(poses)) + 0.5},
        "with indices of objects": {"frame_indices": np.array([Trap()] * len(poses), dtype=object)},
    }
    for name, change in changes.items():
        yield Damage(f"poses {name}", lambda root, change=change: _save(root / POSES, {**whole, **change}))


def _save(path: Path, arrays: dict[str, Any]) -> None:
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


# Folders of videos with a manifest.

MANIFESTS = {
    "whole": '{"video": "alpha/case0.mp4"}',
    "empty": "",
    "of NaN": '{"video": NaN}',
    "with an unknown key": '{"video": "alpha/case0.mp4", "vidoe": 1}',
    "leading outside": '{"video": "../../../etc/passwd", "case": "a"}',
    "with absolute poses": '{"video": "alpha/case0.mp4", "poses": "/etc/passwd"}',
    "with a folder for poses": '{"video": "alpha/case0.mp4", "poses": "alpha"}',
    "with a video for poses": '{"video": "alpha/case0.mp4", "poses": "alpha/case0.mp4"}',
    "with an action of numbers": '{"video": "alpha/case0.mp4", "action": 5}',
    "with an endless action": '{"video": "alpha/case0.mp4", "action": "%s"}' % ("left_then_" * 2000),
    "with phases beyond the end": '{"video": "alpha/case0.mp4", "phases": {"away": [-5, 99999999999]}}',
    "with phases of text": '{"video": "alpha/case0.mp4", "phases": {"away": ["a", "b"]}}',
    "with phases beyond all numbers": '{"video": "alpha/case0.mp4", "phases": {"away": [0, %s]}}' % (10**30),
    "with the same line twice": '{"video": "alpha/case0.mp4"}\n{"video": "alpha/case0.mp4"}',
    "with a NUL": '{"video": "alpha/case\\u0000.mp4"}',
    "with half a character": '{"video": "alpha/case0.mp4", "case": "\\ud800"}',
    "with a name of many characters": '{"video": "%s.mp4"}' % ("a" * 300),
    "with an empty model": '{"video": "alpha/case0.mp4", "model": ""}',
    "with a model that speaks to the terminal": '{"video": "alpha/case0.mp4", "model": "\\u001b[31m\\n"}',
    "of lists": "[]\n[1]\n[[]]",
    "that is deep": "[" * 100_000,
}
TABLES = {
    "whole": "video,case\nalpha/case0.mp4,a\n",
    "without lines": "video\n",
    "without a header": "alpha/case0.mp4\n",
    "with too many columns": "video\nalpha/case0.mp4,b,c,d\n",
    "with too few columns": "video,case,model\nalpha/case0.mp4\n",
    "with a NUL": "video\nalpha/case\0.mp4\n",
    "with an open quote": 'video,case\n"alpha/case0.mp4,a\n',
    "of a huge field": f"video,case\nalpha/case0.mp4,{'x' * 200_000}\n",
    "with a column twice": "video,video\nalpha/case0.mp4,/etc/passwd\n",
    "in Latin-1": "video,case\nalpha/case0.mp4,caf\udce9\n",
}


def manifests() -> Iterator[Damage]:
    """A folder of videos whose list is damaged, or whose files have odd names."""

    def make(root: Path) -> None:
        write_folder(root, cases=1)

    for name, text in MANIFESTS.items():
        yield Damage(f"manifest {name}", lambda root, text=text: (root / "manifest.jsonl").write_text(text), make)
    for name, text in TABLES.items():
        content = text.encode("utf-8", "surrogateescape")
        yield Damage(f"table {name}", lambda root, content=content: (root / "manifest.csv").write_bytes(content), make)
    yield Damage("folder of nothing", lambda root: (root / "alpha" / "case0.mp4").unlink(), make)
    yield Damage("folder of odd names", _odd_names, make)
    yield Damage(
        "folder with poses that are damaged", lambda root: (root / "alpha" / "case0.poses.npz").write_bytes(b"PK"), make
    )
    yield Damage("folder with a link outside", lambda root: (root / "alpha" / "link.mp4").symlink_to(PASSWORDS), make)
    yield Damage(
        "folder with a link to itself", lambda root: (root / "alpha" / "loop.mp4").symlink_to("loop.mp4"), make
    )
    yield Damage("folder with a pipe", lambda root: os.mkfifo(root / "alpha" / "pipe.mp4"), make)
    yield Damage("folder with a folder called like a video", lambda root: (root / "alpha" / "deep.mp4").mkdir(), make)


def _odd_names(root: Path) -> None:
    for name in (b"caf\xe9.mp4", b"\x1b[31m.mp4", b"two\nlines.mp4", b"{case}.mp4", b"..mp4", b" .mp4", b"-o.mp4"):
        Path(os.fsdecode(os.path.join(os.fsencode(root), b"alpha", name))).write_bytes(clip_bytes())
