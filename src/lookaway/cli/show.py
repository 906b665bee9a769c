"""`lookaway show`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lookaway.cli.options import FOLDER_OR_URL, PATH, control_option, ignore_trigger_option, json_option, layout_option


@click.command("show")
@click.argument("run", type=FOLDER_OR_URL)
@ignore_trigger_option
@click.option("--clip", metavar="ROLLOUT", help="Print the numbers of one rollout, MODEL/CASE/SEED, instead.")
@click.option("--pictures", type=PATH, help="With --clip: folder for pictures of what changed in it.")
@click.option(
    "--contact-sheet",
    type=PATH,
    metavar="FILE.jpg",
    help="Write one image of what changed in the rollouts of a revisit run instead, worst first; JPEG or PNG.",
)
@control_option
@layout_option
@json_option
def show_command(run: Path, clip: str | None, contact_sheet: Path | None, as_json: bool, **options: Any) -> None:
    """Print the table of RUN: means with intervals, n of N, and why other rollouts have no score."""
    from lookaway.engine.run import Run
    from lookaway.reports.table import print_table

    if options["pictures"] and clip is None:
        raise click.UsageError("--pictures only applies with --clip.")
    if clip is None and contact_sheet is None:
        shown = Run(run)
        table = shown.table(ignore_triggers=options["ignore_trigger"])
        print_table(shown, table, as_json=as_json, controls=options["controls"], layout=options["layout"])
        return
    if clip is not None and contact_sheet is not None:
        raise click.UsageError("--clip and --contact-sheet show different things: give one of them.")
    if options["ignore_trigger"] or options["controls"]:
        raise click.UsageError("--ignore-trigger and --control only apply to the table.")
    _show_evidence(run, clip, options["pictures"], contact_sheet, as_json=as_json)


def _show_evidence(
    path: Path, clip: str | None, pictures: Path | None, contact_sheet: Path | None, *, as_json: bool
) -> None:
    from lookaway.reports.change_sheet import write_change_sheet
    from lookaway.reports.numbers import print_json
    from lookaway.reports.one_rollout import print_rollout
    from lookaway.reports.runs import load_runs

    (run,) = load_runs([path])
    if clip is not None:
        print_rollout(run, clip, pictures, as_json=as_json)
    elif contact_sheet is not None:
        found = write_change_sheet(run, contact_sheet)
        if as_json:
            print_json({"path": str(contact_sheet), "rollouts": found})
        else:
            click.echo(f"Wrote {contact_sheet}: {found}")
