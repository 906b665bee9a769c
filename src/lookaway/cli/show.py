"""`lookaway show`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import PLACE, json_option


@click.command("show")
@click.argument("run", type=PLACE)
@click.option("--ignore-trigger", is_flag=True, help="Let no gate say which rollouts count; for ablations.")
@json_option
def show_command(run: Path, ignore_trigger: bool, as_json: bool) -> None:
    """Print the table of RUN: means with interval, n of N, and why the rest is missing."""
    from lookaway.engine.run import Run
    from lookaway.reports.table import print_table

    shown = Run(run)
    print_table(shown, shown.table(ignore_gates=ignore_trigger), as_json=as_json)
