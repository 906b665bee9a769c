"""`lookaway lint-stats`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import PATH, json_option

EXIT_ERRORS = 3


@click.command("lint-stats")
@click.argument("table", type=PATH)
@json_option
def lint_stats_command(table: Path, as_json: bool) -> int:
    """Find statistical mistakes in TABLE, a table of published results: .csv, .json, .parquet or .md.

    Reports averages over cells with few clips or different units, best marks based on few clips, correlations over few
    points, mixed scales, models listed twice, and numbers without n or interval. Columns are recognised by name.

    Exits with 3 if there is an error; warnings alone exit with 0.
    """
    from lookaway.reports.lint.printed_table import read_printed
    from lookaway.reports.lint.table_lint import Severity, lint_table, print_findings

    tables = read_printed(table)
    findings = [finding for entry in tables for finding in lint_table(entry)]
    print_findings(findings, tables=len(tables), as_json=as_json)
    return EXIT_ERRORS if any(finding.severity is Severity.ERROR for finding in findings) else 0
