from __future__ import annotations

import pytest

from lookaway.reports.progress import WINDOW_SECONDS, Pace


def noted(*moments: tuple[float, int]) -> Pace:
    pace = Pace()
    for seconds, done in moments:
        pace.note(seconds, done)
    return pace


def test_an_even_run_is_foretold_exactly():
    pace = noted(*((10.0 + n, n) for n in range(1, 21)))
    assert pace.per_second() == pytest.approx(1.0)
    assert pace.seconds_left(100) == pytest.approx(80.0)


def test_loading_before_the_first_result_is_no_pace():
    pace = noted((0.0, 0), (600.0, 1), (602.0, 2), (604.0, 3))
    assert pace.per_second() == pytest.approx(0.5)


@pytest.mark.parametrize("moments", [(), ((0.0, 0),), ((50.0, 0), (60.0, 1))])
def test_nothing_is_foretold_from_too_little(moments):
    pace = noted(*moments)
    assert pace.per_second() is None
    assert pace.seconds_left(10) is None


def test_what_was_long_ago_does_not_count():
    slow = [(float(n), n) for n in range(1, 100)]
    fast = [(100.0 + n, 100 + 10 * n) for n in range(int(WINDOW_SECONDS) + 60)]
    pace = noted(*slow, *fast)
    assert pace.per_second() == pytest.approx(10.0, rel=0.01)


def test_rollouts_that_take_longer_than_the_window_still_have_a_pace():
    pace = noted(*((1000.0 * n, n) for n in range(1, 5)))
    assert pace.per_second() == pytest.approx(1 / 1000)


def test_a_run_that_stands_still_slows_down():
    pace = noted((1.0, 1), (2.0, 2), (3.0, 3))
    assert pace.per_second(now=4.0) == pytest.approx(1.0)
    assert pace.per_second(now=24.0) == pytest.approx(2 / 22)
    assert pace.seconds_left(10, now=24.0) > pace.seconds_left(10, now=3.0)


def test_the_time_that_is_left_goes_by():
    pace = noted((10.0, 1), (20.0, 2), (30.0, 3))
    assert pace.seconds_left(5, now=36.0) == pytest.approx(14.0)
    assert pace.seconds_left(3, now=30.0) == 0


def test_many_results_at_once_take_no_memory():
    pace = noted(*((0.001 * n, n) for n in range(1, 10_000)))
    assert len(pace._moments) <= 20
    assert pace.per_second() == pytest.approx(1000, rel=0.01)
