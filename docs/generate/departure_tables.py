"""Where paper, released code and this package differ: tables from `docs/departures`, a file for each benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter

from generate.markdown import DOCS, escaped, table

FOLDER = DOCS / "departures"
TITLES = {"mbench": "MBench", "mind": "MIND", "memobench": "MemoBench", "wrbench": "WRBench", "revisit": "Revisits"}
"""Benchmarks by the name of their file, in the order of the page."""
Settled = Literal["as in the paper", "as in the code", "open, pinned", "no departure", "not computed"]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
HEADS = ("Row", "Topic", "Paper", "Code", "Published name", "Corrected name", "What it moves")


class Departure(BaseModel):
    """One place where they differ, or seemed to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    row: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2,3}\d+[a-z]?$")]
    topic: Text
    text: Text | None = None
    code: Text | None = None
    published: Text
    corrected: Text | None = None
    names: tuple[Text, ...] = ()
    settled: Settled
    moves: Text | None = None
    tests: Annotated[tuple[Text, ...], Field(default=())]


def read_departures(path: Path) -> tuple[Departure, ...]:
    """The rows of a file; an error names what does not fit."""
    content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    return TypeAdapter(tuple[Departure, ...]).validate_python(content)


def departures(folder: Path = FOLDER) -> str:
    """A table for each benchmark whose file is there."""
    parts = []
    for name, title in TITLES.items():
        path = folder / f"{name}.yml"
        if path.is_file():
            rows = read_departures(path)
            parts += [f"## {title} {{ #{name} }}", _counted(rows), table(HEADS, map(_cells, rows))]
    return "\n\n".join(parts)


def _counted(rows: Sequence[Departure]) -> str:
    """How many rows are settled in each way."""
    counts = Counter(row.settled for row in rows)
    told = ", ".join(f"{counts[way]} {way}" for way in get_args(Settled) if counts[way])
    return f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}: {told}."


def _cells(row: Departure) -> tuple[str, ...]:
    names = "".join(f"<br>`{name}`" for name in row.names)
    return (
        f'<span id="{row.row.lower()}">{row.row}</span>',
        f"{_line(row.topic)}{names}",
        _line(row.text or "silent"),
        _line(row.code or "none released, or silent"),
        f"{_line(row.published)}<br>*{row.settled}*",
        _line(row.corrected or "the same"),
        _line(row.moves or "not measured"),
    )


def _line(text: str) -> str:
    return escaped(" ".join(text.split()))
