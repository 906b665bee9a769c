from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from lookaway.core import Case, Metric, MetricBase, Outcome, Rollout, Score, describe

ROLLOUT = Rollout(case=Case(id="room", subset="all", scene="room"), model="any", video=Path("unused.mp4"))


@dataclass(frozen=True, slots=True)
class Constant(MetricBase):
    """Always the same."""

    name = "constant"
    higher_is_better = False

    level: float = 0.5

    def measure(self, rollout, features) -> Outcome:
        return Score(self.level)


def test_a_metric_has_the_defaults_of_its_base_where_it_says_nothing():
    metric: Metric = Constant()
    assert (metric.version, metric.unit, metric.raw_unit, metric.range) == (1, "score", None, (0.0, 1.0))
    assert (metric.needs, metric.uses, metric.declines(ROLLOUT), metric.higher_is_better) == ((), (), None, False)


def test_the_lock_of_a_metric_holds_name_version_and_constants_and_nothing_of_its_base():
    assert describe(Constant()) == {"kind": "constant", "version": 1, "level": 0.5}


def test_a_metric_without_measure_cannot_be_made():
    @dataclass(frozen=True)
    class Nothing(MetricBase):
        name = "nothing"

    with pytest.raises(TypeError, match="measure"):
        Nothing()


def test_a_metric_cannot_be_changed_after_it_is_made():
    with pytest.raises(AttributeError):
        Constant().level = 1.0
