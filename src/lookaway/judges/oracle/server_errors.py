"""Errors that the oracle's server sends on purpose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args

from lookaway.core import UnknownName
from lookaway.judges.oracle.noise import Chance

ErrorKind = Literal[
    "rate_limited",
    "server_error",
    "time_out",
    "dropped_connection",
    "vanished_model",
    "truncated_json",
    "truncated_answer",
    "refusal",
    "wrong_types",
    "empty_answer",
]
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerErrors:
    """A probability for each kind of error, drawn for every attempt, so that the next attempt can succeed."""

    rate_limited: Annotated[float, "status 429, with the seconds to wait"] = 0.0
    server_error: Annotated[float, "status 500, 502 or 503"] = 0.0
    time_out: Annotated[float, "no answer until the client gives up"] = 0.0
    dropped_connection: Annotated[float, "closed before the reply, or in the middle of it"] = 0.0
    vanished_model: Annotated[float, "status 404, model not found"] = 0.0
    truncated_json: Annotated[float, "status 200 with an incomplete reply"] = 0.0
    truncated_answer: Annotated[float, "a complete reply with an incomplete answer"] = 0.0
    refusal: Annotated[float, "a refusal: as a field, by a content filter, or in prose"] = 0.0
    wrong_types: Annotated[float, "text instead of numbers and booleans"] = 0.0
    empty_answer: Annotated[float, "a complete reply with an empty answer"] = 0.0
    retry_after_seconds: Annotated[float, "the wait that a rate limit asks for"] = 0.05
    hang_seconds: Annotated[float, "how long a timed-out request keeps its connection"] = 600.0
    script: Annotated[Sequence[str | None], "kinds for the first requests, in order of arrival"] = ()

    def __post_init__(self) -> None:
        chances = [getattr(self, kind) for kind in ERROR_KINDS]
        if not (all(0 <= chance <= 1 for chance in chances) and math.fsum(chances) <= 1 + 1e-9):
            raise ValueError(f"the probabilities of errors must sum to 1 at most, found {chances}.")
        if not (0 <= self.retry_after_seconds < math.inf and 0 <= self.hang_seconds < math.inf):
            raise ValueError("retry_after_seconds and hang_seconds must be 0 or more.")
        for kind in self.script:
            if kind is not None and kind not in ERROR_KINDS:
                raise UnknownName("server error of an oracle", kind, ERROR_KINDS)

    @classmethod
    def mixed(cls, total: float, kinds: Sequence[ErrorKind] = ERROR_KINDS) -> Self:
        """A total probability, spread evenly over the kinds.

        >>> ServerErrors.mixed(0.2, ("refusal", "time_out")).refusal
        0.1
        """
        shares: dict[str, Any] = {kind: total / len(kinds) for kind in kinds}
        return cls(**shares)

    def next(self, number: int, chance: Chance) -> str | None:
        """The kind of error for the request with this number, counted from 0; `None` for no error."""
        if number < len(self.script):
            return self.script[number]
        left = chance.draw("fault")  # the name is hashed: another one would draw other errors
        for kind in ERROR_KINDS:
            left -= getattr(self, kind)
            if left < 0:
                return kind
        return None
