from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lookaway.world.rendering import CaseRenderer
from tests.support import rendered
from tests.support.made_once import CACHE, copy_of, key_of, source_hash
from tests.support.rendered import clip_key, copy_clips
from tests.support.world import small

MAKE_ONE = """
import sys, time
from pathlib import Path
from tests.support.made_once import copy_of

def make(folder):
    folder.mkdir()
    with (folder.parent / "made").open("a") as made:
        made.write("x")
    time.sleep(1)
    (folder / "file").write_text("made")

copy_of("key", Path(sys.argv[1]), make)
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def make() -> Callable[[Path], None]:
    """Makes another folder every time."""
    calls: list[int] = []

    def make_next(folder: Path) -> None:
        calls.append(len(calls))
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / "file").write_text(f"made {len(calls)}")

    return make_next


def read(folder: Path) -> str:
    return (folder / "inner" / "file").read_text()


def test_what_was_made_is_copied_and_a_damaged_copy_changes_nothing(cache, tmp_path, make):
    first = copy_of("key", tmp_path / "first", make)
    (first / "inner" / "file").write_text("damaged")
    assert read(copy_of("key", tmp_path / "second", make)) == "made 1"
    assert read(copy_of("another key", tmp_path / "third", make)) == "made 2"


@pytest.mark.parametrize(
    "damage",
    [
        lambda entry: (entry / "content" / "inner" / "file").write_text("other"),
        lambda entry: (entry / "content" / "inner" / "file").unlink(),
        lambda entry: (entry / "content" / "more").write_text("left over"),
        lambda entry: (entry / "sha256.json").write_text("{"),
        lambda entry: (entry / "sha256.json").unlink(),
        lambda entry: shutil.rmtree(entry / "content"),
    ],
    ids=["other bytes", "no file", "one file more", "half a record", "no record", "nothing"],
)
def test_a_damaged_entry_is_not_believed_and_made_anew(cache, tmp_path, make, damage):
    copy_of("key", tmp_path / "first", make)
    damage(cache / "key")
    assert read(copy_of("key", tmp_path / "second", make)) == "made 2"
    assert read(copy_of("key", tmp_path / "third", make)) == "made 2"


def test_what_fails_half_way_leaves_no_entry(cache, tmp_path, make):
    def fail(folder: Path) -> None:
        make(folder)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        copy_of("key", tmp_path / "first", fail)
    assert not (cache / "key").exists()


def test_two_processes_make_one_thing_once(cache, tmp_path):
    command = [sys.executable, "-c", MAKE_ONE]
    both = [subprocess.Popen([*command, str(tmp_path / name)], cwd=Path(__file__).parents[2]) for name in ("a", "b")]
    assert [process.wait(60) for process in both] == [0, 0]
    assert (tmp_path / "made").read_text() == "x"
    assert {(tmp_path / name / "file").read_text() for name in ("a", "b")} == {"made"}


def test_a_change_of_a_source_file_changes_its_hash(tmp_path):
    (tmp_path / "module.py").write_text("A = 1")
    before = source_hash(tmp_path)
    (tmp_path / "module.py").write_text("A = 2")
    assert source_hash(tmp_path) != before


def test_a_clip_is_known_by_its_recipe_and_by_what_draws_it(monkeypatch):
    known = clip_key(small())
    assert clip_key(small()) == known
    assert clip_key(replace(small(), take=1)) != known
    monkeypatch.setattr(rendered, "_world", lambda: key_of("another source"))
    assert clip_key(small()) != known


@pytest.mark.render
def test_a_copied_clip_is_the_drawn_one_and_is_drawn_once(cache, tmp_path, monkeypatch):
    drawn: list[object] = []
    draw = CaseRenderer.__call__
    monkeypatch.setattr(CaseRenderer, "__call__", lambda self, recipes: (drawn.extend(recipes), draw(self, recipes))[1])
    recipe = small(width=64, height=64, event="none")
    folders = [copy_clips([recipe], tmp_path / name) for name in ("first", "second")]
    assert drawn == [recipe]
    first, second = ({p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()} for f in folders)
    assert first == second
    assert {path.name for path in first} >= {"clip.json", "manifest.json"}
