"""`lookaway export`."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("export")
def export_command() -> None:
    """Write a run in the format of another tool."""


@export_command.command("mbench")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write.")
def mbench_command(run: Path, output: Path) -> None:
    """Write RUN in the output layout of MBench: items.jsonl and metrics/<name>/{units,items}.jsonl, summary.json."""
    from lookaway.engine.run import Run
    from lookaway.reports.mbench_export import export_mbench

    export_mbench(Run(run), output)
    click.echo(f"Wrote {output}")
