"""Mistakes of a printed table on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from lookaway.reports.lint.printed_sheet import Finding, Severity
from lookaway.reports.numbers import amount
from lookaway.reports.text import print_json, print_lines


def print_findings(findings: Sequence[Finding], *, tables: int, as_json: bool) -> None:
    """Each with where it is, what was found, and what to do."""
    counts = Counter(finding.severity for finding in findings)
    numbers = {f"{severity.value}s": counts[severity] for severity in Severity}
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings], "tables": tables, **numbers})
        return
    for finding in findings:
        print_lines([f"{finding.severity.value}: {finding.rule.value}: {_where(finding)}: {finding.found}"])
        print_lines([f"  {finding.do}"])
    told = ", ".join(amount(counts[severity], severity.value) for severity in Severity)
    print_lines([f"{told} in {amount(tables, 'table')}"])


def _where(finding: Finding) -> str:
    line = "" if finding.line is None else f"line {finding.line}"
    parts = [finding.table, line, finding.row, finding.column and f"column {finding.column}"]
    return ", ".join(part for part in parts if part)
