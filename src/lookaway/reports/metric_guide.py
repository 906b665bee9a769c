"""Which metric should I use? A guide that is made of cards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from lookaway.calibration.card import CLEAN_LOOK, MIN_FOUND_AUC, MIN_SURE_AUC, FaultResponse, MetricCard
from lookaway.core import plugins
from lookaway.io.files import write_whole
from lookaway.reports.charts.card_matrix import card_matrix
from lookaway.reports.judged_guide import JUDGED, judged_cards, judged_parts
from lookaway.reports.metric_facts import (
    FULL,
    HALF,
    Form,
    auc_of,
    form_name,
    form_of,
    is_found,
    is_recommended,
    is_specific,
    response_to,
    two_aucs,
    won_by,
)
from lookaway.reports.numbers import amount, fixed, markdown_table, signed

GUIDE, MATRIX = "which-metric.md", "card-matrix.svg"
HELD_OUT: Final = "held-out families"
SIDEWAYS: Final = "sideways path"
TRUE_FEATURES: Final = "true features"
EXPLAINED: Final = {
    TRUE_FEATURES: "*true features* are those of the simulator, which leaves the metric's own share of an error",
    "generator-like look": "the *generator-like look* is soft, warped and grainy",
    HELD_OUT: "on *held-out families* no constant was chosen",
    SIDEWAYS: "on the *sideways path* the camera moves to the left and comes back, where here it turns by 60 degrees",
}
"""What the columns of other conditions mean."""
SUPPLIED: Final = "supplied_poses"
TITLE: Final = "What each metric finds, from pixels"
REFERENCE_VIDEO: Final = "a reference video"
NEEDS: Final = {
    "commanded_poses": "the commanded path",
    "frame_fidelity": REFERENCE_VIDEO,
    "luma_fidelity": REFERENCE_VIDEO,
    "phases": "when the target is in view",
    "reference_poses": "poses of the reference",
    "requested_poses": "the requested path",
    "true_reference_poses": "poses of the reference",
    "true_requested_poses": "the requested path",
}
"""What an extractor needs beside the video, in words; the others need nothing."""
BELOW: Final = {"revisit_changes": ("tracked_poses",), "sift_matches": ("tracked_poses",)}
"""Extractors that others ask for what they found."""
FIGURES: Final = ("seconds a frame", "true features", "smallest", "others spared")
"""Columns of numbers."""


def write_guide(
    folder: Path,
    cards: Sequence[MetricCard],
    pictures: Path | None = None,
    link: str = MATRIX,
    others: Mapping[str, Sequence[MetricCard]] | None = None,
) -> None:
    """Write the guide, and the matrix into `pictures`, by default beside it; `link` is how the guide refers to it.

    `others` are cards of the same metrics from other scenes, by the title of their column.
    """
    chosen = guide_cards(cards)
    if not chosen:
        return
    drawing = f"{card_matrix(chosen, TITLE, _true_cards(cards, chosen))}\n"
    everywhere = {**elsewhere(cards), **{name: own for name, own in (others or {}).items() if own}}
    text = guide_markdown(chosen, link, everywhere, judged_cards(cards), truth_only_cards(cards))
    write_whole((folder if pictures is None else pictures) / MATRIX, lambda file: file.write(drawing.encode()))
    write_whole(folder / GUIDE, lambda file: file.write(text.encode()))


def guide_cards(cards: Sequence[MetricCard]) -> list[MetricCard]:
    """The cards of features as shipped that have a response, at the size and rate of which most clips were measured."""
    clips: Counter[Form] = Counter()
    for card in cards:
        clips[form_of(card)] += card.clips
    return _cards_of(cards, clips.most_common(1)[0][0]) if clips else []


def elsewhere(cards: Sequence[MetricCard]) -> dict[str, list[MetricCard]]:
    """Cards of the same metrics at other sizes and rates, with features from the truth, and of another look."""
    chosen = guide_cards(cards)
    if not chosen:
        return {}
    form = form_of(chosen[0])
    others = sorted({form_of(card) for card in cards} - {form}, reverse=True)
    found = {form_name(other): _cards_of(cards, other) for other in others}
    found[TRUE_FEATURES] = _true_cards(cards, chosen)
    for look in sorted({card.look for card in cards} - {CLEAN_LOOK}):
        found[f"{look.replace('_', '-')} look"] = _cards_of(cards, form, look=look)
    return {name: own for name, own in found.items() if own}


def truth_only_cards(cards: Sequence[MetricCard]) -> list[MetricCard]:
    """Cards of metrics that have none as shipped, since a network of theirs needs weights that no package carries."""
    chosen = guide_cards(cards)
    if not chosen:
        return []
    shown = {card.metric for card in (*chosen, *judged_cards(cards))}
    return [card for card in _cards_of(cards, form_of(chosen[0]), "truth") if card.metric not in shown]


def _true_cards(cards: Sequence[MetricCard], chosen: Sequence[MetricCard]) -> list[MetricCard]:
    """Cards with true features of the same metrics, on the frames that these compare."""
    wanted = {(card.metric, card.protocol_sha256, *form_of(card), card.look) for card in chosen}
    fitting = (card for card in cards if card.features == "truth" and card.responses)
    return [card for card in fitting if (card.metric, card.protocol_sha256, *form_of(card), card.look) in wanted]


def _cards_of(
    cards: Sequence[MetricCard], form: Form, features: str = "shipped", look: str = CLEAN_LOOK
) -> list[MetricCard]:
    """One card for each metric; where there are several, one whose poses are estimated, not supplied with the clips.

    Suites may sample the frames of one metric differently; the card that finds more faults is shown.
    """
    fitting = [card for card in cards if form_of(card) == form and (card.features, card.look) == (features, look)]
    ordered = sorted(fitting, key=lambda card: (SUPPLIED not in card.chain, len(card.found), card.chain_sha256))
    by_metric = {card.metric: card for card in ordered}
    return sorted((card for card in by_metric.values() if card.responses), key=_order)


def guide_markdown(
    cards: Sequence[MetricCard],
    link: str = MATRIX,
    others: Mapping[str, Sequence[MetricCard]] | None = None,
    judged: Sequence[MetricCard] = (),
    truth_only: Sequence[MetricCard] = (),
) -> str:
    """The guide as a page; `others` are cards of the same metrics measured elsewhere, by the title of their column.

    `judged` are cards of metrics that asked a judge about faults of an event, `truth_only` those of `truth_only_cards`.
    """
    first = cards[0]
    scenes = max(card.scenes for card in cards)
    faults = list(dict.fromkeys(response.fault for card in cards for response in card.responses))
    parts = [
        "# Which metric should I use?",
        "<!-- made from the cards that come with the package: make guide -->",
        f"What metrics find was measured on the [simulated world](simulated-world.md#what-a-metric-sees), whose clips "
        f"have known faults: {amount(scenes, 'scene')}, without a fault and [with each](#how-much-was-measured), "
        f"at {first.height}x{first.width} and {first.fps} frames per second, from encoded video, with poses "
        "estimated from the frames. The AUC is the chance that a clip with the fault scores worse than a clean one: "
        "0.5 is a coin, 1 never errs.",
        f"![What each metric finds: metrics down, faults across]({link})",
        "## By fault",
        f"A metric finds a fault if its AUC is at least {MIN_SURE_AUC} at severity 1 and, where that was measured, "
        f"{MIN_FOUND_AUC} at 0.5. It is recommended if it is also there to find it, and neither a frozen video nor the "
        "first frame laid over the others scores as well as a clean clip. Where there is none, one that reacts to "
        "little else is.",
        markdown_table([_fault_row(cards, fault) for fault in faults]),
        f"{' and '.join(f'`{name}`' for name in JUDGED)} are faults of an event: what should have happened is in the "
        "caption, so they need a [judge](judge.md).",
        *judged_parts(judged),
        *_elsewhere_parts(cards, others or {}),
        *_nuisance_parts(cards, faults),
        "## By metric",
        "*Clean* is what a perfect memory gets, with the range of 90 % of the scenes; *true features* is the same mean "
        "with poses, matches, masks and depth from the simulator, so that what differs is the extractors' share. "
        "Smaller differences between two models than the *smallest* count as equal. *Others spared* is the share of "
        "the other faults that leave the metric as it is: near 0, it says that something differs from the clean clip, "
        "whatever that is. *Needs* is what it asks for beside the video, *seconds a frame* what its extractors take on "
        "one core for a frame that they look at; metrics that share them share their time. *Won by* are controls that "
        "score as well as clean clips; one that is played backwards, in a loop or shuffled, or shows another scene, is "
        "a consistent world of its own, which only a reference or a requested path tells from the right one.",
        markdown_table([_metric_row(card) for card in cards], right=FIGURES),
        *_reference_note(cards),
        *_truth_only_parts(truth_only),
        "## How much was measured",
        markdown_table(list(_support_rows(cards, faults))),
        "",
    ]
    return "\n\n".join(parts)


def needs_of(card: MetricCard) -> str:
    """What a metric needs beside the video, in words."""
    needs = dict.fromkeys(NEEDS[name] for name in _extractors(card) if name in NEEDS)
    if not card.compares_with_reference:
        needs.pop(REFERENCE_VIDEO, None)
    return ", ".join(needs) or "nothing else"


def seconds_of(card: MetricCard) -> float:
    """Seconds of one core for a frame, by what its extractors declare."""
    return sum(float(plugins.load("extractors", name).seconds_per_frame) for name in _extractors(card))


def _extractors(card: MetricCard) -> list[str]:
    """Extractors of a card's chain, and those that they ask, once each."""
    named = [part.partition("=")[2] for part in card.chain.split(", ") if part]
    return list(dict.fromkeys(name for top in named for name in (top, *BELOW.get(top, ()))))


