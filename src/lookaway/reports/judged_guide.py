"""What metrics that ask a judge find, for the guide to metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lookaway.calibration.card import MIN_SURE_AUC, FaultResponse, MetricCard
from lookaway.reports.metric_facts import FULL, Form, auc_of, form_of, is_found, won_by
from lookaway.reports.numbers import amount, markdown_table

JUDGED: Final = ("state_reset", "frozen_while_unseen")
"""Faults of an event, which pixels alone cannot decide: what should have happened is in the caption."""
FINDS, FINDS_LATE, DECLINES, MISSES = "finds", "finds only at severity 1", "declines", "misses"
"""What becomes of a fault."""


def judged_cards(cards: Sequence[MetricCard]) -> list[MetricCard]:
    """Cards with a fault of an event, by a judge that knows the truth."""
    judged = (card for card in cards if card.features == "truth" and any(r.fault in JUDGED for r in card.responses))
    return sorted(judged, key=lambda card: card.metric)


def judged_parts(judged: Sequence[MetricCard]) -> Iterator[str]:
    """What metrics that ask a judge find, at the size where most was tried and otherwise at others, if it is right."""
    if not judged:
        return
    by_form = {form: [card for card in judged if form_of(card) == form] for form in sorted(map(form_of, judged))}
    form, own = max(by_form.items(), key=lambda entry: sum(len(card.responses) for card in entry[1]))
    faults = list(dict.fromkeys(response.fault for card in own for response in card.responses))
    verdicts = {card.metric: {response.fault: _verdict(response) for response in card.responses} for card in own}
    unseen = [fault for fault in faults if all(found.get(fault) == MISSES for found in verdicts.values())]
    yield (
        f"With a judge that knows the truth, on {amount(max(card.scenes for card in own), 'scene')} with an event, at "
        f"{_size(form)}, metrics that ask one find these faults. A real judge finds at most as much; "
        "`lookaway audit-judge` measures how far it can be relied on. What is found *only at 1* is missed at severity "
        "0.5, and what a metric *declines* has no score at 1. *Won by* says how a clean clip can be shown and still "
        "score as well: frozen, looped, shuffled or backwards."
    )
    rows = [
        {"metric": f"`{metric}`", **_lists(found), "won by": _won_by(judged, metric)}
        for metric, found in verdicts.items()
    ]
    yield markdown_table(rows)
    if unseen:
        yield f"None of them finds {', '.join(f'`{fault}`' for fault in unseen)}."
    yield from (_difference(verdicts, theirs) for theirs in by_form.values() if theirs is not own)


def _verdict(response: FaultResponse) -> str:
    full = auc_of(response.at(FULL))
    if full is None:
        return DECLINES
    if is_found(response):
        return FINDS
    return FINDS_LATE if full >= MIN_SURE_AUC else MISSES


def _lists(found: Mapping[str, str]) -> dict[str, str]:
    """The faults that are found, sure ones first, and those that are declined."""
    sure = [fault for fault in found if found[fault] == FINDS]
    late = [f"{fault} (only at 1)" for fault in found if found[fault] == FINDS_LATE]
    declined = [fault for fault in found if found[fault] == DECLINES]
    return {FINDS: ", ".join(sure + late) or "-", DECLINES: ", ".join(declined) or "-"}


def _difference(verdicts: Mapping[str, Mapping[str, str]], theirs: Sequence[MetricCard]) -> str:
    """What cards of another size find otherwise, of what was tried at both."""
    changed = [
        f"`{card.metric}` {there} `{response.fault}`"
        for card in theirs
        for response in card.responses
        if (there := _verdict(response)) != verdicts.get(card.metric, {}).get(response.fault, there)
    ]
    tried = {response.fault for card in theirs for response in card.responses}
    known = {fault for found in verdicts.values() for fault in found}
    which = "" if tried >= known else f", where {len(tried)} of {amount(len(known), 'fault')} were tried,"
    rest = f"{'; '.join(changed)}. All else is the same" if changed else "they find the same"
    return f"At {_size(form_of(theirs[0]))}{which} {rest}."


def _won_by(cards: Sequence[MetricCard], metric: str) -> str:
    """Controls that score as well as clean clips at one size at least."""
    own = [card for card in cards if card.metric == metric]
    if not any(card.controls[1:] for card in own):
        return "not measured"
    return ", ".join(dict.fromkeys(name for card in own for name in won_by(card, None))) or "-"


def _size(form: Form) -> str:
    height, width, fps = form
    return f"{height}x{width} and {fps} frames per second"
