"""What is known of the metrics of a run: which way is better, and what their cards say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lookaway.calibration.card import (
    MIN_FOUND_AUC,
    MIN_SURE_AUC,
    REFERENCE,
    Control,
    DosePoint,
    FaultResponse,
    MetricCard,
)
from lookaway.core import Lock, Metric, plugins
from lookaway.engine.run import Run
from lookaway.reports.numbers import amount, fixed

MAX_NAMED = 4
"""Faults that a line names."""
Form = tuple[int, int, int]
"""Height, width and frame rate."""
WON_BY_FROZEN: Final = "won by a frozen video"
ATTACKS: Final = ("frozen", "overlay")
"""Controls that a metric must not be won by to be recommended."""
HALF, FULL = 0.5, 1.0
MIN_SPARED: Final = 0.9
"""From this share of other faults spared on, a metric that finds a fault by the way is worth naming for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFacts:
    """What the values of a metric mean."""

    unit: str
    range: tuple[float | None, float | None]
    """Least and greatest possible value."""
    higher_is_better: bool

    @property
    def span(self) -> float | None:
        """From the least to the greatest value; `None` where there are no such ends."""
        low, high = self.range
        return None if low is None or high is None else high - low


def metric_facts(run: Run) -> dict[str, MetricFacts | None]:
    """By the suite's name for each metric of the run: as the run keeps them, else as the installed metric has them.

    `None` where an older run does not keep them and the metric is not installed here.
    """
    lock = run.lock
    return {entry["name"]: _kept(entry) or _installed(lock, entry["name"]) for entry in run.about["metrics"]}


def _kept(entry: Mapping[str, Any]) -> MetricFacts | None:
    if "higher_is_better" not in entry:
        return None
    low, high = entry["range"]
    return MetricFacts(unit=entry["unit"], range=(low, high), higher_is_better=entry["higher_is_better"])


def _installed(lock: Lock, name: str) -> MetricFacts | None:
    kind = lock.entries.get("metrics", {}).get(name, {}).get("metric", {}).get("kind", name)
    if kind not in plugins.names("metrics"):
        return None
    metric: Metric = plugins.load("metrics", kind)()
    return MetricFacts(unit=metric.unit, range=metric.range, higher_is_better=metric.higher_is_better)


def card_line(card: MetricCard) -> str:
    """What a metric sees, in one line: what clean clips get, which faults it finds, and what it is fooled by."""
    if card.floor is None:
        return "no score on clean clips"
    parts = [f"clean {fixed(card.floor.score.mean, 2)}", _found(card)]
    if card.is_won_by_frozen:
        parts.append(WON_BY_FROZEN)
    if card.smallest_difference is not None and fixed(card.smallest_difference) != fixed(0.0):
        parts.append(f"differences below {fixed(card.smallest_difference)} are equal")
    return "; ".join(parts)


def card_origin(card: MetricCard, chain: str) -> str:
    """What the features of a card come from, where those of another chain would not."""
    if card.features == "truth":
        return "features from the ground truth"
    known = chain.split(", ")
    return ", ".join(part for part in card.chain.split(", ") if part not in known) or "other extractors"


def card_row(card: MetricCard) -> dict[str, str]:
    """A card as a row of a list."""
    won = {None: "not measured", True: "yes", False: "no"}[card.is_won_by_frozen]
    return {
        "metric": card.metric,
        "features": card.features,
        "size": f"{card.height}x{card.width}",
        "fps": str(card.fps),
        "scenes": str(card.scenes),
        "clean": "-" if card.floor is None else fixed(card.floor.score.mean),
        "finds": _found(card),
        "specificity": fixed(card.specificity, 2),
        "frozen wins": won,
        "smallest difference": fixed(card.smallest_difference),
    }


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


def _found(card: MetricCard) -> str:
    if not card.responses:
        return "no fault measured"
    found = sorted(card.found, key=lambda response: response.role != "must_find")
    if not found:
        return f"finds none of {amount(len(card.responses), 'fault')}"
    named = ", ".join(f"{one.fault} from {fixed(one.smallest_dose, 2)} {one.dose_unit}" for one in found[:MAX_NAMED])
    more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    return f"finds {len(found)} of {amount(len(card.responses), 'fault')}: {named}{more}"
