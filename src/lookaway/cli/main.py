"""The `lookaway` command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

import click

from lookaway.cli.eval import eval_command
from lookaway.cli.export import export_command
from lookaway.cli.extractors import extractors_command
from lookaway.cli.metrics import metrics_command
from lookaway.cli.plan import plan_command
from lookaway.cli.show import show_command
from lookaway.cli.suites import suites_command
from lookaway.cli.validate import validate_command

EXIT_BUG, EXIT_USER_ERROR, EXIT_WITH_FAILURES, EXIT_INTERRUPTED = 1, 2, 3, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lookaway")
def lookaway() -> None:
    """Measure whether video world models remember what the camera looked away from.

    Exit codes: 0 ok, 1 a bug in lookaway, 2 something you can put right, 3 finished, but some measurements failed.
    """


for command in (
    validate_command,
    plan_command,
    eval_command,
    show_command,
    export_command,
    suites_command,
    metrics_command,
    extractors_command,
):
    lookaway.add_command(command)


def main(run: Callable[..., object] = lookaway) -> NoReturn:
    """Run the command line; errors of the user are one message, bugs keep their traceback."""
    from lookaway.core.errors import UserError

    try:
        code = run(standalone_mode=False)
    except click.exceptions.Exit as leaving:
        sys.exit(leaving.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USER_ERROR)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted. What is finished is kept; the same command goes on from there.", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(EXIT_USER_ERROR)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)
