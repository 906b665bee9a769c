"""Correlations that a printed table shows without saying how sure they are."""

from __future__ import annotations

from collections.abc import Iterator

from lookaway.reports.lint.column_roles import NUMERIC_ROLES, Role, counts_of, has_intervals, words
from lookaway.reports.lint.printed_sheet import Finding, Rule, Severity, Sheet
from lookaway.reports.numbers import fixed
from lookaway.statistics.spearman_interval import spearman_interval

LEAST_POINTS = 10
"""A correlation on fewer points, without an interval, is an error and not only a lack."""
LONGEST_LABEL = 60
CORRELATION_WORDS = dict(NUMERIC_ROLES)[Role.CORRELATION]


def correlations_on_few_points(sheet: Sheet) -> Iterator[Finding]:
    """Each that has no interval; the finding says what it could be."""
    for column in sheet.of(Role.CORRELATION, Role.MEASURE):
        counts = counts_of(column, sheet.columns)
        if has_intervals(column, sheet.columns):
            continue
        for row, cell in enumerate(column.cells):
            is_meant = column.role is Role.CORRELATION or _is_correlation(sheet, row)
            if cell.value is None or abs(cell.value) > 1 or not is_meant:
                continue
            count = counts[row]
            few = count is not None and count < LEAST_POINTS
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
        return "has no interval, and on how many points it rests is not said"
    ends = spearman_interval(value, points)
    if ends is None:
        return f"on {points} points has no interval"
    return f"on {points} points could be anything from {fixed(ends[0], 2)} to {fixed(ends[1], 2)}"
