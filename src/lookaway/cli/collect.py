"""`lookaway collect`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import PATH, json_option

EXIT_PROBLEMS = 2


@click.command("collect")
@click.argument("work", type=PATH)
@click.argument("outputs", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="Dataset to write or update.")
@click.option("--model", help="Name of the model in the dataset; by default that of its adapter.")
@click.option("--allow-overlay", is_flag=True, help="Accept videos that have keys or a joystick drawn into them.")
@json_option
def collect_command(
    work: Path, outputs: Path, output: Path, model: str | None, allow_overlay: bool, as_json: bool
) -> int:
    """Make a dataset from OUTPUTS, the results of a model for WORK, a folder that `lookaway cases export` wrote.

    Every output is decoded and compared with its plan. Missing and wrong outputs are kept in the dataset, each with a
    typed problem. Exits with 2 if an output cannot be measured.
    """
    from lookaway.generation.collect import collect_outputs
    from lookaway.reports.numbers import print_lines, print_rows

    report = collect_outputs(work, outputs, output, model=model, allow_overlay=allow_overlay)
    rows = [{"where": where, "kind": found.kind.value, "message": found.message} for where, found in report.findings()]
    if as_json:
        print_rows(rows, as_json=True)
    else:
        lines = [f"{row['kind']}: {row['where']}: {row['message']}" for row in rows]
        print_lines([*lines, f"{report.usable} of {len(report.items)} outputs can be measured, in {output}"])
    return 0 if report.usable == len(report.items) else EXIT_PROBLEMS
