"""The roles of the columns of a printed table, recognised by their names and values. The patterns are the data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from lookaway.reports.lint.printed_table import PrintedCell, PrintedTable


class Role(Enum):
    """What a column is for."""

    MODEL = "model"
    KEY = "key"
    """Identifies a row together with its model."""
    COUNT = "count"
    INTERVAL = "interval"
    AVERAGE = "average"
    CORRELATION = "correlation"
    MEASURE = "measure"
    OTHER = "other"


def _words(*words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^| )(?:{'|'.join(words)})(?= |$)")


COUNT_WORDS = ("n", "num", "count", "counts", "support", "no of", "number of")
COUNTED_THINGS = (
    *("outputs?", "samples?", "clips?", "videos?", "rollouts?", "cases?", "items?", "pairs", "votes?", "points"),
    *("trials?", "scored", "scenes?", "models?"),
)
COUNT = re.compile(
    rf"(?:{'|'.join(COUNT_WORDS)})(?: .*)?|.* (?:{'|'.join(COUNT_WORDS)})|(?:{'|'.join(COUNTED_THINGS)})"
)
AVERAGE = _words("avg", "average", "mean", "overall", "aggregate", "composite", "total")
INTERVAL = _words("ci", "ci95", "lower", "upper", "low", "high", "lo", "hi", "std", "sd", "se", "sem", "stderr",
                  "interval", "±", "95", "margin")  # fmt: skip
NUMERIC_ROLES = (
    (Role.COUNT, COUNT),
    (Role.INTERVAL, INTERVAL),
    (Role.CORRELATION, _words("spearman", "pearson", "kendall", "correlation", "corr", "rho", "\u03c1", "\u03c4",
                              "tau b", "srcc", "srocc", "plcc", "krcc")),
    (Role.AVERAGE, AVERAGE),
    (Role.KEY, _words("seed", "level", "horizon", "split")),
    (Role.OTHER, _words("rank", "year", "date", "params", "parameters", "size", "fps", "frames", "width", "height",
                        "seconds", "cost", "price", "id", "index", "version", "weight", "p", "q", "p value", "asked",
                        "failed", "effective", "tie group", "family", "untested")),
)  # fmt: skip
TEXT_ROLES = (
    (Role.OTHER, _words("notes?", "comments?", "description", "remarks?")),
    (Role.MODEL, _words("models?", "methods?", "systems?", "approach", "generator")),
    (Role.KEY, _words("metric", "metrics", "dimension", "subset", "split", "track", "category", "task", "setting",
                      "dataset", "benchmark", "judge", "phase", "seed", "level", "unit", "scene", "case", "suite",
                      "lock", "run")),
)  # fmt: skip
UNITS = (
    ("dB", _words("psnr", "db")),
    ("percent", _words("%", "percent", "percentage", "pct")),
    ("0 to 1", _words("ssim", "lpips", "dists", "iou", "auc", "f1")),
    ("degrees", _words("degrees?", "deg", "°")),
    ("pixels", _words("pixels?", "px", "epe")),
    ("seconds", _words("seconds?", "sec", "ms")),
)
LOWER_IS_BETTER = _words(
    *(
        "lpips",
        "dists",
        "mse",
        "rmse",
        "mae",
        "error",
        "err",
        "distance",
        "fid",
        "fvd",
        "loss",
        "rpe",
        "ate",
        "drift",
        "↓",
    ),
    *("latency", "failures?"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column and its role."""

    index: int
    name: str
    """As printed."""
    words: str
    """The name in lower case, its parts separated by blanks."""
    role: Role
    cells: tuple[PrintedCell, ...]

    @property
    def values(self) -> list[float]:
        """The numbers there are."""
        return [cell.value for cell in self.cells if cell.value is not None]

    @property
    def lower_is_better(self) -> bool:
        """Whether its name says so."""
        return bool(LOWER_IS_BETTER.search(self.words))

    @property
    def unit(self) -> str | None:
        """The unit that its name tells; `None` where it tells none."""
        if any(cell.has_percent for cell in self.cells):
            return "percent"
        return next((unit for unit, pattern in UNITS if pattern.search(self.words)), None)


