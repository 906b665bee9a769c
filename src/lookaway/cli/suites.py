"""`lookaway suites`."""

from __future__ import annotations

import click

from lookaway.cli.options import json_option


@click.command("suites")
@json_option
def suites_command(as_json: bool) -> None:
    """List the installed suites."""
    from lookaway.core import plugins
    from lookaway.engine.reading import load_suite
    from lookaway.reports.numbers import print_rows

    suites = [load_suite(name) for name in plugins.names("suites")]
    rows = [
        {
            "suite": suite.name,
            "version": suite.version,
            "metrics": sum(not bound.is_gate for bound in suite.metrics({})),
            "title": suite.title,
        }
        for suite in suites
    ]
    print_rows(rows, as_json=as_json)
