"""`lookaway audit-judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lookaway.cli.options import COUNT, FOLDER_OR_URL, PATH, json_option, print_note
from lookaway.cli.run_options import chosen_judge, judge_options


@click.command("audit-judge")
@click.argument("world", type=PATH)
@click.option("-o", "--output", type=FOLDER_OR_URL, required=True, help="Folder to write or resume.")
@click.option("--limit", type=COUNT, help="Only the first N cases of each model.")
@click.option(
    "--bridge", "retired", type=FOLDER_OR_URL, metavar="AUDIT",
    help="Folder of an audit of the same WORLD by a retired judge, to carry its results to this one.",
)  # fmt: skip
@click.option(
    "--run", "runs", type=FOLDER_OR_URL, multiple=True,
    help="A run whose rates of yes are corrected, or carried from the retired judge; can be repeated.",
)  # fmt: skip
@judge_options
@json_option
def audit_judge_command(
    world: Path, output: Path, retired: Path | None, runs: tuple[Path, ...], as_json: bool, **options: Any
) -> None:
    """Measure how far a judge can be relied on, with questions about the simulated WORLD.

    Every question is asked at least twice, and once with the frames out of order. WORLD should have clips with and
    without faults, of at least five scenes; `lookaway world render` makes them. The same command resumes: no question
    is asked again.
    """
    from lookaway.calibration.judge_audit import audit_judge, with_bridge, with_rates
    from lookaway.core import UserError
    from lookaway.reports.judge_checks import print_judge_audit
    from lookaway.reports.progress import counting_bar

    settings = chosen_judge(options)
    if settings is None:
        raise UserError("No judge is configured. Set its model with --judge-model and its server with --judge-url.")
    with counting_bar("asking about clips", None, enabled=not as_json) as advance:
        report = audit_judge(settings, world, output, limit=options["limit"], on_clip=lambda clip: advance(1))
    if not report.gives_log_probabilities:
        print_note("the judge's server gives no log-probabilities, so questions for yes or no are not asked.")
    if retired is not None:
        report = with_bridge(report, output, retired)
    print_judge_audit(with_rates(report, runs), as_json=as_json)
