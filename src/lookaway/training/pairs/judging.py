"""Which rollouts can be judged on an axis, and by how much one is better than another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from lookaway.core import Floats, Indices, UserError
from lookaway.store.outcome_reader import AskedMetric
from lookaway.training.pairs.axes import ACCESS, COMBINED, PreferenceAxis
from lookaway.training.pairs.run_columns import Flags, RunColumns, ScoredRollouts

ROUNDING: Final = 1e-9
"""A difference of exactly as much as counts is not lost in its last digit."""
MAX_MARGIN: Final = 1e15
"""Beyond this, differences of scores have no digits left."""
RunScores = Sequence[Mapping[str, ScoredRollouts]]
"""For each run, the scores of its metrics by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Pairs of rollouts: how much better the first one of each is."""

    margins: Floats
    """In smallest differences; negative where the second one is better."""
    is_opposed: Flags
    """Whether the first and the second one each win a part of the axis, so that neither wins."""
    is_same: Flags
    chances: Floats | None
    """Chance that the first is better, by the spread of clean clips; `None` where that is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAxis:
    """One axis with the rollouts that can be judged on it."""

    name: str
    is_asked: Flags
    """Whether it was measured at all."""
    is_judgeable: Flags
    """Whether there is a score, and memory was tested."""
    counts: Mapping[str, int]
    """Rollouts asked, scored and judgeable."""
    protocol_sha256: str
    source: str
    values: Floats = field(default_factory=lambda: np.zeros(0))
    """Higher is better, in smallest differences."""
    spread: float | None = None
    """Spread of clean clips, in smallest differences."""
    has_ties: bool = True
    has_margins: bool = True

    def compare(self, first: Indices, second: Indices) -> Compared:
        """The first of each pair against the second."""
        margins = self.values[first] - self.values[second]
        never = np.zeros(len(margins), np.bool_)
        return Compared(
            margins=margins, is_opposed=never, is_same=_is_none(margins), chances=_chances(margins, self.spread)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedAxis(JudgedAxis):
    """All axes at once: better on their mean, and on none of them worse by a smallest difference."""

    parts: Sequence[JudgedAxis] = ()

    def compare(self, first: Indices, second: Indices) -> Compared:
        """The first of each pair against the second."""
        asked = np.stack([part.is_asked[first] & part.is_asked[second] for part in self.parts])
        alike = np.stack([part.is_asked[first] == part.is_asked[second] for part in self.parts]).all(axis=0)
        found = [part.compare(first, second) for part in self.parts]
        margins = np.where(asked, np.stack([one.margins for one in found]), 0.0)
        count = np.maximum(1, asked.sum(axis=0))
        mean = margins.sum(axis=0) / count
        against = (~_is_none(margins) & (margins * np.sign(mean) <= 0)).any(axis=0)
        chances = [one.chances for one in found]
        known = [one for one in chances if one is not None]
        is_known = len(known) == len(chances)
        return Compared(
            margins=mean,
            is_opposed=against | ~alike,
            is_same=np.all(_is_none(margins), axis=0) & alike,
            chances=np.where(asked, np.stack(known), 0.0).sum(axis=0) / count if is_known else None,
        )


def judge_axis(columns: RunColumns, scores: RunScores, axis: PreferenceAxis) -> JudgedAxis:
    """An axis of one metric. A rollout that is not known to have passed every gate of its subset is not judgeable."""
    values, is_asked, is_scored, is_tested = (np.zeros(len(columns), kind) for kind in (float, bool, bool, bool))
    sign = 1.0 if axis.higher_is_better else -1.0
    for number, (run, own) in enumerate(zip(columns.runs, scores, strict=True)):
        metrics = {metric.name: metric for metric in run.metrics}
        if axis.name not in metrics:
            continue
        place, found = columns.places[number], own[axis.name]
        is_asked[place[columns.where(number, metrics[axis.name].subsets)]] = True
        _check_size(axis, found)
        scored = place[found.is_scored]
        values[scored] = sign * found.values[found.is_scored] / axis.smallest_difference
        is_scored[scored] = True
        gates = [metric for name, metric in metrics.items() if name in axis.gates]
        passed = _passed(columns, number, gates, own)
        is_tested[place[passed if axis.is_gated else np.ones(len(place), np.bool_)]] = True
    is_judgeable = is_asked & is_scored & is_tested
    return JudgedAxis(
        name=axis.name,
        is_asked=is_asked,
        is_judgeable=is_judgeable,
        counts=_counts(is_asked, is_scored & is_asked, is_judgeable),
        protocol_sha256=axis.protocol_sha256,
        source=axis.source,
        values=values,
        spread=None if axis.spread is None else axis.spread / axis.smallest_difference,
    )


def judge_access(columns: RunColumns, scores: RunScores, protocol_sha256: str) -> JudgedAxis:
    """The axis of the gates: a rollout that tested memory is better than one that is known not to have."""
    values, is_asked, is_judged = (np.zeros(len(columns), kind) for kind in (float, bool, bool))
    for number, (run, own) in enumerate(zip(columns.runs, scores, strict=True)):
        gates = [metric for metric in run.metrics if metric.is_gate]
        place = columns.places[number]
        is_about, is_unknown = (np.zeros(len(place), np.bool_) for _ in range(2))
        for gate in gates:
            here = columns.where(number, gate.subsets)
            is_about |= here
            is_unknown |= here & ~own[gate.name].is_scored
        is_asked[place[is_about]] = True
        is_judged[place[is_about & ~is_unknown]] = True
        values[place[_passed(columns, number, gates, own)]] = 1.0
    return JudgedAxis(
        name=ACCESS,
        is_asked=is_asked,
        is_judgeable=is_judged,
        counts=_counts(is_asked, is_judged, is_judged),
        protocol_sha256=protocol_sha256,
        source="metric",
        values=values,
        has_ties=False,
        has_margins=False,
    )


def combine(axes: Sequence[JudgedAxis], protocol_sha256: str) -> CombinedAxis:
    """All axes as one; a rollout must be judgeable on every axis that was measured for its case."""
    is_asked = np.any([axis.is_asked for axis in axes], axis=0)
    is_judgeable = np.all([axis.is_judgeable | ~axis.is_asked for axis in axes], axis=0) & is_asked
    return CombinedAxis(
        name=COMBINED,
        is_asked=is_asked,
        is_judgeable=is_judgeable,
        counts=_counts(is_asked, is_asked, is_judgeable),
        protocol_sha256=protocol_sha256,
        source="judge" if any(axis.source == "judge" for axis in axes) else "metric",
        parts=tuple(axes),
    )


def _check_size(axis: PreferenceAxis, found: ScoredRollouts) -> None:
    if np.abs(found.values).max(initial=0.0) > MAX_MARGIN * axis.smallest_difference:
        raise UserError(
            f"{axis.name}: a score is {MAX_MARGIN:.0e} smallest differences from 0, which cannot be measured. Delete "
            "the damaged file in outcomes; the same `lookaway eval` measures its rollouts again."
        )


def _passed(columns: RunColumns, run: int, gates: Sequence[AskedMetric], scores: Mapping[str, ScoredRollouts]) -> Flags:
    """Rollouts of a run that some gate is about, and that passed every gate that is about them."""
    is_about, is_closed = (np.zeros(len(columns.places[run]), np.bool_) for _ in range(2))
    for gate in gates:
        here = columns.where(run, gate.subsets)
        found = scores[gate.name]
        is_about |= here
        is_closed |= here & ~(found.is_scored & (found.values == 1.0))
    return is_about & ~is_closed


def _is_none(margins: Floats) -> Flags:
    """Whether a difference is too small to count."""
    found: Flags = np.abs(margins) < 1 - ROUNDING
    return found


def _counts(asked: Flags, scored: Flags, judgeable: Flags) -> dict[str, int]:
    return {
        "asked": int(np.count_nonzero(asked)),
        "scored": int(np.count_nonzero(scored)),
        "judgeable": int(np.count_nonzero(judgeable)),
    }


def _chances(margins: Floats, spread: float | None) -> Floats | None:
    """Chance that a difference of two clips is not one of two clean clips, each with this spread."""
    from scipy.special import ndtr

    if spread is None:
        return None
    if spread == 0:
        return np.where(margins == 0, 0.5, (margins > 0).astype(np.float64))
    chances: Floats = ndtr(margins / (np.sqrt(2.0) * spread))
    return chances
