"""Answers as they should not be: wrong, leaning towards yes, or of wrong types."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from lookaway.core import Json
from lookaway.judges.oracle.asked import CannotAnswer
from lookaway.judges.oracle.noise import Chance, Noise
from lookaway.judges.question import Answer


def distorted(answer: Answer | bool, noise: Noise, chance: Chance) -> Answer | bool:
    """The answer with as much noise and bias as the dials say; the bias of a yes or no is in its probability."""
    if chance.draw("noise") < noise.noise:
        answer = wrong(answer, chance)
    if isinstance(answer, bool) or noise.yes_bias == 0.0:
        return answer
    return _changed(answer, _leaning(answer.model_dump(mode="json"), noise.yes_bias, chance, ""))


def wrong(answer: Answer | bool, chance: Chance) -> Answer | bool:
    """Another answer of the same shape: true for false, another choice, another whole number within its bounds."""
    if isinstance(answer, bool):
        return not answer
    schema, said = type(answer).model_json_schema(), answer.model_dump(mode="json")
    turned = _turned(said, schema, schema.get("$defs", {}), chance, "")
    if turned == said:
        raise CannotAnswer(f"there is no noise for {type(answer).__name__}: nothing in it is true, false or a choice.")
    return _changed(answer, turned)


def mistyped(said: Json) -> Json:
    """The same words as other types than asked for: `"yes"` for true, `"5"` for 5, a list for text.

    >>> mistyped({"triggered": True, "rating": 5, "reason": "seen"})
    {'triggered': 'yes', 'rating': '5', 'reason': ['seen']}
    """
    if isinstance(said, Mapping):
        return {name: mistyped(value) for name, value in said.items()}
    if isinstance(said, list):
        return [mistyped(value) for value in said]
    if isinstance(said, bool):
        return "yes" if said else "no"
    return [said] if isinstance(said, str) else str(said)


def _changed(answer: Answer, said: Json) -> Answer:
    return type(answer).model_validate_json(json.dumps(said))


def _leaning(said: Json, bias: float, chance: Chance, place: str) -> Json:
    if isinstance(said, Mapping):
        return {name: _leaning(value, bias, chance, f"{place}/{name}") for name, value in said.items()}
    if isinstance(said, list):
        return [_leaning(value, bias, chance, f"{place}/{index}") for index, value in enumerate(said)]
    leans = isinstance(said, bool) and chance.draw(f"bias{place}") < math.tanh(abs(bias) / 2)
    return bias > 0 if leans else said


def _turned(said: Json, schema: Json, known: Json, chance: Chance, place: str) -> Json:
    if "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    if isinstance(said, Mapping):
        kinds = schema.get("properties", {})
        return {
            name: _turned(value, kinds.get(name, {}), known, chance, f"{place}/{name}") for name, value in said.items()
        }
    if isinstance(said, list):
        kind = schema.get("items", {})
        return [_turned(value, kind, known, chance, f"{place}/{index}") for index, value in enumerate(said)]
    others = [other for other in _choices(said, schema) if other != said]
    return chance.pick(f"wrong{place}", others) if others else said


def _choices(said: Json, schema: Json) -> list[Json]:
    if isinstance(said, bool):
        return [False, True]
    if schema.get("type") == "integer" and {"minimum", "maximum"} <= set(schema):
        return list(range(schema["minimum"], schema["maximum"] + 1))
    return list(schema.get("enum", ()))