def words(name: str) -> str:
    """The words of a column's name.

    >>> words("D5_n"), words("avgScore"), words("PSNR (dB) ↑"), words("CI-low")
    ('d5 n', 'avg score', 'psnr db ↑', 'ci low')
    """
    parted = re.sub(r"(?<=[a-z]{2})(?=[A-Z])", " ", name.replace("#", " n "))
    return " ".join(re.sub(r"[^\w%±°↑↓]+|_", " ", parted).lower().split())


def columns_of(table: PrintedTable) -> list[Column]:
    """Every column with its role."""
    found = []
    for index, name in enumerate(table.columns):
        cells = tuple(row[index] for row in table.rows)
        found.append(Column(index=index, name=name, words=words(name), role=_role(words(name), cells), cells=cells))
    if not any(column.role is Role.MEASURE for column in found):
        # A long table calls its only number a mean.
        found = [_with_role(column, Role.MEASURE) if column.role is Role.AVERAGE else column for column in found]
    return _one_model(found)


def _role(name: str, cells: Sequence[PrintedCell]) -> Role:
    filled = [cell for cell in cells if not cell.is_empty]
    is_numeric = bool(filled) and 2 * sum(cell.value is not None for cell in filled) >= len(filled)
    roles = NUMERIC_ROLES if is_numeric else TEXT_ROLES
    usual = Role.MEASURE if is_numeric else Role.OTHER
    return next((role for role, pattern in roles if _fits(role, pattern, name)), usual)


def _fits(role: Role, pattern: re.Pattern[str], name: str) -> bool:
    return bool(pattern.fullmatch(name) if role is Role.COUNT else pattern.search(name))


def _one_model(columns: Sequence[Column]) -> list[Column]:
    """The column with the most distinct values, among those that could name the model."""
    named = [column for column in columns if column.role is Role.MODEL]
    if not named and columns and columns[0].role is Role.OTHER:
        named = [columns[0]]
    chosen = max(named, key=lambda column: len({cell.text for cell in column.cells}), default=None)
    return [
        _with_role(column, Role.MODEL if column is chosen else Role.OTHER)
        if column.role is Role.MODEL or column is chosen
        else column
        for column in columns
    ]


def _with_role(column: Column, role: Role) -> Column:
    return Column(index=column.index, name=column.name, words=column.words, role=role, cells=column.cells)


def counts_of(column: Column, columns: Iterable[Column]) -> tuple[int | None, ...]:
    """The n of each cell of a column: printed in the cell, in the column's own count, or in a general one."""
    counts = [entry for entry in columns if entry.role is Role.COUNT]
    own = [
        entry for entry in counts if (stem := _stem(entry.words)) and stem in {column.words, _averaged(column.words)}
    ]
    general = [entry for entry in counts if re.fullmatch("|".join(("", *COUNTED_THINGS)), _stem(entry.words))]
    chosen = next(iter(own or general), None)
    return tuple(
        cell.n if cell.n is not None else _whole(chosen.cells[row]) if chosen else None
        for row, cell in enumerate(column.cells)
    )


def _stem(name: str) -> str:
    """What a count refers to: the rest of its name."""
    affixes = "|".join(COUNT_WORDS)
    return re.sub(rf"^(?:{affixes})(?: |$)|(?:^| )(?:{affixes})$", "", name).strip()


def _averaged(name: str) -> str:
    """What a mean refers to: the rest of its name."""
    return " ".join(AVERAGE.sub(" ", name).split())


def _whole(cell: PrintedCell) -> int | None:
    return int(cell.value) if cell.value is not None and cell.value >= 0 else None


def has_intervals(column: Column, columns: Sequence[Column]) -> bool:
    """Whether the numbers of a column have an interval, or one that can only belong to it."""
    if any(cell.has_interval for cell in column.cells):
        return True
    intervals = [entry for entry in columns if entry.role is Role.INTERVAL]
    measures = [entry for entry in columns if entry.role in {Role.MEASURE, Role.AVERAGE, Role.CORRELATION}]
    stem = _averaged(column.words)
    return any(
        f" {column.words} " in f" {entry.words} "
        or len(measures) == 1
        or (stem != column.words and stem == " ".join(INTERVAL.sub(" ", entry.words).split()))
        for entry in intervals
    )
