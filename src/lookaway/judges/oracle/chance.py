"""Chance that does not depend on who came first."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Option = TypeVar("Option")


@dataclass(frozen=True, slots=True)
class Chance:
    """Draws for one attempt at one question: each is a hash of these three and of what is drawn."""

    seed: int
    key: str
    attempt: int = 0

    def draw(self, what: str) -> float:
        """From 0 up to, not including, 1.

        >>> Chance(0, "question").draw("noise") == Chance(0, "question").draw("noise")
        True
        """
        hashed = hashlib.sha256(f"{self.seed}/{self.key}/{self.attempt}/{what}".encode()).digest()
        return (int.from_bytes(hashed[:8], "big") >> 11) / 2**53

    def pick(self, what: str, options: Sequence[Option]) -> Option:
        """One of them, each as likely as the others."""
        return options[int(self.draw(what) * len(options))]
