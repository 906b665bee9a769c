"""Inputs made to hang a reader or to fill its memory, each with a name, each the same on every run."""

from __future__ import annotations

import io
import os
import random
import socket
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.fuzz.damage import LINES, MODEL, PLACE, POSES, VIDEO, Damage
from tests.fuzz.hostile_texts import MEGABYTE, json_texts, manifests, yaml_cards
from tests.support.tiny import clip_bytes, pose_bytes, write_folder


def families() -> dict[str, list[Damage]]:
    """Every hostile input that is known here, by what it attacks."""
    cards = list(yaml_cards())
    return {
        "cards": [*cards, *(replace(card, name=f"named {card.name}", suite="mbench-a") for card in cards)],
        "records": list(json_texts()),
        "manifests": [replace(damage, suite="folder", make=lambda root: write_folder(root)) for damage in manifests()],
        "archives": [replace(damage, metrics=("rendering_lighting",)) for damage in archives()],  # its gate reads poses
        "videos": [replace(damage, metrics=("rendering_lighting",)) for damage in videos()],
        "pictures": [replace(damage, suite="folder", metrics=("rendering_lighting",)) for damage in pictures()],
        "folders": list(folders()),
    }


# Archives of arrays: what a header promises.


def archives() -> Iterator[Damage]:
    """Poses whose archive lies about what it holds."""
    yield from headers()
    nested = "('<f4', (2,))"
    for depth in (3, 40, 400):
        text = nested
        for _ in range(depth):
            text = f"[('a', {text})]"
        yield _member(f"records {depth} deep", _raw_array(text, "(20,)"))
    for count in (1000, 60_000):
        yield Damage(f"poses of {count} arrays", lambda root, n=count: (root / POSES).write_bytes(_many_members(n)))
    for field in range(8):
        yield Damage(f"poses with a wrong directory, {field}", lambda root, f=field: _lie(root / POSES, f))
    for seed in range(24):
        yield Damage(f"poses with bytes set, {seed}", lambda root, s=seed: _set_bytes(root / POSES, s, 64))


def headers() -> Iterator[Damage]:
    """Arrays whose header promises another length, type or shape than what follows."""
    for version in (1, 2, 3):
        for length in (0, 1, 65_535, 10 * MEGABYTE, 2**31, 2**32 - 1):
            if version == 1 and length > 65_535:
                continue
            yield _member(f"an NPY {version} header said to have {length}", _npy(version, length, b"{'descr': '<f4'}"))
    for filled in (MEGABYTE, 50 * MEGABYTE, 200 * MEGABYTE):
        yield _member(f"an NPY 2 header of {filled} spaces", lambda n=filled: _npy(2, n, b"{" + b" " * (n - 1)))
        yield _member(f"{filled} zeros", lambda n=filled: _array("<u1", (n,)) + bytes(n))
    for descr in (
        "|O",
        "<U1000000000",
        "|S2147483647",
        "|V2147483647",
        "<f16",
        ">c32",
        "<M8[ns]",
        "<m8",
        "|b1",
        "x",
        "",
    ):
        for shape in ((20, 3, 4), (2**62, 4), (0, 2**40), (2**31, 2**31, 4), (1,) * 40):
            yield _member(f"{descr!r} of {str(shape)[:30]}", _array(descr, shape))


