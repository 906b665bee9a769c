"""That the cards in the package cover what they promise: every fault, severity, size and a frozen video."""

from __future__ import annotations

import pytest

from lookaway.calibration.card import CLEAN_LOOK, FaultResponse, MetricCard
from lookaway.calibration.run_cards import shipped_cards
from lookaway.reports.judged_guide import JUDGED, judged_cards
from lookaway.reports.metric_facts import form_of
from lookaway.world.faults import FAULTS

SEVERITIES = (0.1, 0.25, 0.5, 0.75, 1.0)
FORMS = ((192, 336, 8), (256, 448, 12))
SCENES = 20
CARDS = [card for card in shipped_cards().cards if card.look == CLEAN_LOOK]
METRICS = sorted({card.metric for card in CARDS})
ASK_A_JUDGE = {card.metric for card in judged_cards(CARDS)}


def is_tried_in_full(response: FaultResponse) -> bool:
    """Whether each severity has a score or a reason for every scene."""
    clips = {p.severity: (p.score.scored if p.score else 0) + sum(p.declined.values()) for p in response.points}
    return all(clips.get(severity, 0) >= SCENES for severity in SEVERITIES)


def best_of(metric: str, form: tuple[int, int, int]) -> MetricCard:
    """The card with the most faults; suites may bind a metric of one name in several ways."""
    own = [card for card in CARDS if card.metric == metric and form_of(card) == form]
    return max(own, key=lambda card: len(card.responses))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("metric", METRICS)
def test_every_fault_was_tried_at_five_severities_on_twenty_scenes(metric, form):
    tried = {response.fault for response in best_of(metric, form).responses if is_tried_in_full(response)}
    assert tried >= (set(FAULTS) if metric in ASK_A_JUDGE else set(FAULTS) - set(JUDGED))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("metric", METRICS)
def test_it_is_known_whether_a_frozen_video_wins(metric, form):
    verdicts = {control.name: control.verdict for control in best_of(metric, form).controls}
    assert verdicts.get("frozen") in ("wins", "loses", "declined")


def test_every_suite_has_cards():
    assert {name.split(".")[0] for name in METRICS} >= {
        "mbencha",
        "mbencht",
        "mind",
        "memobench",
        "wrbench",
        "remembered",
    }
