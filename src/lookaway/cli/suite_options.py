"""Flags of the installed suites, for commands that read a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from lookaway.core import Option

SUITE_OPTIONS = "suite_options"
"""Name of the argument that holds the flags that were given."""


class DatasetCommand(click.Command):
    """A command with the flags of every installed suite in addition to its own.

    Suites are imported only to parse the command or print its help, so other commands start fast.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own, and each suite flag once."""
        own = super().get_params(ctx)
        return [*own, *_flags(own).values()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Collect the suite flags; the suite of the dataset checks them when it is read."""
        rest = super().parse_args(ctx, args)
        given = {name: ctx.params.pop(name, None) for name in _flags(super().get_params(ctx))}
        ctx.params[SUITE_OPTIONS] = {
            name: value for name, value in given.items() if value is not None and value is not False
        }
        return rest

    def option_groups(self, ctx: click.Context) -> dict[str, list[click.Option]]:
        """Options by heading: its own, then those of each suite; suites with equal options share a heading."""
        groups: dict[tuple[Option, ...], list[str]] = {}
        for suite, options in _suite_options().items():
            groups.setdefault(options, []).append(suite)
        own = [parameter for parameter in super().get_params(ctx) if isinstance(parameter, click.Option)]
        of_suites = {
            f"Options of {' and '.join(suites)}": [_flag(option) for option in options]
            for options, suites in groups.items()
            if options
        }
        return {"Options": own, **of_suites}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each group under its heading."""
        for heading, options in self.option_groups(ctx).items():
            with formatter.section(heading):
                formatter.write_dl([record for option in options if (record := option.get_help_record(ctx))])


def _suite_options() -> dict[str, tuple[Option, ...]]:
    # Imported only here, so that `lookaway --help` does not wait for NumPy.
    from lookaway.engine.reading import suite_options

    return suite_options()


def _flags(own: list[click.Parameter]) -> dict[str, click.Option]:
    """One flag per name. The suite checks values; here only their type matters."""
    from lookaway.core import UserError

    taken = {name for parameter in own for name in (parameter.name, *parameter.opts)}
    first: dict[str, tuple[str, Option]] = {}
    for suite, options in _suite_options().items():
        for option in options:
            if taken.intersection((option.name, option.flag)):
                raise UserError(
                    f"The suite {suite!r} has an option {option.flag}, which every command has already. Rename it."
                )
            other, known = first.setdefault(option.name, (suite, option))
            if known.type is not option.type:
                raise UserError(
                    f"{option.flag} is {known.expected} for the suite {other!r}, {option.expected} for {suite!r}. "
                    "Rename one of the options, or uninstall one of the packages."
                )
    return {name: _flag(option) for name, (_, option) in first.items()}


def _flag(option: Option) -> click.Option:
    if option.type is bool:
        return click.Option([option.flag, option.name], is_flag=True, help=option.help)
    kinds: dict[type, Any] = {str: click.STRING, int: click.INT, float: click.FLOAT, Path: click.Path(path_type=Path)}
    metavar = option.metavar or (f"[{'|'.join(option.choices)}]" if option.choices else None)
    return click.Option([option.flag, option.name], type=kinds[option.type], metavar=metavar, help=option.help)
