from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from lookaway.core import Feature
from lookaway.core.visits import why_not_reobserved
from lookaway.metrics.gates import Reobserved
from tests.metrics.two_view_scenes import rollout


def seen(pattern: str) -> list[bool]:
    return [mark == "y" for mark in pattern]


def measure(*repeats: str, first_second: int = 0):
    judgeable = np.array([seen(pattern) for pattern in repeats], np.bool_).T
    seconds = np.arange(len(judgeable)) + first_second
    return Reobserved().measure(rollout(), {"reobservation": Feature({"judgeable": judgeable, "seconds": seconds})})


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("ynnyy", None),
        ("nynny", None),
        ("yyyny", None),
        ("yny", None),
        ("yyyyy", "no_oov"),
        ("y", "no_oov"),
        ("", "no_oov"),
        ("ynnnn", "no_return"),
        ("yn", "no_return"),
        ("nyyn", "no_return"),
        ("nnyyy", "no_initial_judgeable"),
        ("ny", "no_initial_judgeable"),
        ("n", "no_initial_judgeable"),
        ("nnnn", "no_initial_judgeable"),
    ],
)
def test_seen_lost_and_seen_again_is_told_from_what_lacks_one_of_them(pattern, reason):
    assert why_not_reobserved(seen(pattern)) == reason
    if pattern:
        outcome = measure(pattern)
        assert (outcome.value, outcome.detail["reason"]) == (float(reason is None), reason)


@pytest.mark.parametrize("length", range(8))
def test_the_rule_equals_a_search_for_three_seconds_in_order(length):
    for pattern in product([True, False], repeat=length):
        found = any(
            pattern[first] and not pattern[lost] and pattern[again]
            for again in range(length)
            for lost in range(again)
            for first in range(lost)
        )
        assert (why_not_reobserved(pattern) is None) == found, pattern


def test_the_hidden_seconds_are_listed_by_their_numbers():
    assert measure("ynny", first_second=3).detail["hidden_seconds"] == [4, 5]


@pytest.mark.parametrize("length", [1, 3])
def test_how_long_it_is_lost_and_how_often_does_not_matter(length):
    assert measure("y" + "n" * length + "y").value == measure("ynyny").value == 1


def test_more_than_half_of_the_repeats_decide():
    assert measure("yny", "yny", "yyy").value == 1
    assert measure("yny", "yyy", "yyy").detail == {"reason": "no_oov", "hidden_seconds": []}


def test_a_tie_is_not_judgeable():
    assert measure("yyy", "yny").value == 1
    assert measure("yny", "ynn").detail == {"reason": "no_return", "hidden_seconds": [1, 2]}


def test_it_declines_no_rollout_by_its_case():
    assert Reobserved().declines(rollout()) is None
