"""Phases, or prompt segments, as stretches of time."""

from __future__ import annotations

from dataclasses import dataclass

from lookaway.core.segments import segment_bounds
from lookaway.reports.site.known_truth import known_truth
from lookaway.reports.site.takes import CaseTakes, Take

SHADES = 4
PHASES = ("visible", "disappeared", "reappeared")
"""Of the simulated world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One phase or segment."""

    name: str
    start: float
    """In seconds."""
    end: float
    shade: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BandRow:
    """The bands of all videos that share them."""

    takes: tuple[Take, ...]
    bands: tuple[Band, ...]


def band_rows(case: CaseTakes) -> list[BandRow]:
    """Bands by the videos that share them, those of most videos first; none where nothing is known."""
    shared: dict[tuple[Band, ...], list[Take]] = {}
    for take in case.takes:
        bands = _bands(case, take)
        if bands:
            shared.setdefault(bands, []).append(take)
    ordered = sorted(shared.items(), key=lambda entry: -len(entry[1]))
    return [BandRow(takes=tuple(takes), bands=bands) for bands, takes in ordered]


def _bands(case: CaseTakes, take: Take) -> tuple[Band, ...]:
    if take.clip is None or take.described is None:
        return ()
    count, times = take.clip.frame_count, take.clip.times
    stretches = dict(take.described.phases) or _true_phases(take) or _segments(case, count)
    found = []
    for number, (name, (start, end)) in enumerate(stretches.items()):
        start, end = (min(max(frame, 0), count) for frame in (start, end))
        if start < end:
            found.append(Band(name=name, start=times[start], end=times[end], shade=number % SHADES))
    return tuple(found)


def _true_phases(take: Take) -> dict[str, tuple[int, int]]:
    truth = known_truth(take)
    return {name: getattr(truth.card.phases, name) for name in PHASES} if truth else {}


def _segments(case: CaseTakes, count: int) -> dict[str, tuple[int, int]]:
    """Of the prompt; one that goes on for the whole video divides nothing."""
    segments = len(case.case.prompt) if case.case else 0
    if segments < 2:
        return {}
    return {f"segment {number}": bound for number, bound in enumerate(segment_bounds(count, segments), start=1)}
