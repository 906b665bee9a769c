"""A printed table with what its columns are, and what can be found wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from lookaway.reports.lint.column_roles import Column, Role
from lookaway.reports.lint.printed_table import PrintedTable


class Rule(StrEnum):
    """What can be wrong."""

    SPARSE_AVERAGE = "average-over-sparse-cells"
    MIXED_UNITS = "mixed-units-in-average"
    BEST_ON_FEW = "best-on-few"
    FEW_POINTS = "correlation-on-few-points"
    MIXED_SCALE = "mixed-scale"
    DUPLICATE_MODEL = "duplicate-model"
    MISSING_N = "missing-n"
    MISSING_INTERVAL = "missing-interval"


class Severity(StrEnum):
    """How bad it is: an error makes a number say what it does not mean, a warning leaves out what is needed."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One mistake: where it is, what was found, what to do."""

    rule: Rule
    severity: Severity
    table: str
    line: int | None
    """`None` where it is about the whole column or table."""
    row: str
    column: str
    found: str
    do: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table, ready to be looked at."""

    table: PrintedTable
    columns: Sequence[Column]

    def of(self, *roles: Role) -> list[Column]:
        """Columns of these roles."""
        return [column for column in self.columns if column.role in roles]

    def label(self, row: int) -> str:
        """The model of a row."""
        model = self.of(Role.MODEL)
        return model[0].cells[row].text if model else ""

    def keys(self, row: int) -> tuple[str, ...]:
        """What a row is about, beside its model."""
        return tuple(column.cells[row].text for column in self.of(Role.KEY))

    def groups(self) -> list[list[int]]:
        """Rows that compete with each other: all, or in a table with several rows a model those with equal keys."""
        labels = [folded_name(self.label(row)) for row in range(len(self.table.rows))]
        if len(set(labels)) == len(labels):
            return [list(range(len(labels)))]
        groups: dict[tuple[str, ...], list[int]] = {}
        for row in range(len(labels)):
            groups.setdefault(self.keys(row), []).append(row)
        return list(groups.values())

    def finding(
        self, rule: Rule, severity: Severity, found: str, do: str, *, row: int | None = None, column: str = ""
    ) -> Finding:
        """A finding about a row, a column, or both."""
        return Finding(
            rule=rule,
            severity=severity,
            table=self.table.name,
            line=None if row is None else self.table.lines[row],
            row="" if row is None else self.label(row),
            column=column,
            found=found,
            do=do,
        )


def folded_name(text: str) -> str:
    """A name without what spelling may change: case, blanks, hyphens."""
    return "".join(sign for sign in text.casefold() if sign.isalnum())
