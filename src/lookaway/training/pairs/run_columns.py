"""Rollouts and scores of several runs as columns, since there may be millions of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lookaway.core import DamagedFile, Floats, Indices, RunError, UserError
from lookaway.engine.run import Run
from lookaway.io.checksums import REMEDY, check_named
from lookaway.io.files import read_all
from lookaway.io.parquet import read_parquet
from lookaway.store.run_folder import READ_AT_ONCE, ROLLOUT_COLUMNS, RunFolder

Flags = NDArray[np.bool_]

ROW_COLUMNS: Final = ("rollout", "content", "metric", "lock", "unit", "status", "value")
WORST_FIRST: Final = ("failure", "abstention", "score")
SCORE: Final = WORST_FIRST.index("score")
ROWS_AT_ONCE: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRollouts:
    """What one metric gave the rollouts of a run."""

    values: Floats
    """0 where there is no score."""
    is_scored: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class RunColumns:
    """The rollouts of all runs. A video that several runs, or several names, share within a case counts once."""

    runs: tuple[Run, ...]
    table: pa.Table
    """The rollouts, with the number of their run."""
    cases: Indices
    scenes: Indices
    models: Indices
    """Number of the case, scene and model of each rollout."""
    case_names: tuple[str, ...]
    scene_names: tuple[str, ...]
    model_names: tuple[str, ...]
    places: tuple[Indices, ...]
    """For each run: the number here of each of its rollouts."""
    copies: int
    """Rollouts that were left out, since their video is that of another one."""

    def __len__(self) -> int:
        return len(self.table)

    def where(self, run: int, subsets: Sequence[str] | None) -> Flags:
        """Which rollouts of one run belong to some subsets, in its order; `None` is all."""
        if subsets is None:
            return np.ones(len(self.places[run]), np.bool_)
        own = self.table["subset"].take(pa.array(self.places[run]))
        found: Flags = pc.is_in(own, pa.array(subsets, pa.string())).to_numpy(zero_copy_only=False)
        return found


def read_rollouts(runs: Sequence[Run]) -> RunColumns:
    """The rollouts of some runs; refuses runs of different suites, and cases that are not the same in all runs."""
    _check_runs(runs)
    tables = [_rollouts_of(run, number) for number, run in enumerate(runs)]
    every = pa.concat_tables(tables).combine_chunks()
    cases, case_names = _coded(every["case"])
    contents, content_names = _coded(every["content"])
    # Sorted, so that of several names of one video the first counts, in whatever order the runs are given.
    order = pc.sort_indices(every, [("rollout", "ascending"), ("run", "ascending")]).to_numpy()
    keys = cases[order] * max(1, len(content_names)) + contents[order]
    _, firsts, inverse = np.unique(keys, return_index=True, return_inverse=True)
    place = np.empty(len(every), np.int64)
    place[order] = inverse
    kept = order[firsts]
    table = every.take(pa.array(kept))
    scenes, scene_names = _coded(table["scene"])
    models, model_names = _coded(table["model"])
    _check_cases(table, cases[kept], case_names)
    ends = np.cumsum([len(own) for own in tables])[:-1]
    return RunColumns(
        runs=tuple(runs),
        table=table,
        cases=cases[kept],
        scenes=scenes,
        models=models,
        case_names=case_names,
        scene_names=scene_names,
        model_names=model_names,
        places=tuple(np.split(place, ends)),
        copies=len(every) - len(kept),
    )


def read_scores(run: Run, locks: Mapping[str, str]) -> dict[str, ScoredRollouts]:
    """The scores of some metrics, by their names and locks, in the order of the run's rollouts.

    Rows of another lock or of changed files do not count; of several measurements with one key, a score counts before
    an abstention before a failure, as everywhere.
    """
    folder = RunFolder(run.path)
    rollouts = folder.rollouts(["rollout", "content"]).combine_chunks()
    best = np.full((len(locks), len(rollouts)), -1, np.int8)
    values = np.zeros((len(locks), len(rollouts)))
    for rows in _row_batches(folder):
        _put_rows(rows, rollouts, locks, best, values)
    is_scored = best == SCORE
    for number, name in enumerate(locks):
        if not np.isfinite(values[number][is_scored[number]]).all():
            raise RunError(
                f"{run.path}: a score of {name} is not a finite number. Delete the damaged file in outcomes; the same "
                "`lookaway eval` measures its rollouts again."
            )
    return {
        name: ScoredRollouts(values=np.where(is_scored[number], values[number], 0.0), is_scored=is_scored[number])
        for number, name in enumerate(locks)
    }


def _check_runs(runs: Sequence[Run]) -> None:
    resolved = [run.path.resolve() for run in runs]
    for run in runs:
        if resolved.count(run.path.resolve()) > 1:
            raise UserError(f"{run.path}: given more than once. Name every run once.")
    suites = {str(run.about["suite"]): run.path for run in runs}
    if len(suites) > 1:
        shown = ", ".join(f"{suite} ({path})" for suite, path in sorted(suites.items()))
        raise UserError(
            f"The runs are of different suites, whose cases cannot be paired: {shown}. Export pairs from each suite "
            "separately."
        )


def _check_cases(table: pa.Table, cases: Indices, names: Sequence[str]) -> None:
    """A case is the same where its scene and its subset are."""
    for column in ("scene", "subset"):
        codes, _ = _coded(table[column])
        first = np.empty(len(names), np.int64)
        first[cases] = codes
        if len(wrong := np.flatnonzero(first[cases] != codes)):
            raise UserError(
                f"The case {names[cases[wrong[0]]]!r} has another {column} in one run than in another, so it is not "
                "one case. Mine pairs of runs of the same dataset."
            )


def _rollouts_of(run: Run, number: int) -> pa.Table:
    table = RunFolder(run.path).rollouts(ROLLOUT_COLUMNS)
    filled = {name: pc.fill_null(table[name], "") for name in ROLLOUT_COLUMNS}
    return pa.table({**filled, "run": pa.array(np.full(len(table), number, np.int32))})


def _coded(column: pa.ChunkedArray) -> tuple[Indices, tuple[str, ...]]:
    """A number for each distinct text, and the texts, in their order."""
    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    texts = encoded.dictionary.take(pa.array(order)).to_pylist()
    return rank[encoded.indices.to_numpy()], tuple(texts)


def _row_batches(folder: RunFolder) -> Iterator[pa.Table]:
    """Rows of measurements, without units, in the order of files; damaged files are refused."""
    tables: list[pa.Table] = []
    parts = folder.parts()
    for start in range(0, len(parts), READ_AT_ONCE):
        some = parts[start : start + READ_AT_ONCE]
        for part, content in zip(some, _contents(folder, some), strict=True):
            tables.append(_rows_of(part, content))
        if sum(map(len, tables)) >= ROWS_AT_ONCE:
            yield pa.concat_tables(tables)
            tables = []
    if tables:
        yield pa.concat_tables(tables)


def _contents(folder: RunFolder, parts: Sequence[Path]) -> list[bytes]:
    try:
        return read_all(parts)
    except FileNotFoundError as error:
        raise RunError(
            f"{folder.path}: its files change while they are read. Mine it when its `lookaway eval` has ended."
        ) from error


def _rows_of(part: Path, content: bytes) -> pa.Table:
    check_named(part, content)
    try:
        rows = read_parquet(content, ROW_COLUMNS)
    except (pa.ArrowException, OSError) as error:
        raise DamagedFile(f"{part}: cannot be read ({error}). {REMEDY}") from error
    return rows.filter(pc.is_null(rows["unit"])).drop_columns("unit")


def _put_rows(
    rows: pa.Table, rollouts: pa.Table, locks: Mapping[str, str], best: NDArray[np.int8], values: Floats
) -> None:
    """Put the scores of some rows in their places, unless something better is there."""
    metric: Any = pc.index_in(rows["metric"], pa.array(locks, pa.string()))
    place: Any = pc.index_in(rows["rollout"], rollouts["rollout"].combine_chunks())
    expected = pa.array(locks.values(), pa.string()).take(metric.combine_chunks())
    same_lock = pc.equal(rows["lock"], expected)
    same_content = pc.equal(rows["content"], rollouts["content"].combine_chunks().take(place.combine_chunks()))
    counts = pc.fill_null(pc.and_(same_lock, same_content), False)
    status: Any = pc.fill_null(pc.index_in(rows["status"], pa.array(WORST_FIRST)), 0)
    columns = [metric, place, status, pc.fill_null(rows["value"], np.nan)]
    metrics, places, ranks, found = (column.filter(counts).to_numpy() for column in columns)
    # Worst first, and of equal ones the later file last: what is assigned last stays.
    order = np.argsort(ranks, kind="stable")
    order = order[ranks[order] >= best[metrics[order], places[order]]]
    best[metrics[order], places[order]] = ranks[order]
    values[metrics[order], places[order]] = found[order]
