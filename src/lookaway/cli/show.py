"""`lookaway show`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import FOLDER_OR_URL, control_option, json_option


@click.command("show")
@click.argument("run", type=FOLDER_OR_URL)
@click.option("--ignore-trigger", is_flag=True, help="Ignore gates and count every rollout; for ablations.")
@control_option
@json_option
def show_command(run: Path, ignore_trigger: bool, controls: tuple[str, ...], as_json: bool) -> None:
    """Print the table of RUN: means with intervals, n of N, and why the others have no score."""
    from lookaway.engine.run import Run
    from lookaway.reports.table import print_table

    shown = Run(run)
    print_table(shown, shown.table(ignore_gates=ignore_trigger), as_json=as_json, controls=controls)
