"""Whether a metric finds a fault, and which controls win it, by its card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lookaway.calibration.card import MIN_FOUND_AUC, MIN_SURE_AUC, Control, DosePoint, FaultResponse, MetricCard
from lookaway.calibration.measured_card import REFERENCE
from lookaway.reports.numbers import fixed

Form = tuple[int, int, int]
"""Height, width and frame rate."""
ATTACKS: Final = ("frozen", "overlay")
"""Controls that a metric must not be won by to be recommended."""
HALF, FULL = 0.5, 1.0
MIN_SPARED: Final = 0.9
"""From this share of other faults spared on, a metric that finds a fault by the way is worth naming for it."""


def form_of(card: MetricCard) -> Form:
    """Height, width and frame rate of the clips of a card."""
    return card.height, card.width, card.fps


def form_name(form: Form) -> str:
    """A form as the title of a column."""
    height, width, fps = form
    return f"{height}x{width} at {fps}"


def auc_of(point: DosePoint | None) -> float | None:
    """The AUC at one severity, if one was measured."""
    return point.auc.mean if point is not None and point.auc is not None else None


def is_found(response: FaultResponse) -> bool:
    """Whether a fault is found for sure at its highest severity, and at half of it where that was measured."""
    full, half = auc_of(response.at(FULL)), auc_of(response.at(HALF))
    return full is not None and full >= MIN_SURE_AUC and (half is None or half >= MIN_FOUND_AUC)


def won_by(card: MetricCard, controls: Sequence[str] | None = ATTACKS) -> list[str]:
    """Controls that score as well as clean clips, of these or of all."""
    known = [control for control in card.controls if control.name != REFERENCE]
    return [control.name for control in known if _wins(control) and (controls is None or control.name in controls)]


def is_recommended(card: MetricCard, response: FaultResponse) -> bool:
    """Whether a metric is there to find a fault, finds it, and is not won by a video that shows no memory."""
    return response.role == "must_find" and is_found(response) and not won_by(card)


def is_specific(card: MetricCard, response: FaultResponse) -> bool:
    """Whether a metric that is not there for the fault finds it all the same, and reacts to little else."""
    spares = card.specificity is not None and card.specificity >= MIN_SPARED
    return spares and is_found(response) and not won_by(card) and not card.compares_with_reference


def response_to(cards: Sequence[MetricCard], metric: str, fault: str) -> FaultResponse | None:
    """What the card of a metric says of a fault, if it was tried."""
    found = (r for card in cards if card.metric == metric for r in card.responses if r.fault == fault)
    return next(found, None)


def two_aucs(response: FaultResponse | None) -> str:
    """The AUC at severity 1 and at 0.5, or a dash."""
    if response is None:
        return "-"
    full, half = auc_of(response.at(FULL)), auc_of(response.at(HALF))
    return f"{fixed(full, 2)} / {fixed(half, 2)}"


def _wins(control: Control) -> bool:
    return control.verdict == "wins"
