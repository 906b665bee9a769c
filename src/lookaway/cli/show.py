"""`lookaway show`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import json_option


@click.command("show")
@click.argument("run", type=click.Path(path_type=Path))
@json_option
def show_command(run: Path, as_json: bool) -> None:
    """Print the table of RUN: means with interval, n of N, and why the rest is missing."""
    from lookaway.engine.run import Run
    from lookaway.reports.table import print_table

    shown = Run(run)
    print_table(shown, shown.table(), as_json=as_json)
