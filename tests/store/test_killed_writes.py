"""A process that is killed at any write of begin, add, compact and merge loses nothing that it acknowledged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lookaway.core import RunError
from lookaway.engine.checking import check_run
from lookaway.engine.merging import merge
from lookaway.store.run_folder import RunFolder
from tests.store.rows import start_run
from tests.support.dying import Point, die_at, writing
from tests.support.every_file import ENTRIES, add_entry, read_rows, resume, write_every_file
from tests.support.s3_server import new_bucket, s3_server

MIN_POINTS = 60


@dataclass(frozen=True, slots=True)
class Scenario:
    """A folder before something is done to it, what is done, and which run is read afterwards."""

    prepare: Callable[[Path], object]
    act: Callable[[Path], object]
    acknowledged: int
    """Entries whose rows were acknowledged before."""
    may_refuse: bool = False
    """Whether the run may say that it has to be started again before it is read."""
    is_merge: bool = False

    def run(self, path: Path) -> Path:
        return path / "out" if self.is_merge else path / "run"

    def points(self, path: Path) -> list[Point]:
        """All points, found by tracing what is done."""
        self.prepare(path)
        with writing() as writes:
            self.act(path)
        return writes.points()


def begin(path: Path, count: int = len(ENTRIES)) -> RunFolder:
    return start_run(path / "run", *ENTRIES[:count])


def measured(path: Path, count: int, *, of: int = len(ENTRIES)) -> RunFolder:
    folder = begin(path, of)
    for number in range(count):
        add_entry(folder, number)
    return folder


def with_damage(path: Path) -> None:
    part = sorted(measured(path, 8).parts())[0]
    part.write_bytes(part.read_bytes()[:-1])


def shards(path: Path, measured_in_first: int = 4) -> None:
    for name, numbers, count in (("a", range(4), measured_in_first), ("b", range(4, 8), 4)):
        folder = start_run(path / name, *(ENTRIES[number] for number in numbers))
        for number in numbers[:count]:
            add_entry(folder, number)
        folder.note("finished", rollouts=count)


def merge_shards(path: Path) -> None:
    merge([path / "a", path / "b"], path / "out")


def merged_and_grown(path: Path) -> None:
    shards(path, measured_in_first=3)
    merge_shards(path)
    add_entry(RunFolder(path / "a"), 3)


SCENARIOS = {
    "begin": Scenario(lambda path: None, begin, 0, may_refuse=True),
    "begin again": Scenario(lambda path: write_every_file(path / "run"), begin, 8),
    "begin with more rollouts": Scenario(lambda path: measured(path, 5, of=5), begin, 5, may_refuse=True),
    "add": Scenario(lambda path: measured(path, 7), lambda path: add_entry(RunFolder(path / "run"), 7), 7),
    "compact": Scenario(lambda path: measured(path, 8), lambda path: RunFolder(path / "run").compact(), 8),
    "set aside": Scenario(with_damage, lambda path: RunFolder(path / "run").set_aside_damaged(), 7),
    "merge": Scenario(shards, merge_shards, 0, may_refuse=True, is_merge=True),
    "merge again": Scenario(merged_and_grown, merge_shards, 7, is_merge=True),
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return sorted(read_rows(measured(tmp_path_factory.mktemp("expected"), 8)))


def check_after_death(scenario: Scenario, path: Path, point: Point, expected: list[str]) -> None:
    """Die, read, go on, and read again."""
    die_at(point, lambda: scenario.act(path))
    run = RunFolder(scenario.run(path))
    try:
        found = read_rows(run)
    except RunError:
        assert scenario.may_refuse, point
    else:
        assert set(found) <= set(expected), point
        assert len(found) == len(set(found)), point
        assert len(found) >= 3 * scenario.acknowledged, point  # a row, and one for each of two units
    if scenario.is_merge:
        merge_shards(path)
    else:
        assert resume(run) <= len(ENTRIES) - scenario.acknowledged, point
    assert sorted(read_rows(run)) == expected, point
    # The event that was being written may be cut; it was not acknowledged.
    assert [damage for damage in check_run(run.path).damaged if "events.jsonl: line" not in damage] == [], point


def test_enough_points_are_found_by_tracing(tmp_path):
    found = {name: scenario.points(tmp_path / name) for name, scenario in SCENARIOS.items()}
    print({name: len(points) for name, points in found.items()})
    assert sum(map(len, found.values())) >= MIN_POINTS
    assert {point.step for points in found.values() for point in points} >= {"open", "write", "fsync", "replace"}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_process_killed_at_one_of_its_writes_loses_nothing(name, expected, tmp_path):
    scenario = SCENARIOS[name]
    points = scenario.points(tmp_path / "traced")
    scenario.prepare(tmp_path / "killed")
    check_after_death(scenario, tmp_path / "killed", points[len(points) * 2 // 3], expected)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_process_killed_at_any_write_loses_nothing(name, expected, tmp_path):
    scenario = SCENARIOS[name]
    points = scenario.points(tmp_path / "traced")
    for number, point in enumerate(points):
        scenario.prepare(tmp_path / str(number))
        check_after_death(scenario, tmp_path / str(number), point, expected)
    print(f"{name}: {len(points)} points")


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory):
    with s3_server(tmp_path_factory.mktemp("s3")):
        yield new_bucket


@pytest.mark.server
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("begin", marks=pytest.mark.merge),
        *(
            pytest.param(name, marks=pytest.mark.nightly)
            for name in ("begin with more rollouts", "add", "compact", "merge", "merge again")
        ),
    ],
)
def test_a_process_killed_at_any_write_to_object_storage_loses_nothing(name, expected, bucket):
    scenario = SCENARIOS[name]
    points = [point for point in scenario.points(bucket()) if point.step.endswith("_object")]
    assert points
    for point in points:
        path = bucket()
        scenario.prepare(path)
        check_after_death(scenario, path, point, expected)
    print(f"{name} on object storage: {len(points)} points")
