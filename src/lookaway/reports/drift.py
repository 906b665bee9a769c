"""Drift: how the metrics of a run change over the frames, and their half-lives."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookaway.core import Estimate, UserError
from lookaway.engine.run import Run
from lookaway.reports.export.rows import write_file, write_row_file
from lookaway.reports.metric_facts import MetricFacts, metric_facts
from lookaway.reports.numbers import (
    MIN_DIGITS,
    digits_for,
    estimate_interval,
    fixed,
    markdown_table,
    print_json,
    print_lines,
    print_rows,
    visible,
)
from lookaway.statistics.cells import counted_groups
from lookaway.statistics.drift import (
    DriftBin,
    FrameValues,
    HalfLife,
    default_bin_width,
    drift_curve,
    half_life,
    worst_value,
)
from lookaway.store.outcome_reader import FrameUnits

MIRRORED = "MirroredFrames"
"""The kind, in a lock, of a recipe that compares frames of the way out with those of the way back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The curve of one model, metric and subset."""

    model: str
    metric: str
    subset: str
    bin_width: int
    rollouts: int
    """Rollouts with a value for any frame; each bin has its own count."""
    bins: tuple[DriftBin, ...]
    half_life: HalfLife | None
    no_half_life: str
    """Why there is no half-life; empty where there is one."""


@dataclass(frozen=True, slots=True)
class _Aim:
    """The direction and end of a metric when memory is lost."""

    metric: str
    higher_is_better: bool | None
    towards: float | None
    is_mirrored: bool
    range: tuple[float | None, float | None] = (None, None)

    @property
    def lacks(self) -> str:
        if self.higher_is_better is None:
            return "its metric is not installed here, so its direction is not known"
        return "" if self.towards is not None else f"it has no worst value; give one: --towards {self.metric}=VALUE"


def drifts(
    run: Run,
    metrics: Sequence[str] = (),
    *,
    bin_width: int | None = None,
    towards: Mapping[str, float] | None = None,
) -> list[Drift]:
    """The curves of all metrics that give every frame a value, or of those named, by metric, subset and model.

    They are over the rollouts that count in the table: those of consistency that tested memory.

    Metrics may be named by the last part of their name. All curves of a metric have the same bins. Where a way out is
    compared with the way back, the mark is the turn: the first frame on the way back is 0. `towards` says for a metric
    at which value nothing would be left; by default its worst value, or 0 for a similarity that may be negative.
    """
    known = run.metrics_with_frames()
    chosen = _named(metrics, known) if metrics else known
    if not chosen:
        raise UserError(f"{run.path}: no metric of this run has per-frame values, so there is no drift to show.")
    given = {name: value for pattern, value in (towards or {}).items() for name in _named([pattern], known)}
    locked = run.lock.entries.get("metrics", {})
    facts = metric_facts(run)
    aims = {name: _aim(name, locked.get(name, {}), facts[name], given.get(name)) for name in chosen}
    counted = _counted(run)
    return [
        drift
        for name, units in run.frames(chosen)
        for drift in _curves(aims[name], _passed(units, counted[name]), bin_width)
    ]


def _counted(run: Run) -> dict[str, set[str]]:
    """By metric, the rollouts that count: where a gate decides, those that passed it."""
    results = run.results()
    found: dict[str, set[str]] = {}
    for key, group in counted_groups(results.groups, results.table.cells).items():
        found.setdefault(key.metric, set()).update(group.rollouts)
    return found


def _passed(units: FrameUnits, counted: Collection[str]) -> FrameUnits:
    """The values of rollouts that count."""
    is_counted = np.array([rollout in counted for rollout in units.ids], np.bool_)[units.rollouts]
    return replace(
        units,
        rollouts=units.rollouts[is_counted],
        frames=units.frames[is_counted],
        values=units.values[is_counted],
    )


def _named(names: Iterable[str], known: Sequence[str]) -> list[str]:
    found: dict[str, None] = {}
    for name in names:
        matching = [entry for entry in known if entry == name or entry.endswith(f".{name}")]
        if not matching:
            raise UserError(
                f"The run has no per-frame values of a metric {name!r}. It has them for: {', '.join(known) or 'none'}."
            )
        found.update(dict.fromkeys(matching))
    return [entry for entry in known if entry in found]


def _aim(name: str, entries: Mapping[str, Any], metric: MetricFacts | None, given: float | None) -> _Aim:
    recipes = entries.get("features", {}).values()
    is_mirrored = any(recipe.get("compared", {}).get("kind") == MIRRORED for recipe in recipes)
    if metric is None:
        return _Aim(name, None, given, is_mirrored)
    usual = worst_value(metric.range, higher_is_better=metric.higher_is_better)
    return _Aim(name, metric.higher_is_better, usual if given is None else given, is_mirrored, metric.range)


def _curves(aim: _Aim, units: FrameUnits, bin_width: int | None) -> Iterator[Drift]:
    if aim.is_mirrored:
        units = _since_the_turn(units)
    if not len(units.values):
        return
    width = bin_width or default_bin_width(units.frames)
    keys = list(zip(units.subsets, units.models, strict=True))
    numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
    key_of_value = np.array([numbers[key] for key in keys], np.int64)[units.rollouts]
    for (subset, model), number in numbers.items():
        data = replace(_part(units, key_of_value == number), range=aim.range)
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


def _part(units: FrameUnits, is_selected: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> FrameValues:
    """The selected values, with only those rollouts that have any."""
    rollouts, indices = np.unique(units.rollouts[is_selected], return_inverse=True)
    return FrameValues(
        frames=units.frames[is_selected],
        values=units.values[is_selected],
        rollouts=indices,
        scenes=[units.scenes[rollout] for rollout in rollouts.tolist()],
    )


def _half_life(aim: _Aim, data: FrameValues, width: int) -> tuple[HalfLife | None, str]:
    if aim.higher_is_better is None or aim.towards is None:
        return None, aim.lacks
    life = half_life(data, width, towards=aim.towards, higher_is_better=aim.higher_is_better)
    return life, "" if life else f"it starts no better than {aim.towards}"


RIGHT = ("frames", "mean", "change", "rollouts", "scenes", "start", "towards", "half-life")
FRAMES_EXPLAINED = "change: since the first bin, of the same rollouts; frames since the mark; half-life in frames"
MARKDOWN_SIGNS = re.compile(r"([\\`*_{}\[\]()<>#+!|~&])")


def print_drifts(run: Run, found: Sequence[Drift], *, as_json: bool) -> None:
    """Every curve with its bands, then every half-life."""
    if as_json:
        print_json(drifts_json(run, found))
        return
    for drift in found:
        print_lines([title(drift)])
        print_rows(curve_rows(drift), as_json=False, right=RIGHT)
        print_lines([""])
    print_rows([half_life_row(drift) for drift in found], as_json=False, right=RIGHT)
    print_lines([FRAMES_EXPLAINED, _origin(run)])


def drifts_json(run: Run, found: Sequence[Drift]) -> dict[str, Any]:
    """The curves unrounded, for programs."""
    return {"lock_sha256": run.about["lock_sha256"], "curves": [asdict(drift) for drift in found]}


def drifts_markdown(run: Run, found: Sequence[Drift]) -> str:
    """The same tables as on the terminal; text of datasets is escaped."""
    parts = []
    for drift in found:
        parts += [f"## {_plain(title(drift))}", _markdown_table(curve_rows(drift))]
    parts += ["## Half-lives", _markdown_table([half_life_row(drift) for drift in found])]
    return "\n\n".join([*parts, FRAMES_EXPLAINED, _plain(_origin(run))]) + "\n"


def title(drift: Drift) -> str:
    """Metric, subset and model of a curve."""
    return f"{drift.metric}  {drift.subset}  {drift.model}"


def curve_rows(drift: Drift) -> list[dict[str, str]]:
    """The bins of a curve as text, all with the same number of digits."""
    digits = digits_for([entry.estimate.mean for entry in drift.bins])
    return [
        {
            "frames": f"{entry.first}-{entry.last}" if entry.last > entry.first else f"{entry.first}",
            "mean": fixed(entry.estimate.mean, digits),
            "95 %": estimate_interval(entry.estimate, digits),
            "change": fixed(entry.change.mean if entry.change else None, digits),
            "change 95 %": estimate_interval(entry.change, digits),
            "rollouts": f"{entry.estimate.scored} of {drift.rollouts}",
            "scenes": f"{entry.estimate.scenes}",
        }
        for entry in drift.bins
    ]


def half_life_row(drift: Drift) -> dict[str, str]:
    """The half-life of a curve, or why there is none."""
    life = drift.half_life
    digits = digits_for([life.start, life.towards]) if life else MIN_DIGITS
    return {
        "metric": drift.metric,
        "subset": drift.subset,
        "model": drift.model,
        "start": fixed(life.start if life else drift.bins[0].estimate.mean, digits),
        "towards": fixed(life.towards if life else None, digits),
        "half-life": _frames(life.frames, life.within) if life else "-",
        "95 %": _frames_band(life),
        "no half-life": drift.no_half_life,
    }


def _frames(frames: float | None, within: float) -> str:
    return f"> {fixed(within, 1)}" if frames is None else fixed(frames, 1)


def _frames_band(life: HalfLife | None) -> str:
    if life is None or life.interval is None:
        return "-"
    low, high = life.interval
    return f"[{_frames(low, life.within)}, {_frames(high, life.within)}]"


def _origin(run: Run) -> str:
    return f"lock {run.about['lock_sha256'][:16]}  95 % intervals clustered by scene"


def _markdown_table(rows: Sequence[dict[str, str]]) -> str:
    return markdown_table([{name: _plain(value) for name, value in row.items()} for row in rows], right=RIGHT)


def _plain(text: str) -> str:
    return MARKDOWN_SIGNS.sub(r"\\\1", visible(text))


SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "metric", "subset")),
        *((name, pa.int64()) for name in ("first_frame", "last_frame")),
        *(
            (name, pa.float64())
            for name in ("mean_frame", "mean", "low", "high", "change", "change_low", "change_high")
        ),
        *((name, pa.int64()) for name in ("rollouts", "of_rollouts", "scenes")),
        *((name, pa.float64()) for name in ("half_life", "half_life_low", "half_life_high", "within", "towards")),
    ]
)
"""The half-life of a curve is repeated in each of its rows; where it is empty, it is longer than `within`."""


def write_drifts(run: Run, found: Sequence[Drift], path: Path) -> None:
    """Write all curves; the suffix of the path selects the format."""
    match path.suffix.lower():
        case ".csv" | ".parquet":
            write_row_file(path, SCHEMA, [_row(drift, entry) for drift in found for entry in drift.bins])
        case ".md":
            write_file(path, lambda file: file.write(drifts_markdown(run, found).encode()))
        case _:
            raise UserError(f"{path}: the suffix selects the format of curves: expected .csv, .parquet or .md.")


def _row(drift: Drift, entry: DriftBin) -> dict[str, Any]:
    life = drift.half_life
    low, high = (life.interval if life else None) or (None, None)
    return {
        "model": drift.model,
        "metric": drift.metric,
        "subset": drift.subset,
        "first_frame": entry.first,
        "last_frame": entry.last,
        "mean_frame": entry.frame,
        **_columns(entry.estimate, "mean", ""),
        **_columns(entry.change, "change", "change_"),
        "rollouts": entry.estimate.scored,
        "of_rollouts": drift.rollouts,
        "scenes": entry.estimate.scenes,
        "half_life": life.frames if life else None,
        "half_life_low": low,
        "half_life_high": high,
        "within": life.within if life else None,
        "towards": life.towards if life else None,
    }


def _columns(estimate: Estimate | None, name: str, prefix: str) -> dict[str, float | None]:
    if estimate is None:
        return {name: None, f"{prefix}low": None, f"{prefix}high": None}
    return {name: estimate.mean, f"{prefix}low": estimate.low, f"{prefix}high": estimate.high}
