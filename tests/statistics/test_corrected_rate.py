from __future__ import annotations

import math

import numpy as np
import pytest

from lookaway.statistics.judge_confusion import CorrectedRate, HitCounts, NotCorrectable, corrected_rate


@pytest.mark.parametrize(("true", "read"), [(0.10, 0.36), (0.30, 0.48), (0.60, 0.66)])
def test_a_judge_with_good_recall_reads_far_too_much_and_is_set_right(true, read):
    assert true * 0.9 + (1 - true) * (1 - 0.7) == pytest.approx(read)
    found = corrected_rate(HitCounts(read * 1000, 1000), HitCounts(90, 100), HitCounts(70, 100))
    assert (found.observed, found.rate) == (pytest.approx(read), pytest.approx(true))
    assert found.youden == pytest.approx(0.6)
    assert found.low < true < found.high
    assert not found.is_out_of_range


def test_a_perfect_judge_is_believed():
    found = corrected_rate(HitCounts(30, 100), HitCounts(500_000, 500_000), HitCounts(500_000, 500_000))
    assert (found.rate, found.youden) == (pytest.approx(0.3), 1)
    z = 1.959963984540054
    middle, size = (30 + z**2 / 2) / (100 + z**2), 100 + z**2
    reach = z * math.sqrt(middle * (1 - middle) / size)
    assert (found.low, found.high) == (pytest.approx(middle - reach, abs=1e-4), pytest.approx(middle + reach, abs=1e-4))


def test_the_interval_is_the_delta_method_where_samples_are_large():
    read, yes, no = HitCounts(48_000, 100_000), HitCounts(9_000, 10_000), HitCounts(14_000, 20_000)
    found = corrected_rate(read, yes, no)
    variance = 0.48 * 0.52 / 100_000 + 0.3**2 * 0.9 * 0.1 / 10_000 + 0.7**2 * 0.7 * 0.3 / 20_000
    reach = 1.959963984540054 * math.sqrt(variance) / 0.6
    assert found.high - found.low == pytest.approx(2 * reach, rel=2e-3)
    assert (found.low + found.high) / 2 == pytest.approx(0.3, abs=5e-4)
    narrow = corrected_rate(read, yes, no, level=0.5)
    assert narrow.high - narrow.low == pytest.approx(2 * reach * 0.6744898 / 1.9599640, rel=2e-3)


def test_the_middle_of_the_interval_moves_as_lang_and_reiczigel_say():
    found = corrected_rate(HitCounts(20, 80), HitCounts(27, 30), HitCounts(32, 40))
    z2 = 1.959963984540054**2
    p, se, sp = (20 + z2 / 2) / (80 + z2), 28 / 32, 33 / 42
    rate = (p + sp - 1) / (se + sp - 1)
    shift = 2 * z2 * (rate * se * (1 - se) / 32 - (1 - rate) * sp * (1 - sp) / 42)
    assert (found.low + found.high) / 2 == pytest.approx(rate + shift, abs=1e-12)


def test_few_labels_make_the_interval_wider():
    widths = []
    for labels in (20, 100, 10_000):
        found = corrected_rate(HitCounts(480, 1000), HitCounts(0.9 * labels, labels), HitCounts(0.7 * labels, labels))
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > widths[2]


def test_a_rate_out_of_range_is_said_and_only_shown_cut_off():
    low = corrected_rate(HitCounts(20, 100), HitCounts(90, 100), HitCounts(70, 100))
    assert low.rate == pytest.approx(-1 / 6)
    assert low.is_out_of_range
    assert low.clipped()[:2] == (0, 0)
    assert 0 <= low.clipped()[2] <= 1
    high = corrected_rate(HitCounts(95, 100), HitCounts(90, 100), HitCounts(70, 100))
    assert high.rate > 1
    assert high.is_out_of_range
    assert (high.clipped()[0], high.clipped()[2]) == (1, 1)


def test_turning_yes_into_no_turns_the_rate_around():
    one = corrected_rate(HitCounts(36, 100), HitCounts(45, 50), HitCounts(28, 40))
    other = corrected_rate(HitCounts(64, 100), HitCounts(28, 40), HitCounts(45, 50))
    assert other.rate == pytest.approx(1 - one.rate)
    assert (other.low, other.high) == (pytest.approx(1 - one.high), pytest.approx(1 - one.low))


@pytest.mark.parametrize(("yes", "no"), [(50, 50), (30, 60), (0, 0), (90, 10)])
def test_a_judge_no_better_than_a_coin_is_not_corrected(yes, no):
    found = corrected_rate(HitCounts(3, 10), HitCounts(yes, 100), HitCounts(no, 100))
    assert found == NotCorrectable(sensitivity=yes / 100, specificity=no / 100)
    barely = corrected_rate(
        HitCounts(3, 10),
        HitCounts(yes, 100),
        HitCounts(101 - yes, 100) if yes else HitCounts(100, 100),
    )
    assert isinstance(barely, CorrectedRate) == (yes != 0)


def test_a_judge_that_is_better_than_a_coin_by_one_label_alone_is_not_corrected():
    found = corrected_rate(HitCounts(3, 10), HitCounts(1, 1), HitCounts(1, 1000))
    assert found == NotCorrectable(sensitivity=1, specificity=0.001)


def test_counts_that_cannot_be_are_refused():
    for hits, of in [(3, 2), (-1, 2), (0, 0)]:
        with pytest.raises(ValueError, match="a total above 0, found"):
            HitCounts(hits, of)


def test_the_interval_covers_the_truth_while_that_of_the_uncorrected_rate_does_not():
    rng = np.random.default_rng(4)
    covered = naive = 0
    for _ in range(1500):
        read = rng.binomial(300, 0.2 * 0.85 + 0.8 * 0.25)
        found = corrected_rate(
            HitCounts(read, 300),
            HitCounts(rng.binomial(40, 0.85), 40),
            HitCounts(rng.binomial(60, 0.75), 60),
        )
        covered += found.low <= 0.2 <= found.high
        naive += abs(read / 300 - 0.2) < 1.96 * math.sqrt(read / 300 * (1 - read / 300) / 300)
    assert 0.93 <= covered / 1500 <= 0.97
    assert naive / 1500 < 0.01
