from __future__ import annotations

import json
import random
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.core import Lock, Reason, canonical_json, describe, digest

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)
MAPPINGS = st.dictionaries(TEXT, VALUES, max_size=4)


@dataclass(frozen=True)
class Recipe:
    height: int
    scales: tuple[float, ...] = (1.0,)


@dataclass(frozen=True)
class Named:
    name = "edges"
    version = 3
    recipe: Recipe = Recipe(480)


def shuffled(value, rng):
    """The same value with the keys of every mapping in another order."""
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(value[key], rng) for key in keys}
    return [shuffled(entry, rng) for entry in value] if isinstance(value, list) else value


@given(MAPPINGS, st.randoms(use_true_random=False))
def test_the_order_of_keys_is_irrelevant(entries, rng: random.Random):
    assert Lock(shuffled(entries, rng)).sha256 == Lock(entries).sha256


@given(VALUES)
def test_canonical_json_is_json_and_says_the_same(value):
    assert json.loads(canonical_json(value)) == value


@given(VALUES)
def test_what_is_read_back_is_spelled_the_same_again(value):
    assert canonical_json(json.loads(canonical_json(value))) == canonical_json(value)


@given(MAPPINGS, MAPPINGS)
def test_two_locks_differ_somewhere_if_and_only_if_their_hashes_differ(ours, theirs):
    assert bool(list(Lock(ours).differences(Lock(theirs)))) == (Lock(ours).sha256 != Lock(theirs).sha256)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [("a.c", 2, 3)]),
        ({"a": 1}, {"b": 2}, [("a", 1, None), ("b", None, 2)]),
        ({"a": None}, {}, [("a", None, None)]),
        ({"a": [1, 2]}, {"a": [2, 1]}, [("a", [1, 2], [2, 1])]),
        ({"a": {"b": 1}}, {"a": 1}, [("a", {"b": 1}, 1)]),
        ({"a": 1}, {"a": 1.0}, [("a", 1, 1.0)]),
        ({"a": {"b": 1}}, {"a": {"b": 1}}, []),
    ],
)
def test_differences_name_the_place_and_both_values(ours, theirs, expected):
    assert list(Lock(ours).differences(Lock(theirs))) == expected


def test_a_dataclass_is_described_with_its_name_its_version_and_all_its_fields():
    assert describe(Named()) == {
        "kind": "edges",
        "version": 3,
        "recipe": {"kind": "Recipe", "height": 480, "scales": [1.0]},
    }


def test_an_enum_is_described_by_its_value():
    assert describe(Reason.TOO_SHORT) == "too_short"
    assert type(describe(Reason.TOO_SHORT)) is str


class Colour(Enum):
    RED = ("red", 1)


def test_the_value_of_an_enum_may_have_parts():
    assert describe({"colour": Colour.RED}) == {"colour": ["red", 1]}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "finite numbers only, found nan"),
        (float("inf"), "finite numbers only, found inf"),
        ({1: "one"}, "keys of a lock are text, found 1"),
        (Path("weights.bin"), "PosixPath cannot be locked: use frozen dataclasses"),
        (np.zeros(3), "ndarray cannot be locked"),
        (np.int64(3), "int64 cannot be locked"),
        ({"red", "green"}, "set cannot be locked"),
        (lambda frame: frame, "function cannot be locked"),
        (Recipe, "type cannot be locked"),
        (Recipe(480, scales=({3},)), "set cannot be locked"),
    ],
)
def test_what_has_no_one_spelling_is_refused_with_a_message(value, message):
    with pytest.raises(TypeError, match=message):
        describe(value)


def test_canonical_json_refuses_nan():
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json({"tau": float("nan")})


def test_the_digest_is_the_hash_of_the_spelling():
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
