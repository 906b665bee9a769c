from __future__ import annotations

from benchmarks.environments import differences


def row(value: float | None, raw: float | None = None, reason: str | None = None) -> dict[str, object]:
    return {"value": value, "raw": raw, "reason": reason}


def test_the_greatest_difference_of_a_clip_is_found_for_each_metric():
    usual = {("a", "m"): row(0.5, 10.0), ("b", "m"): row(0.5, 10.0), ("a", "n"): row(0.1)}
    other = {("a", "m"): row(0.4, 10.5), ("b", "m"): row(0.8, 9.0), ("a", "n"): row(0.1)}
    found = differences(usual, other)
    assert round(found["m"]["value"], 12) == 0.3
    assert (found["m"]["raw"], found["m"]["clips"]) == (1.0, 2)
    assert (found["n"]["value"], found["n"]["changed"]) == (0.0, 0)


def test_a_score_that_became_an_abstention_is_counted_and_moves_nothing():
    found = differences({("a", "m"): row(0.5)}, {("a", "m"): row(None, reason="too_few_matches")})
    assert found == {"m": {"value": 0.0, "raw": 0.0, "clips": 0, "changed": 1}}
