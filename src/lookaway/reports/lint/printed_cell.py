"""One cell of a table that somebody printed: a number with whatever stands beside it."""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass

NUMBER = r"[+-]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
BOLD = re.compile(
    r"\*\*(.+?)\*\*|(?<!\w)__(.+?)__(?!\w)|<(?:b|strong)>(.+?)</(?:b|strong)>|\\textbf\{(.+?)\}", re.DOTALL
)
TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
COUNT = re.compile(r"\(?\bn\s*[=:]?\s*(\d+)(?: of \d+)?\b\)?", re.IGNORECASE)
INTERVAL = re.compile(rf"[\[(]\s*({NUMBER})\s*(?:,|;|\u2013|to|\.\.)\s*({NUMBER})\s*[\])]")
SPREAD = re.compile(rf"(?:±|\+/-|\\pm)\s*{NUMBER}")
DAGGER = re.compile(r"[†‡]|\\d?dagger")
MARKS = re.compile(r"[†‡*§]|\\d?dagger|\$|\^|[{}]")
VALUE = re.compile(rf"({NUMBER})\s*(%?)")
NOTHING = frozenset({"", "-", "\u2013", "\u2014", "na", "n/a", "nan", "none", "null"})
LONGEST_NUMBER = 300
"""Longer text is no number with something beside it, and is not searched for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedCell:
    """What a cell says."""

    text: str
    value: float | None = None
    """`None` where the cell is no number."""
    is_bold: bool = False
    is_daggered: bool = False
    """Whether its authors marked it as weak."""
    has_percent: bool = False
    has_interval: bool = False
    n: int | None = None
    digits: int = 0
    """Digits after the point."""

    @property
    def is_empty(self) -> bool:
        """Whether it says that there is nothing."""
        return self.text.casefold() in NOTHING


def printed_cell(text: str) -> PrintedCell:
    """What is printed in a cell.

    >>> cell = printed_cell("**0.71** [0.62, 0.80] n=12 †")
    >>> cell.value, cell.is_bold, cell.is_daggered, cell.has_interval, cell.n
    (0.71, True, True, True, 12)
    """
    if len(text) > LONGEST_NUMBER:
        return PrintedCell(text=text)
    plain = BOLD.sub(lambda found: next(group for group in found.groups() if group is not None), text)
    shown = html.unescape(TAG.sub(" ", plain)).replace("\u2212", "-").strip()
    rest, intervals = INTERVAL.subn(" ", shown)
    rest, spreads = SPREAD.subn(" ", rest)
    count = COUNT.search(rest)
    rest = MARKS.sub(" ", COUNT.sub(" ", rest) if count else rest).strip()
    found = VALUE.fullmatch(rest)
    number = found[1].replace(",", "") if found else ""
    value = float(number) if found else math.nan
    return PrintedCell(
        text=shown,
        value=value if math.isfinite(value) else None,
        is_bold=plain != text,
        is_daggered=bool(found and DAGGER.search(shown)),
        has_percent=bool(found and found[2]),
        has_interval=bool(intervals or spreads),
        n=int(count[1]) if count else None,
        digits=len(number.partition(".")[2]) if "e" not in number.lower() else 12,
    )
