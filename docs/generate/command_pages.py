"""What the site says about commands: an index by purpose, and a page for each."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from generate.markdown import escaped, table
from lookaway.cli.main import lookaway as root
from lookaway.cli.suite_options import DatasetCommand

PURPOSES = {
    "Look before you measure": ("demo", "validate", "plan", "doctor"),
    "Measure": ("eval", "merge", "check"),
    "Read results": ("show", "report", "drift", "compare", "verify", "export", "lint-stats"),
    "Work with one benchmark": ("mbench", "memobench", "wrbench"),
    "Generate videos": ("cases", "collect"),
    "Train a model": ("reward", "pairs", "serve"),
    "Ask a judge": ("judge", "audit-judge", "questions"),
    "Know what a metric sees": ("world", "calibrate"),
    "See what is installed": ("suites", "metrics", "extractors", "weights"),
}
"""What each command is for; a command without a purpose is listed at the end."""


def command_index() -> str:
    """All commands by purpose, one line each, and what holds for all of them."""
    without = set(root.commands) - {name for names in PURPOSES.values() for name in names}
    purposes = PURPOSES | ({"More": tuple(sorted(without))} if without else {})
    parts = [part for purpose, names in purposes.items() for part in (f"## {purpose}", _lines(names))]
    return "\n\n".join([*parts, *_details("lookaway", root, heading="## For every command { #lookaway }")])


def _lines(names: tuple[str, ...]) -> str:
    # Links to a command led to a section of this page once, so each row has the name that its section had.
    rows = [
        (f"[`lookaway {name}`](commands/{name}.md){{ #lookaway-{name} }}", _in_short(root.commands[name]))
        for name in names
    ]
    return table(("Command", "What it does"), rows)


def command_page(name: str) -> str:
    """A command of the first level and all commands below it, with every argument and option, as click knows them."""
    command = root.commands[name]
    parts = [f"# lookaway {name}", *_details(f"lookaway {name}", command)]
    for path, inner in _below(f"lookaway {name}", command):
        parts += _details(path, inner, heading=f"## {path} {{ #{_anchor(path)} }}")
    return "\n\n".join(parts)


def _below(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield f"{path} {name}", inner
            yield from _below(f"{path} {name}", inner)


def _details(path: str, command: click.Command, heading: str = "") -> Iterator[str]:
    context = click.Context(command, info_name=path, **root.context_settings)
    if heading:
        yield heading
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    yield from (escaped(" ".join(text.split())) for text in inspect.cleandoc(command.help or "").split("\n\n"))
    if isinstance(command, click.Group) and command is not root:
        rows = [
            (f"[`{path} {name}`](#{_anchor(path)}-{name})", _in_short(inner))
            for name, inner in command.commands.items()
        ]
        yield table(("Command", "What it does"), rows)
    options = [parameter for parameter in command.get_params(context) if isinstance(parameter, click.Option)]
    groups = command.option_groups(context) if isinstance(command, DatasetCommand) else {"Option": options}
    for title, members in groups.items():
        records = filter(None, (option.get_help_record(context) for option in members))
        yield table((title, "Meaning"), [(f"`{names}`", escaped(meaning)) for names, meaning in records])


def _in_short(command: click.Command) -> str:
    return escaped(command.get_short_help_str(200))


def _anchor(path: str) -> str:
    return path.replace(" ", "-")
