"""`lookaway report`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import PLACE


@click.command("report")
@click.argument("run", type=PLACE, nargs=-1, required=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write.")
@click.option("--title", help="Title of the first page; by default models and suite.")
def report_command(run: tuple[Path, ...], output: Path, title: str | None) -> None:
    """Write a site about one or several RUNs: leaderboards, comparisons, charts and a page for every case.

    It opens from a folder, without a server and without a network. Models of several runs share a table where their
    metric has the same lock.
    """
    from lookaway.reports.numbers import size
    from lookaway.reports.site.building import build_site
    from lookaway.reports.site.gather import gather
    from lookaway.reports.text import print_lines

    index = build_site(gather(run), output, title=title)
    print_lines([f"Wrote {index} ({size(index.stat().st_size)})"])
