"""`lookaway merge`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import FOLDER_OR_URL, json_option


@click.command("merge")
@click.argument("runs", nargs=-1, type=FOLDER_OR_URL, required=True)
@click.option("-o", "--output", type=FOLDER_OR_URL, required=True, help="Run folder to write.")
@click.option("--partial", is_flag=True, help="Merge even if shards are missing.")
@json_option
def merge_command(runs: tuple[Path, ...], output: Path, partial: bool, as_json: bool) -> None:
    """Merge RUNS into one: the shards of a dataset, or runs of different models with the same lock.

    The table equals that of a single run over everything. RUNS are not modified.
    """
    from lookaway.engine.merging import merge
    from lookaway.reports.lock_explanations import mixed_code
    from lookaway.reports.table import print_merged

    merged = merge(runs, output, partial=partial)
    print_merged(merged, as_json=as_json)
    for note in mixed_code(merged.lock, str(output)):
        click.echo(f"note: {note}", err=True)
