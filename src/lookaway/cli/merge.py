"""`lookaway merge`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import PLACE, json_option


@click.command("merge")
@click.argument("runs", nargs=-1, type=PLACE, required=True)
@click.option("-o", "--output", type=PLACE, required=True, help="Run folder to write.")
@click.option("--partial", is_flag=True, help="Merge what there is, though shards are missing.")
@json_option
def merge_command(runs: tuple[Path, ...], output: Path, partial: bool, as_json: bool) -> None:
    """Put RUNS into one: the shards of a dataset, or runs of different models under one lock.

    The table is the one that a single run over everything would have given. RUNS stay as they are.
    """
    from lookaway.engine.merging import merge
    from lookaway.reports.table import print_merged

    print_merged(merge(runs, output, partial=partial), as_json=as_json)