def _npy(version: int, length: int, header: bytes) -> bytes:
    size = struct.pack("<H", min(length, 65_535)) if version == 1 else struct.pack("<I", length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + header


def _array(descr: str, shape: tuple[int, ...]) -> bytes:
    return _raw_array(repr(descr), repr(shape))


def _raw_array(descr: str, shape: str) -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return _npy(2, len(header), header)


def _member(name: str, content: bytes | Callable[[], bytes]) -> Damage:
    def apply(root: Path) -> None:
        with np.load(io.BytesIO(pose_bytes())) as whole:
            arrays = {key: whole[key] for key in whole.files if key != "extrinsics"}
        np.savez(root / POSES, **arrays)
        with zipfile.ZipFile(root / POSES, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("extrinsics.npy", content() if callable(content) else content)

    return Damage(f"poses with {name}", apply)


def _many_members(count: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(count):
            archive.writestr(f"a{number}.npy", b"")
    return file.getvalue()


def _lie(path: Path, field: int) -> None:
    """Change one field of the end of the directory, or of its first entry."""
    content = bytearray(path.read_bytes())
    end, first = content.rfind(b"PK\x05\x06"), content.find(b"PK\x01\x02")
    places = [(end + 8, 2), (end + 10, 2), (end + 12, 4), (end + 16, 4), (first + 20, 4), (first + 24, 4)]
    place, size = [*places, (first + 42, 4), (first + 8, 2)][field]
    content[place : place + size] = b"\xff" * size
    path.write_bytes(content)


def _set_bytes(path: Path, seed: int, count: int) -> None:
    dice, content = random.Random(seed), bytearray(path.read_bytes())
    for _ in range(count):
        content[dice.randrange(len(content))] = dice.choice((0, 1, 127, 128, 255))
    path.write_bytes(content)


# Videos: numbers in the boxes of a container.


def videos() -> Iterator[Damage]:
    """A clip whose boxes hold other numbers."""
    boxes = (b"tkhd", b"mdhd", b"mvhd", b"stts", b"stsz", b"stsc", b"stco", b"elst", b"hdlr", b"avc1", b"avcC", b"ctts")
    for box in boxes:
        for name, value in {"zeros": 0, "ones": 0xFF, "the greatest positive": 0x7F}.items():
            for offset in (8, 16, 32):
                yield Damage(
                    f"video with {name} in {box.decode()} at {offset}",
                    lambda root, b=box, v=value, o=offset: _set_box(root / VIDEO, b, v, o),
                )
    for seed in range(60):
        yield Damage(f"video with bytes set in its index, {seed}", lambda root, s=seed: _set_index(root / VIDEO, s))
    for size in (0, 1, 7, 2**31, 2**32 - 1):
        yield Damage(f"video whose first box has {size} bytes", lambda root, s=size: _set_size(root / VIDEO, s))


def _set_box(path: Path, box: bytes, value: int, offset: int) -> None:
    content = bytearray(path.read_bytes())
    at = content.find(box)
    if at >= 0:
        content[at + offset : at + offset + 8] = bytes([value]) * 8
    path.write_bytes(content)


def _set_index(path: Path, seed: int) -> None:
    dice, content = random.Random(seed), bytearray(path.read_bytes())
    start = max(content.find(b"moov"), 0)
    for _ in range(1 + seed % 6):
        content[dice.randrange(start, len(content))] = dice.choice((0, 1, 127, 128, 255))
    path.write_bytes(content)


def _set_size(path: Path, size: int) -> None:
    content = bytearray(path.read_bytes())
    content[:4] = struct.pack(">I", size)
    path.write_bytes(content)


# Folders of pictures: what a header promises, and what a few bytes unpack to.


def pictures() -> Iterator[Damage]:
    """Numbered pictures in the place of a video."""
    for width, height in (
        (0, 0),
        (1, 1),
        (1, 65_535),
        (65_535, 1),
        (30_000, 30_000),
        (2**31 - 1, 2**31 - 1),
        (2**16, 2),
    ):
        for filled in (False, True):
            if filled and width * height > 10**9:
                continue
            what = f"{width} by {height}, {'unpacked' if filled else 'only said'}"
            yield _picture_folder(what, lambda w=width, h=height, f=filled: _png(w, h, f))
    for chunk in (b"tEXt", b"zTXt", b"iCCP", b"eXIf", b"acTL"):
        yield _picture_folder(f"a {chunk.decode()} chunk of 100 MB", lambda c=chunk: _png_with(c))
    for name, content in {"text": b"frame", "nothing": b"", "a GIF": b"GIF89a" + b"\xff" * 20, "a clip": None}.items():
        yield _picture_folder(f"{name}", lambda c=content: clip_bytes() if c is None else c)


def _picture_folder(what: str, content: Callable[[], bytes]) -> Damage:
    def apply(root: Path) -> None:
        folder = root / "alpha" / "case9"
        folder.mkdir(parents=True)
        picture = content()
        for number in range(3):
            (folder / f"{number:05d}.png").write_bytes(picture)

    return Damage(f"pictures of {what}", apply, make=lambda root: write_folder(root))


def _png(width: int, height: int, filled: bool) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    row = b"\0" * (width + 1)
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(row) for _ in range(height)) + packer.flush() if filled else zlib.compress(b"\0")
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")


def _png_with(kind: bytes) -> bytes:
    packed = b"a\0\0" + zlib.compress(bytes(100 * MEGABYTE), 9)
    whole = _png(8, 8, True)
    return whole[:33] + _chunk(kind, packed) + whole[33:]


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


# Folders: depth, names, and files that are none.


def folders() -> Iterator[Damage]:
    """What a file system allows and a reader does not expect."""
    for depth in (50, 500, 1500):
        yield _foreign(f"{depth} folders inside another", lambda root, d=depth: _deep(root, d))
    for count in (1000, 5000):
        yield _foreign(f"{count} empty videos", lambda root, n=count: _many_files(root, n))
    for name in ("\n", "\x1b[2J", "\u202e", "-o", "a" * 250, "%00", "a b", "\xff", "...", "~", "$HOME", "`id`"):
        yield _foreign(f"a model named {name[:12]!r}", lambda root, n=name: _named(root, n))
    yield _foreign("a folder that leads to its parent", lambda root: (root / "loop").symlink_to(root))
    yield _foreign("a folder that leads to the root", lambda root: (root / "all").symlink_to("/"))
    yield _foreign("a video without end", lambda root: _in_place_of_video(root).symlink_to("/dev/zero"))
    yield _foreign("a video of chance", lambda root: _in_place_of_video(root).symlink_to("/dev/urandom"))
    yield _foreign("a video that is a pipe", lambda root: os.mkfifo(_in_place_of_video(root)))
    yield _foreign("a video that is a socket", lambda root: _bind(_in_place_of_video(root)))
    yield _foreign("a video with a hole of 1 TB", lambda root: _sparse(_in_place_of_video(root)))
    yield Damage("poses with a hole of 1 TB", lambda root: _sparse(root / POSES))
    yield Damage("lines with a hole of 1 TB", lambda root: _sparse(root / LINES))
    yield Damage("a card with a hole of 1 TB", lambda root: _sparse(root / "dataset.yaml"))
    yield Damage("outputs that lead outside", lambda root: _led_away(root / MODEL / "outputs" / PLACE))


def _foreign(name: str, apply: Callable[[Path], object]) -> Damage:
    return Damage(
        f"folder with {name}",
        apply,
        make=lambda root: write_folder(root),
        metrics=("rendering_lighting",),
        suite="folder",
    )


def _deep(root: Path, depth: int) -> None:
    here = os.getcwd()
    os.chdir(root)
    try:
        for _ in range(depth):
            os.mkdir("d")
            os.chdir("d")
        Path("clip.mp4").write_bytes(b"")
    finally:
        os.chdir(here)


def _many_files(root: Path, count: int) -> None:
    for number in range(count):
        (root / "alpha" / f"empty{number}.mp4").touch()


def _named(root: Path, name: str) -> None:
    (root / name).mkdir(exist_ok=True)
    (root / name / "case0.mp4").write_bytes(clip_bytes())


def _in_place_of_video(root: Path) -> Path:
    (root / "alpha" / "case0.mp4").unlink()
    return root / "alpha" / "case0.mp4"


def _bind(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def _sparse(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(10**12)


def _led_away(path: Path) -> None:
    for file in path.iterdir():
        file.unlink()
    path.rmdir()
    path.symlink_to("/etc")
