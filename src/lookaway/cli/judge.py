"""`lookaway judge`."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from lookaway.cli.options import PATH, SHARE, dataset_options, json_option, read_dataset
from lookaway.cli.run_options import chosen_judge, judge_options
from lookaway.cli.suite_options import DatasetCommand


@click.group("judge")
def judge_command() -> None:
    """Check a judge, a vision-language model that answers questions about videos, or serve a simulated one."""


@judge_command.command("check", cls=DatasetCommand)
@dataset_options
@judge_options
@json_option
def check_command(as_json: bool, **options: Any) -> None:
    """Ask the judge about the first clip of DATASET; show its answer and the estimated cost of a run.

    Shows the model that answered, its latency, and whether the server supports log-probabilities and JSON schemas. The
    estimate is for the metrics of --metrics.
    """
    from lookaway.core import UserError
    from lookaway.engine.judge_check import check_on_clip
    from lookaway.reports.judge_checks import print_judge_check

    settings = chosen_judge(options)
    if settings is None:
        raise UserError("No judge is configured. Set its model with --judge-model and its server with --judge-url.")
    dataset, metrics = read_dataset(options)
    print_judge_check(check_on_clip(settings, dataset, metrics), as_json=as_json)


@judge_command.command("oracle", context_settings={"ignore_unknown_options": True})
@click.argument("world", type=PATH)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the server; by default any free one.")
@click.option("--wrong-answer-rate", type=SHARE, default=0.0, help="Share of wrong answers.")
@click.option("--order-error-rate", type=SHARE, default=0.0, help="Share of wrong answers about shuffled frames.")
@click.option("--refusal-rate", type=SHARE, default=0.0, help="Share of requests that are refused.")
@click.option("--yes-bias", type=float, default=0.0, help="Bias added to the log-odds of a yes.")
@click.option("--latency", type=click.FloatRange(min=0), default=0.0, help="Seconds before each answer.")
@click.option("--error-rate", type=SHARE, default=0.0, help="Share of requests that fail, in all simulated ways.")
@click.option("--no-logprobs", is_flag=True, help="Return no log-probabilities.")
@click.option("--no-schema", is_flag=True, help="Ignore JSON schemas.")
@click.option("--seed", type=int, default=0, help="Random seed.")
def oracle_command(world: Path, command: tuple[str, ...], port: int, **options: Any) -> int:
    """Serve a judge that knows the ground truth of the simulated WORLD, locally, until interrupted.

    With COMMAND, run it with LOOKAWAY_JUDGE_URL and LOOKAWAY_JUDGE_MODEL set, and stop when it ends:

    lookaway judge oracle WORLD -- lookaway eval WORLD -o RUN --metrics triggered
    """
    from lookaway.judges.oracle import Noise, OracleServer, ServerErrors, serve
    from lookaway.reports.numbers import print_lines

    noise = Noise(
        wrong_answer_rate=options["wrong_answer_rate"],
        order_error_rate=options["order_error_rate"],
        yes_bias=options["yes_bias"],
        latency_seconds=options["latency"],
        gives_logprobs=not options["no_logprobs"],
        holds_schema=not options["no_schema"],
        seed=options["seed"],
    )
    errors = ServerErrors.mixed(options["error_rate"])
    errors = replace(errors, refusal=errors.refusal + options["refusal_rate"])
    if not command:
        serve(world, port, noise, errors, ready=lambda server: print_lines([f"Serving at {server.base_url}"]))
        return 0
    with OracleServer(world, noise=noise, errors=errors, port=port) as server:
        variables = {"LOOKAWAY_JUDGE_URL": server.base_url, "LOOKAWAY_JUDGE_MODEL": "oracle"}
        return subprocess.run(command, env={**os.environ, **variables}, check=False).returncode  # noqa: S603