def _order(card: MetricCard) -> tuple[bool, int, str]:
    """Those that compare with the reference video last; the others by how many faults they are there to find."""
    return card.compares_with_reference, -sum(response.role == "must_find" for response in card.responses), card.metric


def _elsewhere_parts(cards: Sequence[MetricCard], others: Mapping[str, Sequence[MetricCard]]) -> Iterator[str]:
    """What becomes of the recommended metrics under other conditions."""
    if not others:
        return
    yield "## Does it hold elsewhere?"
    known = "".join(f"; {EXPLAINED[name]}" for name in others if name in EXPLAINED)
    yield f"AUC of the recommended metrics at severity 1 / 0.5, under other conditions. *Here* is as above{known}."
    faults = list(dict.fromkeys(response.fault for card in cards for response in card.responses))
    yield markdown_table(
        [
            {
                "fault": f"`{fault}`",
                "metric": f"`{card.metric}`",
                "here": two_aucs(response),
                **{name: _aucs_elsewhere(own, card.metric, fault) for name, own in others.items()},
            }
            for fault in faults
            for card, response in recommended(cards, fault)
        ]
    )


def _nuisance_parts(cards: Sequence[MetricCard], faults: Sequence[str]) -> Iterator[str]:
    """What of all that is no fault moves the recommended metrics nevertheless."""
    used = {card.metric for fault in faults for card, _ in recommended(cards, fault)}
    changed = [card for card in cards if card.metric in used and card.nuisances]
    if not changed:
        return
    names = sorted({nuisance.name for card in changed for nuisance in card.nuisances})
    yield "## What should not move it"
    yield (
        f"Clean clips were changed in {amount(len(names), 'way')} that no memory is to blame for: "
        f"{', '.join(f'`{name}`' for name in names)}. *Moved by* are those that change the mean by more than the "
        "smallest difference between two models, with the change; *declined* counts clips that then have no score."
    )
    yield markdown_table([_nuisance_row(card) for card in changed], right=("unmoved",))


