"""Finds statistical mistakes in a printed table: averages, best marks, correlations, and missing n and intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np

from lookaway.core import Floats
from lookaway.reports.lint.column_roles import NUMERIC_ROLES, Column, Role, columns_of, counts_of, has_intervals, words
from lookaway.reports.lint.printed_table import PrintedTable
from lookaway.reports.numbers import amount, fixed, print_json, print_lines
from lookaway.statistics.precision import MIN_EFFECTIVE, MIN_VALUES, Mark
from lookaway.statistics.rank_correlation import spearman_interval


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
    """An error makes a number misleading; a warning means that something needed is missing."""

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
    """A table, ready for the checks."""

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


MAX_COLUMNS = 12
"""With more columns there are too many subsets to try: then only the average of all columns is recognised."""
MIN_ROWS = 2


def average_parts(average: Column, measures: Sequence[Column]) -> tuple[Column, ...] | None:
    """The largest subset of columns whose mean is the average in every row; `None` where there is none.

    Cells without a number are left out of the mean of their row.
    """
    values = np.array([[_number(cell.value) for cell in column.cells] for column in measures], np.float64)
    means = np.array([_number(cell.value) for cell in average.cells], np.float64)
    digits = min((cell.digits for cell in average.cells if cell.value is not None), default=0)
    fewest = 2 if len(measures) <= MAX_COLUMNS else len(measures)
    for size in range(len(measures), fewest - 1, -1):
        for choice in combinations(range(len(measures)), size):
            if _is_mean(values[list(choice)], means, 0.6 * 10.0**-digits):
                return tuple(measures[index] for index in choice)
    return None


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _is_mean(parts: Floats, means: Floats, rounding: float) -> bool:
    known = ~np.isnan(parts)
    counts = known.sum(axis=0)
    rows = (counts > 0) & ~np.isnan(means)
    if rows.sum() < MIN_ROWS or not known.any(axis=1).all():
        return False
    found = np.where(known, parts, 0.0).sum(axis=0)[rows] / counts[rows]
    # Parts may be rounded as well; what is printed with many digits was computed in floating point.
    return bool(np.all(np.abs(found - means[rows]) <= 2 * rounding + 1e-9))


MIN_POINTS = 10
"""A correlation on fewer points, without an interval, is an error and not a warning."""
LONGEST_LABEL = 60
CORRELATION_WORDS = dict(NUMERIC_ROLES)[Role.CORRELATION]


def correlations_on_few_points(sheet: Sheet) -> Iterator[Finding]:
    """Every correlation without an interval; the finding gives the interval that it could have."""
    for column in sheet.of(Role.CORRELATION, Role.MEASURE):
        counts = counts_of(column, sheet.columns)
        if has_intervals(column, sheet.columns):
            continue
        for row, cell in enumerate(column.cells):
            is_meant = column.role is Role.CORRELATION or _is_correlation(sheet, row)
            if cell.value is None or abs(cell.value) > 1 or not is_meant:
                continue
            count = counts[row]
            few = count is not None and count < MIN_POINTS
            yield sheet.finding(
                Rule.FEW_POINTS,
                Severity.ERROR if few else Severity.WARNING,
                f"a correlation of {cell.text} {_could_be(cell.value, count)}",
                "Print the interval and the exact p beside it, and the correlation over pairs of clips.",
                row=row,
                column=column.name,
            )


def _is_correlation(sheet: Sheet, row: int) -> bool:
    labels = [column.cells[row].text for column in sheet.of(Role.MODEL, Role.KEY, Role.OTHER)]
    return any(len(label) <= LONGEST_LABEL and CORRELATION_WORDS.search(words(label)) for label in labels)


def _could_be(value: float, points: int | None) -> str:
    if points is None:
        return "has no interval, and its number of points is not given"
    ends = spearman_interval(value, points)
    if ends is None:
        return f"on {points} points has no interval"
    return f"on {points} points could be anything from {fixed(ends[0], 2)} to {fixed(ends[1], 2)}"


PERCENT_TOP = 100.0
MIN_PERCENT_TOP = 10.0


def lint_table(table: PrintedTable) -> list[Finding]:
    """Every mistake, errors first, then in the order of the table."""
    sheet = Sheet(table, columns_of(table))
    found = [finding for rule in RULES for finding in rule(sheet)]
    return sorted(found, key=lambda finding: (finding.severity is Severity.WARNING, finding.line or 0))


def _sparse_averages(sheet: Sheet) -> Iterator[Finding]:
    for average in sheet.of(Role.AVERAGE):
        parts = average_parts(average, sheet.of(Role.MEASURE))
        if parts is None:
            continue
        supports = [(column, counts_of(column, sheet.columns)) for column in parts]
        for row, cell in enumerate(average.cells):
            few = {
                column.name: count
                for column, counts in supports
                if (count := counts[row]) is not None and count < MIN_EFFECTIVE and column.cells[row].value is not None
            }
            if cell.value is None or not few:
                continue
            is_error = any(count < MIN_VALUES for count in few.values())
            rests = ", ".join(f"{name} on {count}" for name, count in few.items())
            least = MIN_VALUES if is_error else int(MIN_EFFECTIVE)
            yield sheet.finding(
                Rule.SPARSE_AVERAGE,
                Severity.ERROR if is_error else Severity.WARNING,
                f"{cell.text} is the mean of {len(parts)} columns, of which {rests}",
                f"Leave cells on fewer than {least} out of every average, weight by n, or print no average.",
                row=row,
                column=average.name,
            )


def _mixed_units(sheet: Sheet) -> Iterator[Finding]:
    for average in sheet.of(Role.AVERAGE):
        parts = average_parts(average, sheet.of(Role.MEASURE)) or ()
        kinds: dict[str, list[str]] = {}
        for column in parts:
            kinds.setdefault(_kind(column), []).append(column.name)
        directions = {column.lower_is_better for column in parts}
        if len(kinds) > 1 or len(directions) > 1:
            listed = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items())
            opposite = ", and lower is better in some of them" if len(directions) > 1 else ""
            yield sheet.finding(
                Rule.MIXED_UNITS,
                Severity.ERROR,
                f"averages columns of different units ({listed}){opposite}",
                "Average only columns with the same unit and direction, or rank by each column alone.",
                column=average.name,
            )


def _kind(column: Column) -> str:
    if column.unit is not None:
        return column.unit
    return "0 to 1" if max(map(abs, column.values), default=0.0) <= 1 else "above 1"


def _best_on_few(sheet: Sheet) -> Iterator[Finding]:
    for column in sheet.of(Role.MEASURE, Role.AVERAGE, Role.CORRELATION):
        counts = counts_of(column, sheet.columns)
        has_marks = any(cell.is_bold for cell in column.cells)
        unranked = _unranked_rows(column, sheet)
        for group in sheet.groups():
            for row in group if has_marks else _best_rows(column, [row for row in group if row not in unranked]):
                cell, count = column.cells[row], counts[row]
                is_few = count is not None and count < MIN_VALUES
                # Where n is printed, a dagger says something else than what n says already.
                is_weak = has_marks and cell.is_daggered and count is None
                if (has_marks and not cell.is_bold) or not (is_few or is_weak):
                    continue
                best = "is marked as the best" if has_marks else "is the best of its column"
                rests = f"rests on n = {count}" if is_few else "is also marked as weak"
                yield sheet.finding(
                    Rule.BEST_ON_FEW,
                    Severity.ERROR,
                    f"{cell.text} {best} and {rests}",
                    f"Mark as best only values with n of {MIN_VALUES} or more that differ significantly from the next.",
                    row=row,
                    column=column.name,
                )


def _unranked_rows(column: Column, sheet: Sheet) -> set[int]:
    """Rows that the table itself calls not estimable, in a column such as `coverage_mark` beside `coverage_mean`."""
    stem = column.name[: column.name.rfind("_") + 1]
    marks = [other for other in sheet.columns if other.name == f"{stem}mark"]
    return {
        row for other in marks for row, cell in enumerate(other.cells) if cell.text == Mark.NOT_ESTIMABLE.name.lower()
    }


def _best_rows(column: Column, group: Sequence[int]) -> list[int]:
    known = {row: value for row in group if (value := column.cells[row].value) is not None}
    if len(known) < 2:
        return []
    best = (min if column.lower_is_better else max)(known.values())
    return [row for row, value in known.items() if value == best]


def _mixed_scale(sheet: Sheet) -> Iterator[Finding]:
    for column in sheet.of(Role.MEASURE, Role.AVERAGE):
        signs = [cell.has_percent for cell in column.cells if cell.value is not None]
        values = column.values
        if any(signs) and not all(signs):
            found, severity = f"{sum(signs)} of {len(signs)} numbers have a percent sign", Severity.ERROR
        elif column.unit == "percent" and len(values) > 1 and max(values) <= 1:
            found, severity = f"is named percent, but no number is above {fixed(max(values), 2)}", Severity.ERROR
        elif shares := _fraction_among_hundredths(column, sheet.groups()):
            found, severity = f"{shares[0]} is among numbers up to {shares[1]}", Severity.WARNING
        else:
            continue
        yield sheet.finding(
            Rule.MIXED_SCALE,
            severity,
            f"{found}: fractions and percentages are mixed up",
            "Print the whole column on one scale and name it.",
            column=column.name,
        )


def _fraction_among_hundredths(column: Column, groups: Sequence[Sequence[int]]) -> tuple[str, str] | None:
    """The smallest and the largest number of the first group of rows that looks like two scales."""
    if column.unit not in {None, "percent"} or column.lower_is_better:
        return None
    for group in groups:
        shown = {value: column.cells[row].text for row in group if (value := column.cells[row].value) and value > 0}
        if shown and min(shown) < 1 and MIN_PERCENT_TOP < max(shown) <= PERCENT_TOP:
            return shown[min(shown)], shown[max(shown)]
    return None


def _duplicate_models(sheet: Sheet) -> Iterator[Finding]:
    seen: dict[tuple[str, ...], int] = {}
    if not sheet.of(Role.MODEL):
        return
    for row in range(len(sheet.table.rows)):
        key = tuple(folded_name(part) for part in (sheet.label(row), *sheet.keys(row)))
        first = seen.setdefault(key, row)
        if first != row and key[0]:
            yield sheet.finding(
                Rule.DUPLICATE_MODEL,
                Severity.ERROR,
                f"is in line {sheet.table.lines[first]} already, as {sheet.label(first)}",
                "Keep one row, or add a column that distinguishes the two.",
                row=row,
                column=sheet.of(Role.MODEL)[0].name,
            )


def _missing_counts(sheet: Sheet) -> Iterator[Finding]:
    measures = sheet.of(Role.MEASURE)
    lacking = [column.name for column in measures if all(count is None for count in counts_of(column, sheet.columns))]
    yield from _lack(sheet, Rule.MISSING_N, lacking, "its n", "Print n beside every number.")


def _missing_intervals(sheet: Sheet) -> Iterator[Finding]:
    lacking = [column.name for column in sheet.of(Role.MEASURE) if not has_intervals(column, sheet.columns)]
    do = "Print a 95 % interval, clustered by scene, beside every number."
    yield from _lack(sheet, Rule.MISSING_INTERVAL, lacking, "its interval", do)


def _lack(sheet: Sheet, rule: Rule, columns: Sequence[str], what: str, do: str) -> Iterator[Finding]:
    if columns:
        yield sheet.finding(rule, Severity.WARNING, f"no cell gives {what}", do, column=", ".join(columns))


RULES: tuple[Callable[[Sheet], Iterator[Finding]], ...] = (
    _sparse_averages,
    _mixed_units,
    _best_on_few,
    correlations_on_few_points,
    _mixed_scale,
    _duplicate_models,
    _missing_counts,
    _missing_intervals,
)


def print_findings(findings: Sequence[Finding], *, tables: int, as_json: bool) -> None:
    """Every finding: where it is, what was found, and what to do."""
    counts = Counter(finding.severity for finding in findings)
    numbers = {f"{severity.value}s": counts[severity] for severity in Severity}
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings], "tables": tables, **numbers})
        return
    for finding in findings:
        print_lines([f"{finding.severity.value}: {finding.rule.value}: {_where(finding)}: {finding.found}"])
        print_lines([f"  {finding.do}"])
    total = ", ".join(amount(counts[severity], severity.value) for severity in Severity)
    print_lines([f"{total} in {amount(tables, 'table')}"])


def _where(finding: Finding) -> str:
    line = "" if finding.line is None else f"line {finding.line}"
    parts = [finding.table, line, finding.row, finding.column and f"column {finding.column}"]
    return ", ".join(part for part in parts if part)
