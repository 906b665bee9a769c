from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.judges.judge_feature import agreement


def test_one_answer_agrees_with_nobody():
    assert agreement([True]) is None
    assert agreement([]) is None


@pytest.mark.parametrize(
    ("answers", "expected"),
    [([True, True], 1), ([True, False], 0), ([3, 3, 3, 3], 1), ([1, 2, 3], 0), ([True, True, False], 1 / 3)],
)
def test_agreement_is_the_share_of_pairs_that_say_the_same(answers, expected):
    assert agreement(answers) == pytest.approx(expected)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=12))
def test_agreement_equals_the_count_of_pairs_written_out(answers):
    pairs = list(combinations(answers, 2))
    assert agreement(answers) == pytest.approx(sum(one == other for one, other in pairs) / len(pairs))


@given(st.lists(st.booleans(), min_size=2, max_size=9), st.randoms())
def test_the_order_of_repeats_does_not_matter(answers, random):
    shuffled = random.sample(answers, len(answers))
    assert agreement(shuffled) == agreement(answers)