def _nuisance_row(card: MetricCard) -> dict[str, str]:
    least = card.smallest_difference or 0.0
    changes = {nuisance.name: nuisance.change.mean for nuisance in card.nuisances if nuisance.change is not None}
    moved = {
        name: change for name, change in changes.items() if abs(change) > least and fixed(abs(change)) != fixed(0.0)
    }
    declined = {n.name: sum(n.declined.values()) for n in card.nuisances if n.declined}
    by_size = sorted(moved, key=lambda name: -abs(moved[name]))
    return {
        "metric": f"`{card.metric}`",
        "unmoved": f"{len(changes) - len(moved)} of {len(changes)}",
        "moved by": ", ".join(f"`{name}` ({signed(moved[name])})" for name in by_size) or "-",
        "declined": ", ".join(f"`{name}` {count}" for name, count in declined.items()) or "-",
    }


def recommended(cards: Sequence[MetricCard], fault: str) -> list[tuple[MetricCard, FaultResponse]]:
    """The metrics to use for a fault: those that are there to find it, or else those that react to little else."""
    own = [(card, response) for card in cards for response in card.responses if response.fault == fault]
    return [entry for entry in own if is_recommended(*entry)] or [entry for entry in own if is_specific(*entry)]


def _aucs_elsewhere(cards: Sequence[MetricCard], metric: str, fault: str) -> str:
    if any(card.metric == metric and card.floor is None for card in cards):
        return "declines"
    return two_aucs(response_to(cards, metric, fault))


