"""That the cards in the package cover what they promise: every fault, severity, size and a frozen video."""

from __future__ import annotations

import pytest

from lookaway.calibration.card import CLEAN_LOOK, FaultResponse, MetricCard, bound_chain, bound_protocol
from lookaway.calibration.run_cards import shipped_cards
from lookaway.engine.reading import load_suite
from lookaway.reports.judged_guide import JUDGED, judged_cards
from lookaway.reports.metric_facts import form_of
from lookaway.world.faults import FAULTS

SEVERITIES = (0.1, 0.25, 0.5, 0.75, 1.0)
FORMS = ((192, 336, 8), (256, 448, 12))
SCENES = 20
SHIPPED = [card for card in shipped_cards().cards if card.look == CLEAN_LOOK]
CARDS = [card for card in SHIPPED if card.responses]
STILL_ALONE = [card for card in SHIPPED if not card.responses and card.features != "truth"]
"""Tried on a frozen video and on nothing else."""
PUBLISHED_SUITES = ("mbench-a", "mbench-t", "memobench", "mind", "wrbench")
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


def test_published_names_alone_have_cards_without_a_fault():
    published = {
        bound.name
        for suite in PUBLISHED_SUITES
        for bound in load_suite(suite).metrics({})
        if bound.protocol == "published"
    }
    assert {card.metric for card in STILL_ALONE if card.features == "shipped"} <= published


def test_every_card_without_a_fault_says_whether_a_frozen_video_wins():
    verdicts = {card.metric: {c.name: c.verdict for c in card.controls}["frozen"] for card in STILL_ALONE}
    assert set(verdicts.values()) == {"wins", "loses"}, verdicts


def test_with_random_weights_a_frozen_video_has_the_best_score_there_is():
    of_random = [card for card in SHIPPED if card.features == "random"]
    assert of_random
    for card in of_random:
        frozen = {control.name: control for control in card.controls}["frozen"]
        assert card.is_won_by_frozen
        assert frozen.gain.mean > 0
        assert frozen.score.mean == pytest.approx(card.range[1] if card.higher_is_better else card.range[0], abs=1e-3)


def test_of_published_consistency_these_were_not_tried_on_a_frozen_video():
    cards, untried = shipped_cards(), set()
    for suite in PUBLISHED_SUITES:
        for bound in load_suite(suite).metrics({}):
            if bound.is_consistency and not bound.is_gate and bound.protocol in ("published", "both"):
                won = cards.is_won_by_frozen(bound_chain(bound)[1], bound_protocol(bound))
                untried |= {bound.name} if won is None else set()
    assert untried == {
        "mbencht.causal.progress_correctness",
        "mbencht.causal.prompt_interaction",
        "mbencht.causal.state_progress",
        "memobench.all.lpips",
        "memobench.disappeared.lpips",
        "memobench.gt_revisit_similarity",
        "memobench.motion_smoothness",
        "memobench.reappeared.lpips",
        "mind.gsc.psnr",
        "wrbench.d5.returned_spatial",
        "wrbench.d6.returned_state",
    }
