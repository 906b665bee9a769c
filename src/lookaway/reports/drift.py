"""How the metrics of a run change with the frames since the mark, and after how many half is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lookaway.core import Metric, UserError
from lookaway.engine.run import Run
from lookaway.reports.installed_metric import installed_metric
from lookaway.statistics.drift import DriftBin, FrameValues, drift_curve, usual_bin_width
from lookaway.statistics.half_life import HalfLife, half_life, nothing_left
from lookaway.store.outcome_reader import FrameUnits

MIRRORED = "MirroredFrames"
"""How a lock calls a recipe that compares frames of the way out with those of the way back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The curve of one model, metric and subset."""

    model: str
    metric: str
    subset: str
    bin_width: int
    rollouts: int
    """How many rollouts have a value for any frame; bins say how many of them have one there."""
    bins: tuple[DriftBin, ...]
    half_life: HalfLife | None
    no_half_life: str
    """Why there is no half-life; empty where there is one."""


@dataclass(frozen=True, slots=True)
class _Aim:
    """Where a metric goes when memory is lost."""

    metric: str
    higher_is_better: bool | None
    towards: float | None
    is_mirrored: bool

    @property
    def lacks(self) -> str:
        if self.higher_is_better is None:
            return "its metric is not installed here, so which way is worse is not known"
        return "" if self.towards is not None else f"it has no worst value; give one: --towards {self.metric}=VALUE"


def drifts(
    run: Run,
    metrics: Sequence[str] = (),
    *,
    bin_width: int | None = None,
    towards: Mapping[str, float] | None = None,
) -> list[Drift]:
    """The curves of all metrics that give every frame a value, or of those named, by metric, subset and model.

    Metrics may be named by the last part of their name. All curves of a metric have the same bins. Where a way out is
    compared with the way back, the mark is the turn: the first frame on the way back is 0. `towards` says for a metric
    at which value nothing would be left; by default its worst value, or 0 on the way there.
    """
    known = run.metrics_with_frames()
    chosen = _named(metrics, known) if metrics else known
    if not chosen:
        raise UserError(f"{run.path}: no metric of this run has values of single frames, so nothing can drift.")
    given = {name: value for said, value in (towards or {}).items() for name in _named([said], known)}
    locked = run.lock.entries.get("metrics", {})
    aims = {
        name: _aim(name, locked.get(name, {}), installed_metric(run.lock, name), given.get(name)) for name in chosen
    }
    return [drift for name, units in run.frames(chosen) for drift in _curves(aims[name], units, bin_width)]


def _named(names: Iterable[str], known: Sequence[str]) -> list[str]:
    found: dict[str, None] = {}
    for name in names:
        matching = [entry for entry in known if entry == name or entry.endswith(f".{name}")]
        if not matching:
            raise UserError(
                f"The run has no values of single frames for a metric {name!r}. "
                f"It has them for: {', '.join(known) or 'none'}."
            )
        found.update(dict.fromkeys(matching))
    return [entry for entry in known if entry in found]


def _aim(name: str, entries: Mapping[str, Any], metric: Metric | None, given: float | None) -> _Aim:
    recipes = entries.get("features", {}).values()
    is_mirrored = any(recipe.get("compared", {}).get("kind") == MIRRORED for recipe in recipes)
    if metric is None:
        return _Aim(name, None, given, is_mirrored)
    usual = nothing_left(metric.range, higher_is_better=metric.higher_is_better)
    return _Aim(name, metric.higher_is_better, usual if given is None else given, is_mirrored)


def _curves(aim: _Aim, units: FrameUnits, bin_width: int | None) -> Iterator[Drift]:
    if aim.is_mirrored:
        units = _since_the_turn(units)
    width = bin_width or usual_bin_width(units.frames)
    places = list(zip(units.subsets, units.models, strict=True))
    numbers = {place: number for number, place in enumerate(sorted(set(places)))}
    place_of_value = np.array([numbers[place] for place in places], np.int64)[units.rollouts]
    for (subset, model), number in numbers.items():
        data = _part(units, place_of_value == number)
        if not len(data.values):
            continue
        life, why_not = _half_life(aim, data, width)
        yield Drift(
            model=model,
            metric=aim.metric,
            subset=subset,
            bin_width=width,
            rollouts=len(data.scenes),
            bins=drift_curve(data, width),
            half_life=life,
            no_half_life=why_not,
        )


def _since_the_turn(units: FrameUnits) -> FrameUnits:
    """Units are named by the frame on the way out: the last of them is compared with the first on the way back."""
    last = np.zeros(len(units.models), np.int64)
    np.maximum.at(last, units.rollouts, units.frames)
    return replace(units, frames=last[units.rollouts] - units.frames)


def _part(units: FrameUnits, is_wanted: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> FrameValues:
    """The values that are wanted, of those rollouts that have any."""
    rollouts, places = np.unique(units.rollouts[is_wanted], return_inverse=True)
    return FrameValues(
        frames=units.frames[is_wanted],
        values=units.values[is_wanted],
        rollouts=places,
        scenes=[units.scenes[rollout] for rollout in rollouts.tolist()],
    )


def _half_life(aim: _Aim, data: FrameValues, width: int) -> tuple[HalfLife | None, str]:
    if aim.higher_is_better is None or aim.towards is None:
        return None, aim.lacks
    life = half_life(data, width, towards=aim.towards, higher_is_better=aim.higher_is_better)
    return life, "" if life else f"it starts no better than {aim.towards}"
