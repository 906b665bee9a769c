"""The `lookaway` command."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import click

from lookaway.cli.audit_judge import audit_judge_command
from lookaway.cli.calibrate import calibrate_command
from lookaway.cli.cases import cases_command
from lookaway.cli.check import check_command
from lookaway.cli.collect import collect_command
from lookaway.cli.compare import compare_command
from lookaway.cli.demo import demo_command
from lookaway.cli.doctor import doctor_command
from lookaway.cli.drift import drift_command
from lookaway.cli.eval import eval_command
from lookaway.cli.export import export_command
from lookaway.cli.judge import judge_command
from lookaway.cli.lint_stats import lint_stats_command
from lookaway.cli.lists import extractors_command, metrics_command, suites_command
from lookaway.cli.mbench import mbench_command
from lookaway.cli.memobench import memobench_command
from lookaway.cli.merge import merge_command
from lookaway.cli.pairs import pairs_command
from lookaway.cli.plan import plan_command
from lookaway.cli.questions import questions_command
from lookaway.cli.report import report_command
from lookaway.cli.reward import reward_command
from lookaway.cli.serve import serve_command
from lookaway.cli.show import show_command
from lookaway.cli.validate import validate_command
from lookaway.cli.verify import verify_command
from lookaway.cli.weights import weights_command
from lookaway.cli.world import world_command
from lookaway.cli.wrbench import wrbench_command

EXIT_USER_ERROR, EXIT_INTERRUPTED, EXIT_TERMINATED = 2, 130, 143


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lookaway")
def lookaway() -> None:
    """Measure whether video world models remember what the camera looked away from.

    Exit codes: 0 ok; 1 a bug in lookaway; 2 an error you can fix; 3 finished, but some measurements failed or a check
    did not pass; 4 finished, but with fewer scores than eval --require-coverage asks for; 130 interrupted;
    143 terminated.

    The help of check, compare, doctor, lint-stats, reward check and verify says when they exit with 3.
    """


for command in (
    demo_command,
    validate_command,
    plan_command,
    eval_command,
    merge_command,
    check_command,
    show_command,
    compare_command,
    lint_stats_command,
    drift_command,
    report_command,
    export_command,
    verify_command,
    mbench_command,
    memobench_command,
    wrbench_command,
    world_command,
    calibrate_command,
    suites_command,
    metrics_command,
    extractors_command,
    weights_command,
    judge_command,
    audit_judge_command,
    doctor_command,
    questions_command,
    cases_command,
    collect_command,
    reward_command,
    pairs_command,
    serve_command,
):
    lookaway.add_command(command)


def main(run: Callable[..., object] = lookaway) -> NoReturn:
    """Run the command line; user errors print one line, bugs keep their traceback."""
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot show must not hide the rest.
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
    try:
        with _terminable():
            code = run(prog_name="lookaway", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USER_ERROR)
    except (click.Abort, KeyboardInterrupt) as error:
        is_terminated = isinstance(error.__cause__ or error, Terminated)
        how = "Terminated" if is_terminated else "Interrupted"
        click.echo(f"{how}. Finished work is kept; run the same command to resume.", err=True)
        sys.exit(EXIT_TERMINATED if is_terminated else EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader has closed the pipe, as in `lookaway show RUN | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        # Imported only here, so that `lookaway --help` does not wait for NumPy.
        from lookaway.core.errors import UserError

        if not isinstance(error, UserError):
            raise
        click.echo(f"error: {_one_line(str(error))}", err=True)
        sys.exit(EXIT_USER_ERROR)
    sys.exit(code if isinstance(code, int) else 0)


class Terminated(KeyboardInterrupt):
    """SIGTERM, as schedulers send it: a run ends like one that is interrupted, and records that it stopped."""


@contextmanager
def _terminable() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM; only the main thread may handle signals."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _one_line(message: str) -> str:
    from lookaway.reports.numbers import visible

    return visible(" ".join(message.split()))
