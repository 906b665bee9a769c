"""How good a judge the oracle plays."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How well it answers, how fast, and what its server is able to do.

    Noise and bias are drawn from the seed and the question, not from the attempt: the same question gets the same
    answer, whatever went wrong before it was heard. Only where a request asks for chance (a temperature, and no seed)
    is every attempt drawn anew.
    """

    noise: Annotated[float, "probability that an answer is replaced by a wrong one"] = 0.0
    yes_bias: Annotated[
        float,
        "added to the log-odds of a yes; a false in a JSON answer turns true with probability tanh(bias / 2), and a "
        "true turns false where the bias is below 0",
    ] = 0.0
    certainty: Annotated[float, "probability of the right one of yes and no, before the bias"] = 0.95
    latency_seconds: Annotated[float, "until an answer is given"] = 0.0
    latency_jitter_seconds: Annotated[float, "more, at most; drawn for every attempt"] = 0.0
    gives_logprobs: Annotated[bool, "otherwise the field is missing, though it was asked for"] = True
    holds_schema: Annotated[bool, "otherwise answers come in prose or in a fence, whatever form was asked for"] = True
    takes_video: Annotated[bool, "otherwise questions with a video are rejected"] = True
    reported_model: Annotated[str, "the model that says it answered; empty for the one that was asked"] = ""
    seed: Annotated[int, "of all chance"] = 0

    def __post_init__(self) -> None:
        for name in ("noise", "certainty"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a probability, found {getattr(self, name)}.")
        for name in ("latency_seconds", "latency_jitter_seconds"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} is 0 or more, found {getattr(self, name)}.")
        if not math.isfinite(self.yes_bias):
            raise ValueError(f"yes_bias is a finite number, found {self.yes_bias}.")

    def p_yes(self, truth: bool) -> float:
        """The probability of a yes, where yes and no are all there is.

        >>> Dials(certainty=0.95).p_yes(True)
        0.95
        """
        yes = self.certainty if truth else 1.0 - self.certainty
        if self.yes_bias == 0.0 or yes in (0.0, 1.0):
            return yes
        log_odds = math.log(yes) - math.log(1.0 - yes) + self.yes_bias
        return (1.0 + math.tanh(log_odds / 2)) / 2


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
