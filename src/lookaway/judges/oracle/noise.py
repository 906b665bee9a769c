"""How well, how fast and how reliably the oracle answers."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from lookaway.core import Json
from lookaway.judges.oracle.parsed_question import CannotAnswer
from lookaway.judges.question import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How well the oracle answers, how fast, and what its server supports.

    Noise and bias are drawn from the seed and the question, not from the attempt: the same question gets the same
    answer, whatever errors came before it. Only a request that leaves the answer to chance (a temperature, and no seed)
    is drawn anew for every attempt.
    """

    wrong_answer_rate: Annotated[float, "probability that an answer is replaced by a wrong one"] = 0.0
    order_error_rate: Annotated[float, "the same, on top, if the frames are not shown in order of time"] = 0.0
    yes_bias: Annotated[
        float,
        "added to the log-odds of a yes; a false in a JSON answer turns true with probability tanh(bias / 2), and a "
        "true turns false where the bias is below 0",
    ] = 0.0
    certainty: Annotated[float, "probability of the right one of yes and no, before the bias"] = 0.95
    latency_seconds: Annotated[float, "before each answer"] = 0.0
    latency_jitter_seconds: Annotated[float, "maximum added to the latency; drawn for every attempt"] = 0.0
    gives_logprobs: Annotated[bool, "otherwise the field is missing even if requested"] = True
    holds_schema: Annotated[bool, "otherwise answers come in prose or in a code fence, whatever was requested"] = True
    takes_video: Annotated[bool, "otherwise questions with a video are rejected"] = True
    reported_model: Annotated[str, "the model name in replies; empty for the requested one"] = ""
    seed: Annotated[int, "seed of all random draws"] = 0

    def __post_init__(self) -> None:
        for name in ("wrong_answer_rate", "order_error_rate", "certainty"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be a probability, found {getattr(self, name)}.")
        for name in ("latency_seconds", "latency_jitter_seconds"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be 0 or more, found {getattr(self, name)}.")
        if not math.isfinite(self.yes_bias):
            raise ValueError(f"yes_bias must be a finite number, found {self.yes_bias}.")

    def p_yes(self, truth: bool) -> float:
        """The probability of a yes, given that the answer is yes or no.

        >>> Noise(certainty=0.95).p_yes(True)
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
    """Random draws for one attempt at one question: each is a hash of these three fields and the name of the draw."""

    seed: int
    key: str
    attempt: int = 0

    def draw(self, what: str) -> float:
        """A number from 0 up to but not including 1.

        >>> Chance(0, "question").draw("noise") == Chance(0, "question").draw("noise")
        True
        """
        hashed = hashlib.sha256(f"{self.seed}/{self.key}/{self.attempt}/{what}".encode()).digest()
        return (int.from_bytes(hashed[:8], "big") >> 11) / 2**53

    def pick(self, what: str, options: Sequence[Option]) -> Option:
        """One of the options, each equally likely."""
        return options[int(self.draw(what) * len(options))]


def distorted(answer: Answer | bool, noise: Noise, chance: Chance, *, is_shuffled: bool = False) -> Answer | bool:
    """The answer with noise and bias applied; the bias of a yes-or-no answer is in its probability instead."""
    is_lost = is_shuffled and chance.draw("order") < noise.order_error_rate
    if is_lost or chance.draw("noise") < noise.wrong_answer_rate:
        answer = wrong(answer, chance)
    if isinstance(answer, bool) or noise.yes_bias == 0.0:
        return answer
    return _with_value(answer, _biased(answer.model_dump(mode="json"), noise.yes_bias, chance, ""))


def wrong(answer: Answer | bool, chance: Chance) -> Answer | bool:
    """A different answer of the same shape: true for false, another choice, another whole number within its bounds."""
    if isinstance(answer, bool):
        return not answer
    schema, value = type(answer).model_json_schema(), answer.model_dump(mode="json")
    changed = _changed_value(value, schema, schema.get("$defs", {}), chance, "")
    if changed == value:
        raise CannotAnswer(
            f"{type(answer).__name__} cannot be made wrong: it has no boolean, choice or bounded whole number."
        )
    return _with_value(answer, changed)


def mistyped(value: Json) -> Json:
    """The same answer with the wrong types: `"yes"` for true, `"5"` for 5, a list for text.

    >>> mistyped({"triggered": True, "rating": 5, "reason": "seen"})
    {'triggered': 'yes', 'rating': '5', 'reason': ['seen']}
    """
    if isinstance(value, Mapping):
        return {name: mistyped(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [mistyped(entry) for entry in value]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return [value] if isinstance(value, str) else str(value)


def _with_value(answer: Answer, value: Json) -> Answer:
    return type(answer).model_validate_json(json.dumps(value))


def _biased(value: Json, bias: float, chance: Chance, path: str) -> Json:
    if isinstance(value, Mapping):
        return {name: _biased(entry, bias, chance, f"{path}/{name}") for name, entry in value.items()}
    if isinstance(value, list):
        return [_biased(entry, bias, chance, f"{path}/{index}") for index, entry in enumerate(value)]
    is_biased = isinstance(value, bool) and chance.draw(f"bias{path}") < math.tanh(abs(bias) / 2)
    return bias > 0 if is_biased else value


def _changed_value(value: Json, schema: Json, definitions: Json, chance: Chance, path: str) -> Json:
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if isinstance(value, Mapping):
        kinds = schema.get("properties", {})
        return {
            name: _changed_value(entry, kinds.get(name, {}), definitions, chance, f"{path}/{name}")
            for name, entry in value.items()
        }
    if isinstance(value, list):
        kind = schema.get("items", {})
        return [
            _changed_value(entry, kind, definitions, chance, f"{path}/{index}") for index, entry in enumerate(value)
        ]
    others = [other for other in _choices(value, schema) if other != value]
    return chance.pick(f"wrong{path}", others) if others else value


def _choices(value: Json, schema: Json) -> list[Json]:
    if isinstance(value, bool):
        return [False, True]
    if schema.get("type") == "integer" and {"minimum", "maximum"} <= set(schema):
        return list(range(schema["minimum"], schema["maximum"] + 1))
    return list(schema.get("enum", ()))
