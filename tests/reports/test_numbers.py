from __future__ import annotations

import pytest

from lookaway.core import Cell, Estimate
from lookaway.reports.numbers import counts, duration, estimate_interval, fixed, size


def cell(low: float | None, high: float | None) -> Cell:
    estimate = Estimate(mean=0.5, low=low, high=high, scored=2, scenes=2)
    return Cell(model="m", metric="x", subset="s", estimate=estimate, raw_mean=None, asked=2, failures=0, reasons={})


def test_an_interval_is_rounded_only_when_it_is_shown():
    assert estimate_interval(cell(0.12345, 0.98765).estimate) == "[0.123, 0.988]"


@pytest.mark.parametrize(
    ("scenes", "means", "shown"),
    [
        (1, (0.5,), "one scene"),
        (3, (0.25, 0.5, 0.75), "scenes 0.250 0.500 0.750"),
        (40, (0.5,), "all 40 scenes 0.500"),
        (3, (), "-"),
    ],
)
def test_without_an_interval_the_means_of_scenes_are_shown_where_they_are_known(scenes, means, shown):
    estimate = Estimate(mean=0.5, low=None, high=None, scored=40, scenes=scenes, scene_means=means)
    assert estimate_interval(estimate) == shown
    assert estimate_interval(None) == "-"


@pytest.mark.parametrize(("value", "shown"), [(None, "-"), (0.0, "0.000"), (-1.5, "-1.500"), (0.0005, "0.001")])
def test_a_number_has_three_digits(value, shown):
    assert fixed(value) == shown


def test_failures_come_before_reasons():
    assert counts({"too_short": 3, "no_target": 1}, failures=2) == "failed 2, too_short 3, no_target 1"
    assert counts({}) == ""


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (0.4, "0 s"), (89, "89 s"), (90, "1.5 min"), (5399, "90.0 min"), (7200, "2.0 h"), (86_400, "1.0 d")],
)
def test_a_duration_has_the_unit_that_fits_it(seconds, shown):
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2.5e6, "2.5 MB"), (4e12, "4.0 TB"), (5e15, "5000.0 TB")],
)
def test_a_size_has_the_unit_that_fits_it(count, shown):
    assert size(count) == shown
