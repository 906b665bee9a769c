"""What the guide recommends, on scenes that nothing was chosen on."""

from __future__ import annotations

import pytest

from benchmarks.ship_cards import HELD_OUT_FAMILIES, held_out_cards, sideways_cards
from lookaway.calibration.card import MIN_FOUND_AUC, MIN_SURE_AUC, MetricCard
from lookaway.calibration.run_cards import shipped_cards
from lookaway.reports.judged_guide import JUDGED
from lookaway.reports.metric_facts import ATTACKS
from lookaway.reports.metric_guide import guide_cards, recommended
from lookaway.world.faults import FAULTS

DECIDED_BY_PIXELS = [fault for fault in FAULTS if fault not in JUDGED]
ON_A_TURN_ALONE = ("camera_drift", "camera_never_moves", "dragged_along")
"""Faults that are measured as angles."""


@pytest.fixture(scope="module")
def cards() -> list[MetricCard]:
    return guide_cards(shipped_cards().cards)


@pytest.fixture(scope="module")
def held_out(cards) -> dict[str, MetricCard]:
    return {card.metric: card for card in held_out_cards(cards)}


@pytest.fixture(scope="module")
def sideways(cards) -> dict[str, MetricCard]:
    return {card.metric: card for card in sideways_cards(cards)}


@pytest.mark.parametrize("fault", DECIDED_BY_PIXELS)
def test_some_recommended_metric_finds_each_fault_on_held_out_families(cards, held_out, fault):
    found = []
    for card, _ in recommended(cards, fault):
        own = held_out[card.metric]
        assert set(own.families) == set(HELD_OUT_FAMILIES)
        (response,) = (response for response in own.responses if response.fault == fault)
        found.append((response.at(1.0).auc.mean, response.at(0.5).auc.mean))
    assert any(full >= MIN_SURE_AUC and half >= MIN_FOUND_AUC for full, half in found), found


@pytest.mark.parametrize("fault", [fault for fault in DECIDED_BY_PIXELS if fault not in ON_A_TURN_ALONE])
def test_some_recommended_metric_finds_a_fault_where_the_camera_moves_sideways(cards, sideways, fault):
    found = []
    for card, _ in recommended(cards, fault):
        responses = {response.fault: response for response in sideways[card.metric].responses}
        if fault in responses:
            found.append((responses[fault].at(1.0).auc.mean, responses[fault].at(0.5).auc.mean))
    assert any(full >= MIN_SURE_AUC and half >= MIN_FOUND_AUC for full, half in found), found


@pytest.mark.parametrize("fault", ON_A_TURN_ALONE)
def test_what_is_measured_on_a_turn_alone_declines_where_the_camera_moves_sideways(cards, sideways, fault):
    assert {sideways[card.metric].floor for card, _ in recommended(cards, fault)} == {None}


def test_nothing_that_a_frozen_or_overlaid_video_wins_is_recommended(cards):
    advised = {card.metric: card for fault in DECIDED_BY_PIXELS for card, _ in recommended(cards, fault)}
    assert len(advised) >= 5
    for card in advised.values():
        verdicts = {control.name: control.verdict for control in card.controls}
        assert {verdicts[name] for name in ATTACKS} <= {"loses", "declined"}, card.metric
