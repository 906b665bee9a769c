"""`lookaway judge`."""

from __future__ import annotations

from typing import Any

import click

from lookaway.cli.judge_options import chosen_judge, judge_options
from lookaway.cli.options import dataset_options, json_option, read_dataset


@click.group("judge")
def judge_command() -> None:
    """Vision-language models that answer questions about videos."""


@judge_command.command("check")
@dataset_options
@judge_options
@json_option
def check_command(as_json: bool, **options: Any) -> None:
    """Ask the judge about the first clip of DATASET; show what came back, and what a run would take.

    Shows who answered, after how long, whether the server gives log-probabilities and holds to a JSON schema. The
    estimate is for the metrics that --metrics names.
    """
    from lookaway.core import UserError
    from lookaway.engine.judge_check import check_on_clip
    from lookaway.reports.judge_check import print_judge_check

    settings = chosen_judge(options)
    if settings is None:
        raise UserError("No judge is named. Name one with --judge-model, and its server with --judge-url.")
    dataset, metrics = read_dataset(options)
    print_judge_check(check_on_clip(settings, dataset, metrics), as_json=as_json)
