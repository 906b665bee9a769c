"""Text, docstrings and rows as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

DOCS = Path(__file__).parents[1]


@cache
def data(name: str) -> Any:
    """What a YAML file beside the pages says."""
    return yaml.safe_load((DOCS / name).read_text(encoding="utf-8"))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def paragraphs(documented: object) -> list[str]:
    """A docstring as paragraphs of Markdown, without its doctests."""
    text = inspect.getdoc(documented) or ""
    return [escaped(" ".join(part.split())) for part in text.split("\n\n") if not part.startswith(">>>")]


def summary(documented: object) -> str:
    """The first line of a docstring."""
    return escaped(first_line(inspect.getdoc(documented)))


def first_line(text: str | None) -> str:
    """The first line of a text as it is."""
    return (text or "").strip().partition("\n")[0]


def escaped(text: str) -> str:
    """Plain text as Markdown: what is not code is taken literally."""
    parts = text.split("`")
    for position in range(0, len(parts), 2):
        parts[position] = re.sub(r"([*_\[\]|{}])", r"\\\1", parts[position]).replace("<", "&lt;")
    return "`".join(parts)
