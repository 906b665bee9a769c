"""Prints lines and tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDEST_LINE = 10_000


def console() -> Console:
    """A console that wraps nothing where the output is not a terminal, so that pipes and files keep whole lines."""
    return _Console() if sys.stdout.isatty() else _Console(width=WIDEST_LINE, soft_wrap=True)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command line what a reader that left early means; Rich would exit with 1."""
        raise BrokenPipeError


def visible(text: object) -> str:
    r"""Text in one line, with every character that a terminal would act upon spelled out.

    >>> print(visible("a\x1b[31mb\nc é"))
    a\x1b[31mb\nc é
    """
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in plain)


def print_json(value: Any) -> None:
    """JSON on standard output; characters that a terminal would act upon are escaped, other letters are not."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    print("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def print_lines(lines: Iterable[str]) -> None:
    """Lines as they are: text of datasets is taken neither for markup nor for commands to the terminal."""
    for line in lines:
        console().print(Text(visible(line)))


def print_rows(rows: Sequence[Mapping[str, Any]], *, as_json: bool, right: Sequence[str] = ()) -> None:
    """Rows with the same keys as a table; text of datasets is taken neither for markup nor for commands."""
    if as_json:
        print_json(list(rows))
        return
    if not rows:
        print_lines(["nothing"])
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in rows[0]:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(value)) for value in row.values()))
    console().print(table)
