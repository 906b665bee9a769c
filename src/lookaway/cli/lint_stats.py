"""`lookaway lint-stats`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import json_option

EXIT_ERRORS = 3


@click.command("lint-stats")
@click.argument("table", type=click.Path(path_type=Path))
@json_option
def lint_stats_command(table: Path, as_json: bool) -> int:
    """Find mistakes of statistics in TABLE, results that somebody printed: .csv, .json, .parquet or .md.

    Finds averages over cells of few clips or of different units, best marks on few clips, correlations on few points,
    mixed scales, models that stand twice, and numbers without n or interval. What a column is, its name tells.

    Exits with 3 where there is an error; warnings alone exit with 0.
    """
    from lookaway.reports.lint.printed_table import read_printed
    from lookaway.reports.lint.table_lint import Severity, lint_table, print_findings

    tables = read_printed(table)
    findings = [finding for entry in tables for finding in lint_table(entry)]
    print_findings(findings, tables=len(tables), as_json=as_json)
    return EXIT_ERRORS if any(finding.severity is Severity.ERROR for finding in findings) else 0
