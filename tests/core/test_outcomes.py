from __future__ import annotations

import math

import numpy as np
import pytest

from lookaway.core import Failure, Score


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, np.float32("nan")])
@pytest.mark.parametrize("field", ["value", "raw"])
def test_a_score_refuses_what_is_not_finite(number, field):
    with pytest.raises(ValueError, match="must be a finite number"):
        Score(**{"value": 0.5, field: number})


def test_a_score_needs_no_raw_value():
    assert Score(0.0).raw is None


def test_two_failures_of_one_kind_are_equal_wherever_they_crashed():
    assert Failure("KeyError", "poses", trace="here") == Failure("KeyError", "poses", trace="there")
