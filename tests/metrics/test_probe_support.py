from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.core import Feature, Reason
from lookaway.metrics.judge_metrics import ProbeSupport
from tests.metrics.two_view_scenes import rollout

NAMES = ("space.position", "space.anchors", "space.wrong", "state.action")
POLARITY = (True, True, False, True)


def measure(p_yes, metric: ProbeSupport | None = None, *, names=NAMES, polarity=POLARITY):
    p_yes = np.array(p_yes, np.float64).reshape(len(names), -1)
    arrays = {"p_yes": p_yes, "is_positive": np.array(polarity)}
    feature = Feature(arrays, {"probes": list(names)})
    return (metric or ProbeSupport()).measure(rollout(), {"probe_probabilities": feature})


def test_yes_to_what_is_right_and_no_to_what_is_wrong_scores_one():
    assert measure([1, 1, 0, 1]).value == 1


def test_no_to_what_is_right_and_yes_to_what_is_wrong_scores_nothing():
    assert measure([0, 0, 1, 0]).value == 0


def test_the_mean_is_that_of_a_calculation_by_hand():
    outcome = measure([0.9, 0.6, 0.2, 0.5])
    assert outcome.value == pytest.approx((0.9 + 0.6 + 0.8 + 0.5) / 4, abs=1e-12)
    assert [unit.name for unit in outcome.units] == list(NAMES)
    assert [unit.outcome.value for unit in outcome.units] == pytest.approx([0.9, 0.6, 0.8, 0.5])
    assert [unit.outcome.detail["p_yes"] for unit in outcome.units] == pytest.approx([0.9, 0.6, 0.2, 0.5])


def test_only_the_named_probes_count():
    metric = ProbeSupport(probes=("space.wrong", "space.position"))
    outcome = measure([0.9, 0.0, 0.2, 0.0], metric)
    assert outcome.value == pytest.approx((0.9 + 0.8) / 2)
    assert [unit.name for unit in outcome.units] == ["space.position", "space.wrong"]


def test_a_probe_that_does_not_count_does_not_matter():
    metric = ProbeSupport(probes=("space.position", "space.wrong"))
    assert measure([0.9, 0.1, 0.2, 0.3], metric).value == measure([0.9, 0.8, 0.2, 0.7], metric).value


def test_the_order_of_probes_does_not_matter():
    turned = measure([0.5, 0.2, 0.6, 0.9], names=NAMES[::-1], polarity=POLARITY[::-1])
    assert turned.value == pytest.approx(measure([0.9, 0.6, 0.2, 0.5]).value)


def test_the_median_of_repeats_counts_and_not_their_mean():
    outcome = measure([[0.1, 0.9, 0.8], [1, 1, 1], [0, 0.3, 1], [1, 1, 1]])
    assert [unit.outcome.value for unit in outcome.units] == pytest.approx([0.8, 1, 0.7, 1])
    assert outcome.detail == {"repeats": 3}


def test_a_probe_that_was_not_asked_is_missing_and_not_a_no():
    outcome = measure([1, 1, 0, 1], ProbeSupport(probes=("space.position", "hidden.return")))
    assert outcome.reason is Reason.MISSING_INPUT
    assert "hidden.return were not asked; asked: space.position" in outcome.message


def test_it_declines_no_rollout_by_its_case():
    assert ProbeSupport().declines(rollout()) is None


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_support_stays_in_its_range_and_turns_over_with_every_answer(p_yes):
    value = measure(p_yes).value
    assert 0 <= value <= 1
    assert measure([1 - p for p in p_yes]).value == pytest.approx(1 - value)
