"""What goes wrong with the oracle's replies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args

from lookaway.core import UnknownName
from lookaway.judges.oracle.noise import Chance

FaultKind = Literal[
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
ERROR_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """A probability for each kind, drawn for every attempt, so that the next one can succeed."""

    rate_limited: Annotated[float, "status 429, with the seconds to wait"] = 0.0
    server_error: Annotated[float, "status 500, 502 or 503"] = 0.0
    time_out: Annotated[float, "no answer until the client gives up"] = 0.0
    dropped_connection: Annotated[float, "closed before the reply, or in the middle of it"] = 0.0
    vanished_model: Annotated[float, "status 404, the model is not there"] = 0.0
    truncated_json: Annotated[float, "status 200, and a reply that ends in the middle"] = 0.0
    truncated_answer: Annotated[float, "a whole reply whose answer ends in the middle"] = 0.0
    refusal: Annotated[float, "a refusal: as a field, by a filter, or in words"] = 0.0
    wrong_types: Annotated[float, "text in place of numbers and of true and false"] = 0.0
    empty_answer: Annotated[float, "a whole reply that says nothing"] = 0.0
    retry_after_seconds: Annotated[float, "what a rate limit asks for"] = 0.05
    hang_seconds: Annotated[float, "how long a reply that never comes keeps the connection"] = 600.0
    script: Annotated[Sequence[str | None], "kinds for the first requests, in the order of arrival"] = ()

    def __post_init__(self) -> None:
        chances = [getattr(self, kind) for kind in ERROR_KINDS]
        if not (all(0 <= chance <= 1 for chance in chances) and math.fsum(chances) <= 1 + 1e-9):
            raise ValueError(f"faults have probabilities that sum to 1 at most, found {chances}.")
        if not (0 <= self.retry_after_seconds < math.inf and 0 <= self.hang_seconds < math.inf):
            raise ValueError("retry_after_seconds and hang_seconds are 0 or more.")
        for kind in self.script:
            if kind is not None and kind not in ERROR_KINDS:
                raise UnknownName("fault of an oracle", kind, ERROR_KINDS)

    @classmethod
    def mixed(cls, total: float, kinds: Sequence[FaultKind] = ERROR_KINDS) -> Self:
        """A total probability, spread evenly over the kinds.

        >>> Faults.mixed(0.2, ("refusal", "time_out")).refusal
        0.1
        """
        shares: dict[str, Any] = {kind: total / len(kinds) for kind in kinds}
        return cls(**shares)

    def next(self, number: int, chance: Chance) -> str | None:
        """What goes wrong with the request of this number, counted from 0."""
        if number < len(self.script):
            return self.script[number]
        left = chance.draw("fault")
        for kind in ERROR_KINDS:
            left -= getattr(self, kind)
            if left < 0:
                return kind
        return None
