"""Which cards hold for the numbers of a run: those of the same metric, extractors, size and frame rate."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from lookaway.calibration.card import CardSet, MetricCard, chain_of, parse_cards, protocol_of
from lookaway.core import DamagedFile, VideoError
from lookaway.engine.run import Run
from lookaway.io.files import parse_json
from lookaway.io.video import Video
from lookaway.store.run_folder import RunFolder

SHIPPED: Final = resources.files("lookaway.calibration") / "shipped" / "cards.json.gz"
"""The cards that come with this package."""
REINSTALL: Final = "Install lookaway again."

Form = tuple[tuple[int, int], int]
"""Height and width, and frames per second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCards:
    """The card of each metric of a run, or why it has none; gates have neither."""

    found: Mapping[str, MetricCard] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    frozen: Mapping[str, bool] = field(default_factory=dict)
    """Whether a frozen video wins a metric, by its cards of any size and rate; without an entry where none tried."""


@cache
def shipped_cards() -> CardSet:
    """The cards that come with this package; a `DamagedFile` if one is not as it was written."""
    packed = SHIPPED.read_bytes()
    try:
        content = gzip.decompress(packed).decode()
    except (EOFError, OSError, UnicodeDecodeError, zlib.error) as error:
        raise DamagedFile(f"{SHIPPED}: the cards cannot be unpacked ({error}). {REINSTALL}") from error
    return parse_cards(parse_json(content, str(SHIPPED)), str(SHIPPED), REINSTALL)


def cards_of(run: Run, cards: CardSet | None = None) -> RunCards:
    """The cards that the lock of a run names; where it names none, those that fit its videos."""
    cards = shipped_cards() if cards is None else cards
    lock = run.lock
    entries: Mapping[str, Any] = lock.entries.get("metrics", {})
    asked = [metric.name for metric in run.metrics if not metric.is_gate and metric.name in entries]
    if lock.cards is None:
        form = _form(run)
        results = {name: _fitting(cards, name, entries[name], form) for name in asked}
    else:
        known = {card.sha256: card for card in cards.cards}
        results = {name: _named(cards, known, name, entries[name], lock.cards.get(name)) for name in asked}
    return RunCards(
        found={name: card for name, card in results.items() if isinstance(card, MetricCard)},
        missing={name: why for name, why in results.items() if isinstance(why, str)},
        frozen={name: won for name in asked if (won := _frozen_wins(cards, entries[name], results[name])) is not None},
    )


def _frozen_wins(cards: CardSet, entries: Mapping[str, Any], found: MetricCard | str) -> bool | None:
    """What the card says or, where it does not, other cards of the metric."""
    own = found.is_won_by_frozen if isinstance(found, MetricCard) else None
    return cards.is_won_by_frozen(chain_of(entries)[1], protocol_of(entries)) if own is None else own


def record_cards(run: Run) -> None:
    """Write the hash of the card of each metric beside the lock; nothing is measured again where a card changes."""
    folder = RunFolder(run.path)
    entries: Mapping[str, Any] = run.lock.entries.get("metrics", {})
    form, cards = _form(run), shipped_cards()
    fitting = {name: _fitting(cards, name, own, form) for name, own in entries.items()}
    folder.add_cards({name: card.sha256 for name, card in fitting.items() if isinstance(card, MetricCard)})


def _fitting(cards: CardSet, name: str, entries: Mapping[str, Any], form: Form | None) -> MetricCard | str:
    chain = chain_of(entries)[1]
    return cards.why_none(name, chain) if form is None else cards.find(name, chain, *form)


def _named(
    cards: CardSet, known: Mapping[str, MetricCard], name: str, entries: Mapping[str, Any], sha256: str | None
) -> MetricCard | str:
    if sha256 is None:
        return cards.why_none(name, chain_of(entries)[1])
    return known.get(sha256, f"card {sha256[:12]} is of another version")


def _form(run: Run) -> Form | None:
    """Size and rate of the first video of each model; `None` where they differ, or no video can be read."""
    rollouts = RunFolder(run.path).rollouts(["model", "video"]).to_pydict()
    firsts: dict[str, str] = {}
    for model, video in zip(rollouts["model"], rollouts["video"], strict=True):
        firsts.setdefault(model, video)
    forms = {form for video in firsts.values() if (form := _form_of(Path(video)))}
    return forms.pop() if len(forms) == 1 else None


def _form_of(path: Path) -> Form | None:
    try:
        with Video(path) as video:
            times = video.timeline
            return None if times.fps is None else ((times.height, times.width), round(times.fps))
    except VideoError:
        return None
