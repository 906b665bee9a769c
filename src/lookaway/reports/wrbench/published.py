"""Reads the published results of WRBench: one row a model, means and counts of all dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from lookaway.core import Estimate, UserError
from lookaway.reports.lint.printed_table import PrintedCell, PrintedTable, read_printed
from lookaway.reports.wrbench.dimensions import (
    DIMENSIONS,
    RETURNED_SPACE,
    RETURNED_STATE,
    DimensionCell,
    DimensionRow,
    PublishedNumbers,
    dimension_cell,
)
from lookaway.statistics.intervals import proportion, wilson

CONDITIONS: Final = ("source-video", "geometry-cache", "model-inferred", "prompt-only")
INPUTS: Final = ("T2V", "TI2V", "TV2V")
COLUMNS: Final = (
    "model_id",
    "model_input",
    "viewpoint_condition_type",
    "n_outputs",
    *(column for one in DIMENSIONS.values() for column in (one.column, f"{one.column}_n")),
    "gate_applicable_rate",
    "low_n_flag",
    "Avg",
)
ROUNDING: Final = 1e-6
"""Rates are printed with some twelve digits, counts are exact."""


def read_published_models(path: Path) -> tuple[DimensionRow, ...]:
    """All models of a results file, `.csv` or `.json`; refuses what is missing, impossible or contradicts itself.

    The file has means and counts, and no value of a video. An interval of a mean is therefore the widest that values
    between 0 and 1 with this mean can have (Wilson's, as if every value were 0 or 1) if videos are independent. Marks
    follow from it, and from the count as the effective sample size: it can only be smaller. Scenes are not known, so
    that every video counts as one.
    """
    table = _results_table(path, read_printed(path))
    places = {name: place for place, name in enumerate(table.columns)}
    rows = [
        _model(_Row(path=path, line=line, cells={name: cells[place] for name, place in places.items()}))
        for cells, line in zip(table.rows, table.lines, strict=True)
    ]
    seen: set[str] = set()
    for row in rows:
        if row.model in seen:
            raise UserError(f"{path}: the model {row.model!r} is there twice, expected one row for each.")
        seen.add(row.model)
    return tuple(rows)


def weighted_means(rows: Sequence[DimensionRow]) -> dict[str, tuple[float, int]]:
    """The published mean of each dimension over all videos of all models, and how many these are."""
    found = {}
    for name in DIMENSIONS:
        own = [cell.estimate for row in rows if (cell := row.cells.get(name)) is not None and cell.estimate is not None]
        if total := sum(estimate.scored for estimate in own):
            found[name] = (sum(estimate.mean * estimate.scored for estimate in own) / total, total)
    return found


def _results_table(path: Path, tables: Sequence[PrintedTable]) -> PrintedTable:
    table = next((table for table in tables if "model_id" in table.columns), tables[0])
    if missing := [name for name in COLUMNS if name not in table.columns]:
        raise UserError(
            f"{path}: the columns {', '.join(missing)} are missing; expected the published results of WRBench, such as "
            "wrbench_23model_results.csv."
        )
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    path: Path
    line: int
    cells: Mapping[str, PrintedCell]

    def refuse(self, column: str, expected: str) -> UserError:
        found = self.cells[column].text
        return UserError(f"{self.path}, row {self.line}: {column} is {found!r:.80}, expected {expected}.")

    def word(self, column: str, choices: Sequence[str] = ()) -> str:
        text = self.cells[column].text
        if not text or (choices and text not in choices):
            raise self.refuse(column, f"one of {', '.join(choices)}" if choices else "a name")
        return text

    def count(self, column: str) -> int:
        text = self.cells[column].text
        if not (text.isascii() and text.isdigit()):
            raise self.refuse(column, "a whole number")
        return int(text)

    def share(self, column: str) -> float | None:
        cell = self.cells[column]
        if cell.is_empty:
            return None
        if cell.value is None or not 0 <= cell.value <= 1:
            raise self.refuse(column, "a number from 0 to 1, or NA")
        return cell.value


def _model(row: _Row) -> DimensionRow:
    outputs = row.count("n_outputs")
    if not outputs:
        raise row.refuse("n_outputs", "one or more")
    cells = {name: _cell(row, one.column, outputs) for name, one in DIMENSIONS.items()}
    passed = cells[RETURNED_SPACE].precision.scored
    if cells[RETURNED_STATE].precision.scored != passed:
        raise row.refuse("D6_n", f"{passed} as D5_n: both are over videos that pass one gate")
    rate = row.share("gate_applicable_rate")
    if rate is None or not math.isclose(rate, passed / outputs, abs_tol=ROUNDING):
        raise row.refuse("gate_applicable_rate", f"D5_n / n_outputs = {passed / outputs:.6f}")
    row.word("model_input", INPUTS)
    found = proportion(passed, outputs)
    assert found is not None  # noqa: S101 - there are outputs
    return DimensionRow(
        model=row.word("model_id"),
        condition=row.word("viewpoint_condition_type", CONDITIONS),
        outputs=outputs,
        support=Estimate(mean=found.share, low=found.low, high=found.high, scored=outputs, scenes=outputs),
        cells=cells,
        published=PublishedNumbers(
            values={name: cell.estimate.mean for name, cell in cells.items() if cell.estimate is not None},
            support=rate,
            average=row.share("Avg"),
            is_low_n=row.word("low_n_flag", ("true", "false")) == "true",
        ),
    )


def _cell(row: _Row, column: str, outputs: int) -> DimensionCell:
    mean, count = row.share(column), row.count(f"{column}_n")
    if count > outputs:
        raise row.refuse(f"{column}_n", f"no more than the {outputs} outputs")
    if (mean is None) != (count == 0):
        raise row.refuse(column, f"{'NA' if count == 0 else 'a number'}, since {column}_n is {count}")
    if mean is None:
        return dimension_cell(None, 0.0)
    low, high = wilson(np.array([mean * count]), np.array([count]))
    return dimension_cell(
        Estimate(mean=mean, low=float(low[0]), high=float(high[0]), scored=count, scenes=count), float(count)
    )
