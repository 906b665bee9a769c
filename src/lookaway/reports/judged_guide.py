"""What metrics that ask a judge find, for the guide to metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lookaway.calibration.card import FaultResponse, MetricCard
from lookaway.reports.metric_facts import (
    FULL,
    Form,
    auc_of,
    form_name,
    form_of,
    is_found,
    response_to,
    two_aucs,
    won_by,
)
from lookaway.reports.numbers import amount, markdown_table

JUDGED: Final = ("state_reset", "frozen_while_unseen")
"""Faults of an event, which pixels alone cannot decide: what should have happened is in the caption."""


def judged_cards(cards: Sequence[MetricCard]) -> list[MetricCard]:
    """Cards with a fault of an event, by a judge that knows the truth."""
    judged = (card for card in cards if card.features == "truth" and any(r.fault in JUDGED for r in card.responses))
    return sorted(judged, key=lambda card: card.metric)


def judged_parts(judged: Sequence[MetricCard]) -> Iterator[str]:
    """What metrics that ask a judge find of an event, and of other faults, if the judge is right."""
    if not judged:
        return
    yield (
        f"With a judge that knows the truth, on {amount(max(card.scenes for card in judged), 'scene')} with an event, "
        "the AUC at severity 1 / 0.5 is as follows. A real judge finds at most as much; "
        "`lookaway audit-judge` measures how far it can be relied on. *Won by* are clean clips that are frozen, "
        "looped, shuffled or played backwards, and score as well as they do without."
    )
    by_form = {form: [card for card in judged if form_of(card) == form] for form in sorted(map(form_of, judged))}
    columns = [(f"`{fault}`, {form_name(form)}", own, fault) for fault in JUDGED for form, own in by_form.items()]
    yield markdown_table([_row(metric, columns) | {"won by": _won_by(judged, metric)} for metric in _metrics(judged)])
    form, own = max(by_form.items(), key=lambda entry: sum(len(card.responses) for card in entry[1]))
    others = [response for card in own for response in card.responses if response.fault not in JUDGED]
    faults = list(dict.fromkeys(response.fault for response in others))
    seen = [fault for fault in faults if any(_is_seen(r) for r in others if r.fault == fault)]
    if not seen:
        return
    unseen = ", ".join(f"`{fault}`" for fault in faults if fault not in seen)
    none = f" None of them finds {unseen}." if unseen else ""
    yield f"The same for other faults, at {_size(form)}; a dash stands where every clip is declined.{none}"
    columns = [(f"`{fault}`", own, fault) for fault in seen]
    yield markdown_table([_row(metric, columns) for metric in _metrics(own)])
    tried = [theirs for theirs in by_form.values() if any(r.fault in faults for c in theirs for r in c.responses)]
    yield from (_difference(own, theirs, faults) for theirs in tried if theirs is not own)


def _row(metric: str, columns: Sequence[tuple[str, Sequence[MetricCard], str]]) -> dict[str, str]:
    """A column has a title, the cards that it is about, and a fault."""
    cells = {title: two_aucs(response_to(own, metric, fault)) for title, own, fault in columns}
    return {"metric": f"`{metric}`", **cells}


def _difference(own: Sequence[MetricCard], theirs: Sequence[MetricCard], faults: Sequence[str]) -> str:
    """What cards of another size find otherwise, of the faults that both have."""
    changed = []
    for metric in _metrics(own):
        for fault in faults:
            here, there = response_to(own, metric, fault), response_to(theirs, metric, fault)
            if there is not None and two_aucs(here) != two_aucs(there):
                changed.append(f"`{metric}` has {two_aucs(there)} for `{fault}`")
    size = _size(form_of(theirs[0]))
    return f"At {size}, {'; '.join(changed)}; all else is the same." if changed else f"At {size} it is the same."


def _metrics(cards: Sequence[MetricCard]) -> list[str]:
    return list(dict.fromkeys(card.metric for card in cards))


def _won_by(cards: Sequence[MetricCard], metric: str) -> str:
    """Controls that score as well as clean clips at one size at least."""
    own = [card for card in cards if card.metric == metric]
    if not any(card.controls[1:] for card in own):
        return "not measured"
    return ", ".join(dict.fromkeys(name for card in own for name in won_by(card, None))) or "-"


def _is_seen(response: FaultResponse) -> bool:
    return is_found(response) or auc_of(response.at(FULL)) is None


def _size(form: Form) -> str:
    height, width, fps = form
    return f"{height}x{width} and {fps} frames per second"
