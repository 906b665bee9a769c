"""Scores that WRBench published for single videos, read by declared columns.

WRBench names the table `videos_master` and not its columns. So nothing is guessed from its content: a field has the
column that is declared for it, and a column that is missing is refused.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from lookaway.core import DatasetError, UnknownName
from lookaway.io.dataset_files import decoded, read_dataset_json, read_limited, read_limited_lines
from lookaway.io.files import parse_json
from lookaway.io.limits import MAX_LINES_BYTES
from lookaway.io.parquet import read_parquet

VIDEOS_MASTER: Final = "videos_master"
SUFFIXES: Final = (".csv", ".jsonl", ".json", ".parquet")
IDENTITY_COLUMNS: Final[Mapping[str, str]] = {"model": "model", "video_id": "video_id"}
SCORE_COLUMNS: Final[Mapping[str, str]] = {
    "camera_precision": "d1_camera_accuracy",
    "camera_alignment": "d1_camalign_score",
    "visual_integrity": "d2_selected_visual_integrity_score",
    "visible_spatial": "vlm_spatial_fidelity",
    "visible_state": "vlm_state_fidelity",
    "returned_spatial": "vlm_spatial_reasoning",
    "returned_state": "vlm_state_reasoning",
    "reobserved": "runtime_v2_evidence_shared_oov_applicable",
}
"""The names that WRBench's own programs give to scores; declare others where the table has others."""
MISSING: Final = frozenset({"", "na", "nan", "none", "null"})
TRUTH_WORDS: Final[Mapping[str, float]] = {"true": 1.0, "false": 0.0}

Cells: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedScores:
    """What was published about one video."""

    model: str
    video_id: str
    scores: Mapping[str, float | None]
    """By field; `None` where there is no score, such as behind a closed gate."""

    @property
    def id(self) -> str:
        """Contains the model: the published ids do not."""
        return f"{self.model}__{self.video_id}"


def find_result_set(folder: Path, name: str = VIDEOS_MASTER) -> Path:
    """The one file of this name in a folder, whatever its format."""
    found = [path for suffix in SUFFIXES if (path := folder / f"{name}{suffix}").is_file()]
    if len(found) != 1:
        listed = ", ".join(path.name for path in found) or "none"
        raise DatasetError(
            f"{folder}: expected one file {name} with the ending {' or '.join(SUFFIXES)}, found {listed}."
        )
    return found[0]


def read_videos_master(path: Path, columns: Mapping[str, str] | None = None) -> list[PublishedScores]:
    """All videos of a table. `columns` has the column of each field that is named otherwise than in WRBench's programs.

    Raises a `DatasetError` where a declared column is missing, a score is no number, or a video is there twice.
    """
    known = {**IDENTITY_COLUMNS, **SCORE_COLUMNS}
    for field in columns or {}:
        if field not in known:
            raise UnknownName("field of a result set", field, known)
    declared = {**known, **(columns or {})}
    found: dict[str, PublishedScores] = {}
    for where, cells in _rows(path):
        missing = [f"{field} ({column})" for field, column in declared.items() if column not in cells]
        if missing:
            raise DatasetError(
                f"{where}: there is no column for {', '.join(missing)}; found {', '.join(sorted(cells))}. Declare the "
                "column of each field."
            )
        row = PublishedScores(
            model=_name(where, cells[declared["model"]]),
            video_id=_name(where, cells[declared["video_id"]]),
            scores={field: _score(where, declared[field], cells[declared[field]]) for field in SCORE_COLUMNS},
        )
        if row.id in found:
            raise DatasetError(f"{where}: the video {row.video_id!r} of {row.model!r} is there twice.")
        found[row.id] = row
    return list(found.values())


def _rows(path: Path) -> Iterator[tuple[str, Cells]]:
    """Place and cells of every row of a table."""
    read = _READERS.get(path.suffix)
    if read is None:
        raise DatasetError(f"{path}: expected a table that ends in {' or '.join(SUFFIXES)}.")
    for number, cells in enumerate(read(path), start=1):
        where = f"{path.name}, row {number}"
        if not isinstance(cells, dict):
            raise DatasetError(f"{where}: expected an object, found {type(cells).__name__}.")
        yield where, cells


def _csv_rows(path: Path) -> Iterator[Any]:
    text = decoded(read_limited_lines(path), str(path)).removeprefix("\ufeff")
    try:
        for row in csv.DictReader(io.StringIO(text, newline=""), strict=True):
            yield {name: cell for name, cell in row.items() if name is not None}
    except csv.Error as error:
        raise DatasetError(f"{path}: cannot be read as CSV ({error}).") from error


def _json_rows(path: Path) -> Iterator[Any]:
    content = read_dataset_json(path)
    if not isinstance(content, list):
        raise DatasetError(f"{path}: expected a list of rows, found {type(content).__name__}.")
    yield from content


def _line_rows(path: Path) -> Iterator[Any]:
    for number, line in enumerate(read_limited_lines(path).splitlines(), start=1):
        if line.strip():
            yield parse_json(line, f"{path.name}:{number}")


def _parquet_rows(path: Path) -> Iterator[Any]:
    try:
        table = read_parquet(read_limited(path, MAX_LINES_BYTES))
    except (OSError, ValueError) as error:  # pyarrow's own errors are of these kinds
        raise DatasetError(f"{path}: cannot be read as Parquet ({error}).") from error
    yield from table.to_pylist()


_READERS: Final = {".csv": _csv_rows, ".json": _json_rows, ".jsonl": _line_rows, ".parquet": _parquet_rows}


def _name(where: str, cell: object) -> str:
    if not isinstance(cell, str) or not cell.strip():
        raise DatasetError(f"{where}: expected the name of a model or video, found {cell!r:.80}.")
    return cell.strip()


def _score(where: str, column: str, cell: object) -> float | None:
    """A number, or nothing where the cell says so."""
    if isinstance(cell, str):
        text = cell.strip().lower()
        if text in MISSING:
            return None
        cell = TRUTH_WORDS.get(text, cell)
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    try:
        value = float(cell) if isinstance(cell, str | int | float) else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DatasetError(f"{where}: {column} is {cell!r:.80}, expected a finite number or nothing.")
    return value
