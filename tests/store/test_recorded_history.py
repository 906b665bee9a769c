"""Whatever happens to the files of a run: what was acknowledged is read back the same, or is measured again."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lookaway.core import UserError
from lookaway.engine.checking import check_run
from lookaway.store.run_folder import RunFolder
from tests.support.every_file import ENTRIES, READERS, read_rows, resume, write_every_file

FLIPS = 210
"""In each kind of file; there are ten kinds."""
SAMPLE = 3
"""Of them, those that are tried at every push."""


@dataclass(slots=True)
class Tally:
    """What became of the damage."""

    same: int = 0
    refused: int = 0
    noticed: int = 0
    shorter: int = 0
    """A journal with fewer or repeated whole lines: nothing says how many there were."""
    silent: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_every_file(tmp_path_factory.mktemp("whole") / "run").path


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> RunFolder:
    shutil.copytree(whole, tmp_path / "run")
    return RunFolder(tmp_path / "run")


def file_of(folder: RunFolder, pattern: str) -> Path:
    return sorted(folder.path.glob(pattern))[0]


def flips(content: bytes, count: int) -> Iterator[tuple[str, bytes]]:
    """The content with one bit flipped: spread over the whole file, a different bit each time."""
    dice = random.Random(len(content))
    for number in range(count):
        at = number * len(content) // count
        at = min(len(content) - 1, at + dice.randrange(max(1, len(content) // count)))
        damaged = bytearray(content)
        damaged[at] ^= 1 << number % 8
        yield f"bit {number % 8} of byte {at}", bytes(damaged)


def torn(content: bytes) -> Iterator[tuple[str, bytes]]:
    """The content cut off, with zeros at its end, with a block of zeros, and with half of it twice."""
    size = len(content)
    for length in (0, 1, size // 3, size // 2, size - 30, size - 2, size - 1):
        yield f"cut to {length} bytes", content[:length]
        yield f"zeros after {length} bytes", content[:length] + bytes(size - length)
    for start in range(0, size, max(1, size // 8)):
        yield f"zeros from {start} on", content[:start] + bytes(min(16, size - start)) + content[start + 16 :]
    yield "its first half twice", content[: size // 2] * 2
    yield "something after its end", content + b"?"


def outcome(folder: RunFolder, pattern: str, expected: object, tally: Tally, damage: str) -> None:
    """Read a damaged file as everybody does, and count what is seen."""
    try:
        found = READERS[pattern](folder)
    except UserError:
        tally.refused += 1
        return
    if found == expected:
        tally.same += 1
    elif is_part(found, expected) and is_named(folder):
        tally.noticed += 1
    elif pattern.endswith(".jsonl") and damage.startswith(("cut to", "its first half")):
        tally.shorter += 1
    else:
        tally.silent.append(f"{pattern}, {damage}: {found!r:.200}")


def is_named(folder: RunFolder) -> bool:
    """Whether a check names the damage, or the line that a kill cut off."""
    checked = check_run(folder.path)
    return bool(checked.damaged or checked.unfinished)


def is_part(found: object, expected: object) -> bool:
    """Whether nothing is read that was not written."""
    if isinstance(found, list) and isinstance(expected, list):
        return all(entry in expected for entry in found)
    return found is None


def damage_all(folder: RunFolder, pattern: str, variants: Iterator[tuple[str, bytes]]) -> Tally:
    path, tally = file_of(folder, pattern), Tally()
    content, expected = path.read_bytes(), READERS[pattern](folder)
    for damage, damaged in variants:
        path.write_bytes(damaged)
        outcome(folder, pattern, expected, tally, damage)
    path.write_bytes(content)
    return tally


@pytest.mark.parametrize("pattern", READERS)
def test_some_flipped_bits_change_nothing_silently(pattern, folder):
    tally = damage_all(folder, pattern, flips(file_of(folder, pattern).read_bytes(), SAMPLE))
    assert tally.silent == []


@pytest.mark.nightly
@pytest.mark.parametrize("pattern", READERS)
def test_flipped_bits_all_over_a_file_change_nothing_silently(pattern, folder):
    tally = damage_all(folder, pattern, flips(file_of(folder, pattern).read_bytes(), FLIPS))
    print(f"{pattern}: {tally.same} same, {tally.refused} refused, {tally.noticed} noticed")
    assert tally.silent == []
    assert tally.same + tally.refused + tally.noticed == FLIPS


@pytest.mark.nightly
@pytest.mark.parametrize("pattern", READERS)
def test_torn_files_change_nothing_silently(pattern, folder):
    assert damage_all(folder, pattern, torn(file_of(folder, pattern).read_bytes())).silent == []


@pytest.mark.parametrize("damage", ["flip", "cut"])
@pytest.mark.parametrize("pattern", [name for name in READERS if name.endswith((".parquet", "run.json", "lock.json"))])
def test_what_a_damaged_file_held_is_measured_again(pattern, damage, folder):
    expected = sorted(read_rows(folder))
    path = file_of(folder, pattern)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content if damage == "flip" else content[: len(content) // 2])
    again = resume(folder)
    assert sorted(read_rows(folder)) == expected
    held = {"outcomes/compact-*.parquet": 5, "outcomes/[!c]*.parquet": 1}
    assert again == held.get(pattern, 0)
    assert check_run(folder.path).damaged == []
    assert len(ENTRIES) == 8
