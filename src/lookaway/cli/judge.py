"""`lookaway judge`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import click

from lookaway.cli.judge_options import chosen_judge, judge_options
from lookaway.cli.options import dataset_options, json_option, read_dataset
from lookaway.cli.suite_options import DatasetCommand


@click.group("judge")
def judge_command() -> None:
    """Vision-language models that answer questions about videos."""


@judge_command.command("check", cls=DatasetCommand)
@dataset_options
@judge_options
@json_option
def check_command(as_json: bool, **options: Any) -> None:
    """Ask the judge about the first clip of DATASET; show its answer and what a run would cost.

    Shows which model answered, how fast, and whether its server gives log-probabilities and enforces JSON schemas. The
    cost is for the metrics that --metrics names.
    """
    from lookaway.core import UserError
    from lookaway.engine.judge_check import check_on_clip
    from lookaway.reports.judge_check import print_judge_check

    settings = chosen_judge(options)
    if settings is None:
        raise UserError("No judge is named. Name one with --judge-model, and its server with --judge-url.")
    dataset, metrics = read_dataset(options)
    print_judge_check(check_on_clip(settings, dataset, metrics), as_json=as_json)


@judge_command.command("oracle", context_settings={"ignore_unknown_options": True})
@click.argument("world", type=click.Path(path_type=Path))
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: any free port.")
@click.option("--wrong-answer-rate", type=click.FloatRange(0, 1), default=0.0, help="Share of wrong answers.")
@click.option("--yes-bias", type=float, default=0.0, help="Added to the log-odds of yes.")
@click.option("--latency", type=click.FloatRange(min=0), default=0.0, help="Seconds before each answer.")
@click.option("--error-rate", type=click.FloatRange(0, 1), default=0.0, help="Share of server errors, of all kinds.")
@click.option("--no-logprobs", is_flag=True, help="Give no log-probabilities.")
@click.option("--no-schema", is_flag=True, help="Do not enforce JSON schemas.")
@click.option("--seed", type=int, default=0, help="Seed of all random draws.")
def oracle_command(world: Path, command: tuple[str, ...], port: int, **options: Any) -> int:
    """Serve a judge that knows the truth of the simulated WORLD, on this machine, until interrupted.

    With COMMAND, run it with LOOKAWAY_JUDGE_URL and LOOKAWAY_JUDGE_MODEL set, and stop when it ends:

    lookaway judge oracle WORLD -- lookaway eval WORLD -o RUN --metrics triggered
    """
    from lookaway.judges.oracle import Noise, OracleServer, ServerErrors, serve
    from lookaway.reports.numbers import print_lines

    noise = Noise(
        wrong_answer_rate=options["wrong_answer_rate"],
        yes_bias=options["yes_bias"],
        latency_seconds=options["latency"],
        gives_logprobs=not options["no_logprobs"],
        holds_schema=not options["no_schema"],
        seed=options["seed"],
    )
    errors = ServerErrors.mixed(options["error_rate"])
    if not command:
        serve(world, port, noise, errors, ready=lambda server: print_lines([f"serving at {server.base_url}"]))
        return 0
    with OracleServer(world, noise=noise, errors=errors, port=port) as server:
        variables = {"LOOKAWAY_JUDGE_URL": server.base_url, "LOOKAWAY_JUDGE_MODEL": "oracle"}
        return subprocess.run(command, env={**os.environ, **variables}, check=False).returncode  # noqa: S603
