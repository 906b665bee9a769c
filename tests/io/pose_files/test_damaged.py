"""Whatever is done to a file of poses, it is either read or refused with a typed reason."""

from __future__ import annotations

import os
import random
import struct

import numpy as np
import pytest

from lookaway.core import ArtifactError
from tests.io.pose_files.written import WHOLE, Written, vggt_bare


def read_or_refuse(written: Written) -> str:
    """What became of it; anything but a trajectory or a typed refusal is raised."""
    try:
        trajectory = written.read(assumed_fov_degrees=60).trajectory
    except ArtifactError as error:
        names = [file.name for file in (written.path, written.lens) if file]
        return "refused" if str(error).startswith(tuple(names)) else "refused without a name"
    for values in (trajectory.camera_to_world, trajectory.intrinsics, trajectory.median_depth):
        assert np.isfinite(values).all()
    assert (trajectory.median_depth > 0).all()
    return "read"


def damaged(whole: bytes, dice: random.Random) -> bytes:
    """Cut off, with bits flipped, with a piece doubled, zeroed or replaced by noise."""
    start = dice.randrange(len(whole))
    stop = min(len(whole), start + dice.randrange(1, 40))
    match dice.randrange(5):
        case 0:
            return whole[:start]
        case 1:
            changed = bytearray(whole)
            for _ in range(dice.randrange(1, 6)):
                changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
            return bytes(changed)
        case 2:
            return whole[:stop] + whole[start:]
        case 3:
            return whole[:start] + bytes(stop - start) + whole[stop:]
        case _:
            return whole[:start] + dice.randbytes(stop - start) + whole[stop:]


@pytest.mark.parametrize(
    ("layout", "part"), [*((layout, "path") for layout in WHOLE), ("vipe", "lens"), ("colmap", "lens")]
)
def test_random_damage_is_refused_or_harmless(tmp_path, layout, part):
    written = WHOLE[layout](tmp_path)
    file = getattr(written, part)
    whole, dice, outcomes = file.read_bytes(), random.Random(f"{layout} {part}"), []
    for _ in range(150):
        file.write_bytes(damaged(whole, dice))
        outcomes.append(read_or_refuse(written))
    assert set(outcomes) <= {"read", "refused"}
    assert outcomes.count("refused") > 20


@pytest.mark.parametrize("layout", WHOLE)
@pytest.mark.parametrize(
    "content", [b"", b"\0" * 4000, b"PK\x05\x06" + bytes(18), b"\x93NUMPY", b"1 2 3\n" * 50, b"\xff\xfe" * 90]
)
def test_foreign_content_is_refused(tmp_path, layout, content):
    written = WHOLE[layout](tmp_path)
    written.path.write_bytes(content)
    assert read_or_refuse(written) == "refused"


@pytest.mark.parametrize("layout", WHOLE)
def test_what_is_no_file_is_refused_at_once(tmp_path, layout):
    written = WHOLE[layout](tmp_path)
    written.path.unlink()
    os.mkfifo(written.path)
    assert read_or_refuse(written) == "refused"
    written.path.unlink()
    written.path.mkdir()
    assert read_or_refuse(written) == "refused"


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 4, 4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (700, 700, 700), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 4, 4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-6, 4, 4), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (6, 4, 4), }",
        "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (6, 4, 4), }",
        "__import__('os').system('true')",
        "(" * 5000,
        "{" + " " * 60_000,
    ],
)
def test_a_header_that_claims_the_impossible_is_refused(tmp_path, header):
    written = vggt_bare(tmp_path)
    text = header.encode().ljust(118) + b"\n"
    written.path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(960))
    assert read_or_refuse(written) == "refused"


def test_poses_that_claim_more_than_the_memory_allows_are_refused_unread(tmp_path):
    written = vggt_bare(tmp_path)
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3000000, 4, 4), }".ljust(118) + b"\n"
    with written.path.open("wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
        file.truncate(3_000_000 * 128 + 200)
    with pytest.raises(ArtifactError, match="too large"):
        written.read(assumed_fov_degrees=60)


def test_text_that_is_larger_than_any_file_of_poses_is_refused_unread(tmp_path):
    written = WHOLE["colmap"](tmp_path)
    with written.path.open("r+b") as file:
        file.truncate(257 * 1024 * 1024)
    with pytest.raises(ArtifactError, match="at most 268,435,456 are read"):
        written.read()
