"""A report reads the rows of a run once, however many of its parts ask for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lookaway.reports.runs import load_runs
from lookaway.reports.site.building import build_site
from lookaway.reports.site.one_file import write_one_file
from lookaway.store import run_folder
from lookaway.store.outcome_reader import OutcomeReader
from tests.reports.site.simulated import Simulated

METRICS = [f"mbencht.environment.{name}" for name in ("rendering_style", "object_texture")]


@pytest.fixture
def opened(monkeypatch) -> dict[str, list[Path]]:
    """Which runs a reader was made for, and which files of rows were read to verify them."""
    found: dict[str, list[Path]] = {"readers": [], "parts": []}
    begin, read = OutcomeReader.__init__, run_folder.read_bytes

    def count(reader: OutcomeReader, folder, *rest, **options) -> None:
        found["readers"].append(folder.path)
        begin(reader, folder, *rest, **options)

    def read_counted(path: Path) -> bytes:
        if path.parent.name == "outcomes":
            found["parts"].append(path)
        return read(path)

    monkeypatch.setattr(OutcomeReader, "__init__", count)
    monkeypatch.setattr(run_folder, "read_bytes", read_counted)
    return found


@pytest.mark.parametrize(
    "write",
    [
        lambda runs, folder: build_site(runs, folder / "site"),
        lambda runs, folder: write_one_file(runs, folder / "r.html"),
    ],
    ids=["site", "single file"],
)
def test_a_report_has_one_reader_for_each_run(tmp_path, opened, write: Callable[..., Path]) -> None:
    paths = [
        Simulated(path=tmp_path / name, skills={name: 0.5}, metrics=METRICS, scenes=6, frames=4).write().path
        for name in ("one", "other")
    ]
    write(load_runs(paths), tmp_path)
    assert sorted(opened["readers"]) == paths
    assert sorted(opened["parts"]) == [path / "outcomes" / "all.parquet" for path in paths]


def test_a_snapshot_keeps_its_rows_while_a_run_goes_on_and_a_run_does_not(tmp_path) -> None:
    run = Simulated(path=tmp_path / "run", skills={"a": 0.5}, metrics=METRICS, scenes=3).write()
    snapshot = run.snapshot()
    Simulated(path=tmp_path / "run", skills={"a": 0.5}, metrics=METRICS, scenes=5).write()
    assert len(list(snapshot.items())) == 6
    assert len(list(run.items())) == 10
    assert snapshot.snapshot() is snapshot
    assert snapshot == run