def _fault_row(cards: Sequence[MetricCard], fault: str) -> dict[str, str]:
    own = [(card, response) for card in cards for response in card.responses if response.fault == fault]
    best = recommended(cards, fault)
    others = [
        card.metric
        for card, response in own
        if is_found(response) and (card, response) not in best and not card.compares_with_reference
    ]
    return {
        "fault": f"`{fault}`",
        "recommended": "<br>".join(_figures(card, response) for card, response in best) or "-",
        "also react": ", ".join(f"`{name}`" for name in others) or "-",
    }


def _figures(card: MetricCard, response: FaultResponse) -> str:
    full, half = auc_of(response.at(FULL)), auc_of(response.at(HALF))
    halved = "" if half is None else f", {fixed(half, 2)} at 0.5"
    dose = f", from {fixed(response.smallest_dose, 2)} {response.dose_unit}" if response.smallest_dose else ""
    return f"`{card.metric}`: {fixed(full, 2)} at 1{halved}{dose}"


def _metric_row(card: MetricCard) -> dict[str, str]:
    floor = card.floor
    missed = [r.fault for r in card.responses if r.role == "must_find" and not is_found(r)]
    clean = "-" if floor is None else f"{fixed(floor.score.mean)} ({fixed(floor.p5)} to {fixed(floor.p95)})"
    found = [r.fault for r in card.responses if is_found(r)]
    return {
        "metric": f"`{card.metric}`",
        "needs": needs_of(card),
        "seconds a frame": f"{seconds_of(card):.1g}",
        "clean": clean,
        "true features": "-" if card.truth_floor is None else fixed(card.truth_floor.score.mean),
        "smallest": "any" if card.smallest_difference == 0 else fixed(card.smallest_difference),
        "finds": ", ".join(found) or "-",
        "misses, though there to find": ", ".join(missed) or "-",
        "others spared": fixed(card.specificity, 2),
        "won by": ", ".join(won_by(card, None)) or "-",
    }


def _reference_note(cards: Sequence[MetricCard]) -> Iterator[str]:
    """A clean clip is its own reference, so that any change at all is found."""
    compared = [f"`{card.metric}`" for card in cards if card.compares_with_reference]
    if compared:
        yield (
            f"{', '.join(compared)} compare a clip with the reference video, which the clean clip equals exactly. Any "
            "change is therefore found here, even another encoding. A generated video never equals its reference, so "
            "these figures do not recommend them."
        )


def _truth_only_parts(cards: Sequence[MetricCard]) -> Iterator[str]:
    """What metrics find whose networks could not be run: only their own share of an error is known."""
    if not cards:
        return
    yield "## With true features only"
    yield (
        "These metrics ask networks whose weights no package carries. With masks, depth and poses from the simulator "
        "they find what follows; real networks add their own errors, which are not in these figures."
    )
    unknown = ("needs", "seconds a frame", "true features")
    rows = [{name: cell for name, cell in _metric_row(card).items() if name not in unknown} for card in cards]
    yield markdown_table(rows, right=[name for name in FIGURES if name not in unknown])


def _support_rows(cards: Sequence[MetricCard], faults: Sequence[str]) -> Iterator[dict[str, str]]:
    """How many scenes each fault has at each severity, from the metric with the most of them."""
    severities = sorted({p.severity for card in cards for response in card.responses for p in response.points})
    for fault in faults:
        own = [response for card in cards for response in card.responses if response.fault == fault]
        row = {"fault": f"`{fault}`"}
        for severity in severities:
            points = [point for response in own if (point := response.at(severity)) is not None]
            clips = max((point.score.scenes for point in points if point.score is not None), default=0)
            row[f"scenes at {severity:g}"] = f"{clips}"
        yield row
