"""What an oracle says to questions that it does not know."""

from __future__ import annotations

from lookaway.core import LookawayError


class CannotAnswer(LookawayError):
    """The question is not one that this oracle can answer, however often it is put."""
