from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import lookaway
from lookaway.store.feature_store import FeatureStore
from lookaway.store.run_folder import RunFolder
from tests.support import lightness_suite
from tests.support.ray_runs import ended, ray_folder, start
from tests.support.runs import outcomes, table_text
from tests.support.tiny import write_folder

pytestmark = pytest.mark.nightly

CASES = 60
EXECUTORS = {"inline": (), "ray": ("--executor", "ray", "--workers", 2)}
FULL = "No space left on device"


@dataclass(frozen=True)
class SmallDisk:
    """A file system in memory whose size can be changed while it is used."""

    path: Path

    def resize(self, size: str) -> None:
        """Such as `1m`."""
        _run("mount", "-o", f"remount,size={size}", str(self.path))

    def fill(self, *, but_bytes: int) -> None:
        """Take all space but so much."""
        free = os.statvfs(self.path)
        (self.path / "filling").write_bytes(bytes(max(0, free.f_bavail * free.f_bsize - but_bytes)))


@pytest.fixture(scope="module", autouse=True)
def _lightness() -> Iterator[None]:
    with lightness_suite.offered():
        yield


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    path = tmp_path / "disk"
    path.mkdir()
    try:
        _run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(path))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a small disk cannot be mounted here: {error}")
    yield SmallDisk(path)
    _run("umount", "--lazy", str(path))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("videos"), cases=CASES)


@pytest.fixture(scope="module")
def whole(root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The table of a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    lookaway.evaluate(root, folder, suite=lightness_suite.NAME)
    return table_text(folder)


def evaluated(root: Path, run: Path, executor: str, *more: object) -> tuple[int, str]:
    """Exit code and errors of `lookaway eval`."""
    with ray_folder() as env:
        command = ("eval", root, "--suite", lightness_suite.NAME, "-o", run, *EXECUTORS[executor], *more, "--quiet")
        return ended(start(*command, env=env))


def last_line(errors: str) -> str:
    """What ended the command; no trace of where in the code stands before it."""
    assert "Traceback" not in errors
    *_, last = errors.splitlines()
    assert last.startswith("error: ")
    return last


def rows_on_disk(run: Path) -> int:
    """Rows of whole measurements; every file can be read."""
    return sum(pq.read_table(part)["unit"].null_count for part in RunFolder(run).parts())


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_full_disk_ends_the_run_with_one_line_and_what_is_there_is_whole(executor, root, whole, disk):
    run = disk.path / "run"
    disk.fill(but_bytes=150_000)
    code, errors = evaluated(root, run, executor)
    assert code == 2
    assert "cannot be" in last_line(errors)
    assert FULL in last_line(errors)
    kept = rows_on_disk(run)
    assert 0 < kept < CASES
    disk.resize("8m")
    assert evaluated(root, run, executor) == (0, "")
    assert table_text(run) == whole
    assert len(outcomes(run)) == CASES


def test_a_disk_that_is_full_from_the_start_holds_no_run_and_says_so(root, whole, disk):
    run = disk.path / "run"
    disk.fill(but_bytes=0)
    code, errors = evaluated(root, run, "inline")
    assert code == 2
    assert f"{run}: the run cannot be written here: " in last_line(errors)
    assert FULL in last_line(errors)
    (disk.path / "filling").unlink()
    assert evaluated(root, run, "inline") == (0, "")
    assert table_text(run) == whole


def test_features_on_a_full_disk_end_the_run_and_its_rows_elsewhere_are_whole(root, whole, disk, tmp_path):
    features, run = disk.path / "features", tmp_path / "run"
    disk.fill(but_bytes=100_000)
    code, errors = evaluated(root, run, "inline", "--features", features)
    assert code == 2
    assert "features cannot be stored here: " in last_line(errors)
    assert FULL in last_line(errors)
    assert 0 < rows_on_disk(run) < CASES
    disk.resize("8m")
    assert evaluated(root, run, "inline", "--features", features) == (0, "")
    assert table_text(run) == whole
    kept = list(features.rglob("*.npz"))
    store = FeatureStore(features)
    assert len(kept) == CASES
    assert all(store.get(path.stem, path.parents[1].name) is not None for path in kept)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
