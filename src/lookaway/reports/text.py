"""Prints rows as a table for people or as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


def console() -> Console:
    """A console that wraps nothing where the output is not a terminal, so that pipes and files keep whole lines."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=10_000, soft_wrap=True)


def print_json(value: Any) -> None:
    """JSON on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_rows(rows: Sequence[Mapping[str, Any]], *, as_json: bool, right: Sequence[str] = ()) -> None:
    """Rows with the same keys as a table; text of datasets is never taken for markup."""
    if as_json:
        print_json(list(rows))
        return
    if not rows:
        console().print("nothing")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in rows[0]:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(value)) for value in row.values()))
    console().print(table)
