"""Keys of servers: never shown, never written."""

from __future__ import annotations

from dataclasses import dataclass

HIDDEN = "***"
SHORTEST = 4
"""Shorter text is part of too many words to be taken out of them."""


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """Text that is not for showing.

    >>> print(Secret("sk-1234"), Secret("sk-1234").scrub("Wrong key sk-1234."))
    *** Wrong key ***.
    """

    _value: str = ""

    def reveal(self) -> str:
        """The text itself, for whoever it is meant for."""
        return self._value

    def scrub(self, text: str) -> str:
        """Other text without it."""
        return text.replace(self._value, HIDDEN) if len(self._value) >= SHORTEST else text

    def __repr__(self) -> str:
        return HIDDEN

    def __bool__(self) -> bool:
        return bool(self._value)
