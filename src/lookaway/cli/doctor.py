"""`lookaway doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lookaway.cli.options import FOLDER_OR_URL, json_option
from lookaway.cli.run_options import chosen_judge, judge_options

EXIT_FAULT = 3


@click.command("doctor")
@click.option("--storage", type=FOLDER_OR_URL, default=".", show_default=True, help="Folder in which runs are written.")
@click.option("--device", default="cpu", show_default=True, help="Device for networks: cpu, cuda or cuda:1.")
@judge_options
@json_option
def doctor_command(storage: Path, as_json: bool, **options: Any) -> int:
    """Check this installation, and whether it measures what the reference installation does.

    Checks weights, device, decoder, poses, storage, OpenCV, the constants of metrics and, if one is named, the judge.
    Then renders four small clips of the simulated world, measures them and compares with the shipped values. Exits
    with 3 if something is wrong. Speed is not checked.
    """
    from lookaway.calibration.doctor import CALIBRATION, examine
    from lookaway.core import Compute
    from lookaway.reports.numbers import amount, print_lines, print_rows

    device = options["device"]
    findings = list(examine(storage, judge=chosen_judge(options), compute=Compute(device=device)))
    rows = [
        {"check": each.check, "status": each.status, "found": each.found, "likely reason": each.reason}
        for each in findings
    ]
    print_rows(rows, as_json=as_json)
    faults = [each for each in findings if each.status == "fault"]
    if not as_json:
        is_compared = any(each.check == CALIBRATION and each.status == "ok" for each in findings)
        compared = "This installation measures what the reference installation does."
        skipped = "Nothing that was checked is wrong; metrics were not compared."
        wrong = f"{amount(len(faults), 'check')} found something wrong."
        print_lines([wrong if faults else compared if is_compared else skipped])
    return EXIT_FAULT if faults else 0
