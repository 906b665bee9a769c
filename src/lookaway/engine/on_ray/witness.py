"""Remembers what every copy of a service was busy with, so that a death can be blamed on a request."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Witness:
    """Outlives the copies that it watches; what only waited beside a request that a copy died of is not blamed."""

    _lives: dict[str, str] = field(default_factory=dict)
    _busy: dict[tuple[str, bool], str] = field(default_factory=dict)
    _deaths: Counter[str] = field(default_factory=Counter)

    def begins(self, copy: str, life: str, is_quick: bool, request: str) -> int:
        """A copy, in one of its lives, is about to answer a request; returns how many copies died of that before."""
        if self._lives.setdefault(copy, life) != life:
            self._lives[copy] = life
            for way in (False, True):
                if (last := self._busy.pop((copy, way), None)) is not None:
                    self._deaths[last] += 1
        self._busy[copy, is_quick] = request
        return self._deaths[request]
