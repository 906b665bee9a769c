"""`lookaway report`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from lookaway.cli.options import FOLDER_OR_URL, PATH, control_option, print_note

FOLLOW_SECONDS = 60
"""Between two sites of a run that goes on."""


@click.command("report")
@click.argument("run", type=FOLDER_OR_URL, nargs=-1, required=True)
@click.option(
    "-o", "--output", type=PATH, required=True, help="Folder to write; with --single-file, a file such as report.html."
)
@click.option("--title", help="Title of the first page; by default the models and the suite.")
@click.option(
    "--single-file",
    is_flag=True,
    help="Write one file of at most 15 MB to mail or attach, with filmstrips instead of videos.",
)
@click.option("--without-filmstrips", is_flag=True, help="Leave filmstrips out of the single file.")
@click.option(
    "--follow",
    is_flag=True,
    help="While a RUN is in progress, write the site again every minute; open pages show the update.",
)
@control_option
def report_command(  # noqa: PLR0913 - one for each option
    run: tuple[Path, ...],
    output: Path,
    title: str | None,
    single_file: bool,
    without_filmstrips: bool,
    follow: bool,
    controls: tuple[str, ...],
) -> None:
    """Write a website about one or several RUNs: leaderboards, comparisons, charts and a page per case.

    It opens from disk, without a server or network access. Models of several runs share a table if their metrics have
    the same lock.
    """
    if without_filmstrips and not single_file:
        raise click.UsageError("--without-filmstrips only applies with --single-file.")
    if follow and single_file:
        raise click.UsageError("--follow writes a site, and --single-file one file to send. Leave one of them out.")
    from lookaway.reports.numbers import print_lines, size
    from lookaway.reports.runs import load_runs
    from lookaway.reports.site.building import build_site
    from lookaway.reports.site.facts import is_going
    from lookaway.reports.site.one_file import write_one_file

    runs = load_runs(run, controls)
    if single_file:
        written = write_one_file(runs, output, title=title, strips=not without_filmstrips)
    else:
        while follow and any(map(is_going, runs)):
            written = build_site(runs, output, title=title, reload_seconds=FOLLOW_SECONDS)
            print_note(f"{written}: the run goes on; written again in {FOLLOW_SECONDS} s.")
            time.sleep(FOLLOW_SECONDS)
            runs = load_runs(run, controls)
        written = build_site(runs, output, title=title)
    print_lines([f"Wrote {written} ({size(written.stat().st_size)})"])
