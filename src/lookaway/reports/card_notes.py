"""What cards say about the numbers of a table: what is equal, what a frozen video wins, and what has no card."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from lookaway.calibration.card import MetricCard
from lookaway.calibration.run_cards import RunCards
from lookaway.core import Cell
from lookaway.reports.numbers import fixed

EQUAL: Final = "≈"
"""Mark of a score that the metric cannot tell from the best."""
FROZEN_WINS: Final = "frozen wins"
UNRANKED: Final = "unranked"
"""Marks of columns by which nobody is ranked: a frozen video wins, or nobody tried."""
MAX_NAMES: Final = 5


def equal_to_best(cells: Iterable[Cell], cards: Mapping[str, MetricCard]) -> set[tuple[str, str, str]]:
    """Model, metric and subset of cells that are not the best, and that their card does not tell from it."""
    found = set()

    def table_of(cell: Cell) -> tuple[str, str]:
        return cell.metric, cell.subset

    for (metric, subset), group in groupby(sorted(cells, key=table_of), key=table_of):
        scored = [(cell.model, cell.estimate) for cell in group if cell.estimate is not None]
        if (card := cards.get(metric)) is None or not scored:
            continue
        sign = 1.0 if card.higher_is_better else -1.0
        best_model, best = max(scored, key=lambda entry: sign * entry[1].mean)
        for model, own in scored:
            scenes = min(own.scenes, best.scenes)
            if model != best_model and not card.tells_apart(own.mean - best.mean, scenes):
                found.add((model, metric, subset))
    return found


def card_notes(cards: RunCards) -> Iterator[str]:
    """One line for each metric that a frozen video wins, and one for all others that have no card, by reason."""
    won = won_by_frozen(cards)
    yield from (f"{name}: a frozen video scores as well as a perfect memory." for name in won)
    if not known_metrics(cards):
        yield f"{without_any(cards)}."
        return
    others = {name: why for name, why in cards.missing.items() if name not in won}
    if reasons := sorted(set(others.values())):
        yield "; ".join(f"{reason}: {_names_without(others, reason)}" for reason in reasons) + "."


def known_metrics(cards: RunCards) -> set[str]:
    """Metrics of which a card says something: that of the run, or another one that a frozen video wins."""
    return {*cards.found, *won_by_frozen(cards)}


def without_any(cards: RunCards) -> str:
    """What all metrics lack, where no card is about any, and what follows; `show --json` has the reason of each."""
    reasons = set(cards.missing.values())
    why = reasons.pop() if len(reasons) == 1 else "no card for any metric"
    return f"{why}: what a metric sees here is not known"


def _names_without(reasons: Mapping[str, str], reason: str) -> str:
    missing = [name for name, why in reasons.items() if why == reason]
    more = f" and {len(missing) - MAX_NAMES} more" if len(missing) > MAX_NAMES else ""
    return ", ".join(missing[:MAX_NAMES]) + more


def won_by_frozen(cards: RunCards) -> list[str]:
    """Metrics that a frozen video wins, by cards of any size and rate."""
    return [name for name, wins in cards.frozen.items() if wins]


def cards_json(cards: RunCards) -> dict[str, Any]:
    """What cards say, for programs: by metric, or why there is none."""
    won = {name: {"is_won_by_frozen": True} for name in won_by_frozen(cards)}
    found = {
        name: {
            "sha256": card.sha256,
            "smallest_difference": card.smallest_difference,
            "is_won_by_frozen": cards.frozen.get(name),
        }
        for name, card in cards.found.items()
    }
    return {**cards.missing, **won, **found}


def smallest_differences(cards: Mapping[str, MetricCard], metrics: Iterable[str]) -> str:
    """The smallest difference that each metric can show."""
    known = [(name, cards[name].smallest_difference) for name in metrics if name in cards]
    return ", ".join(f"{name} {fixed(value)}" for name, value in known if value is not None)


def column_mark(frozen_wins: bool | None, *, is_consistency: bool) -> str:
    """Why nobody is ranked by a metric; empty where models are.

    Nobody is where a frozen video wins, nor where, of a test of memory, that is not known.
    """
    if frozen_wins is None:
        return UNRANKED if is_consistency else ""
    return FROZEN_WINS if frozen_wins else ""
