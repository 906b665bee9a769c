"""`lookaway check`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import FOLDER_OR_URL, json_option

EXIT_DAMAGED = 3


@click.command("check")
@click.argument("run", type=FOLDER_OR_URL)
@json_option
def check_command(run: Path, as_json: bool) -> int:
    """Verify every file of RUN by its hash, and list the damaged ones. Nothing is changed.

    Running the same `lookaway eval` again sets damaged row files aside and measures their rollouts again. Exits with 3
    if anything is damaged. An event that was cut off when its process was killed is listed, but does not count as
    damage. Files of older versions have no hash; they are read and counted.
    """
    from lookaway.engine.checking import check_run
    from lookaway.reports.numbers import print_json, print_lines, print_rows

    checked = check_run(run)
    if as_json:
        print_json(checked.to_json())
        return EXIT_DAMAGED if checked.damaged else 0
    found = [
        {"kind": kind.kind, "found": kind.count, "without a hash": kind.unhashed, "damaged": len(kind.damaged)}
        for kind in checked.kinds
    ]
    print_rows(found, as_json=False, right=("found", "without a hash", "damaged"))
    print_lines(f"damaged: {damage}" for damage in checked.damaged)
    print_lines(f"unfinished: {name}" for name in checked.unfinished)
    print_lines(f"set aside by an earlier eval, and not read: {name}" for name in checked.set_aside)
    if checked.unhashed:
        print_lines([f"{checked.unhashed} of these carry no hash: nothing says whether they are as they were written."])
    if checked.damaged:
        return EXIT_DAMAGED
    print_lines(["nothing is damaged"])
    return 0
