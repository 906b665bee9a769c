"""`lookaway report`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import PLACE


@click.command("report")
@click.argument("run", type=PLACE, nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder to write; with --single-file the file, such as report.html.",
)
@click.option("--title", help="Title of the first page; by default models and suite.")
@click.option(
    "--single-file",
    is_flag=True,
    help="Write one file of at most 15 MB, to be mailed or attached: filmstrips in place of videos, data inside.",
)
@click.option("--without-filmstrips", is_flag=True, help="Leave the filmstrips out of the single file.")
def report_command(
    run: tuple[Path, ...], output: Path, title: str | None, single_file: bool, without_filmstrips: bool
) -> None:
    """Write a site about one or several RUNs: leaderboards, comparisons, charts and a page for every case.

    It opens from a folder, without a server and without a network. Models of several runs share a table where their
    metric has the same lock.
    """
    if without_filmstrips and not single_file:
        raise click.UsageError("--without-filmstrips goes with --single-file only: a folder has room for filmstrips.")
    from lookaway.reports.numbers import print_lines, size
    from lookaway.reports.runs import load_runs
    from lookaway.reports.site.building import build_site
    from lookaway.reports.site.one_file import write_one_file

    if single_file:
        written = write_one_file(load_runs(run), output, title=title, strips=not without_filmstrips)
    else:
        written = build_site(load_runs(run), output, title=title)
    print_lines([f"Wrote {written} ({size(written.stat().st_size)})"])
