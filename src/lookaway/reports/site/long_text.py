"""Text of a dataset or a judge, of any length, so that no caption makes a page heavy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MOST_CHARACTERS: Final = 2_000
"""Of one text in a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongText:
    """As much of a text as a page shows."""

    shown: str
    length: int
    href: str | None
    """Where the whole lies, from the root of the site; `None` where all of it is shown, or nothing else is kept."""

    @property
    def is_cut(self) -> bool:
        """Whether there is more of it."""
        return len(self.shown) < self.length


def long_text(text: object, keep: Callable[[str], str] | None = None) -> LongText:
    """The start of a text; `keep` puts the whole of one that is too long elsewhere and says where.

    >>> long_text("short").is_cut, long_text("long" * 1000).is_cut
    (False, True)
    """
    whole = str(text)
    is_cut = len(whole) > MOST_CHARACTERS
    return LongText(shown=whole[:MOST_CHARACTERS], length=len(whole), href=keep(whole) if keep and is_cut else None)
