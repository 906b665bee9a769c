"""Leaderboards: all models whose values of one metric and subset may be compared, with what is known of their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lookaway.core import Cell
from lookaway.reports.counted_values import NO_VALUES, CountedValues, Place, counted_values
from lookaway.reports.runs import SiteMetric, SiteRun
from lookaway.statistics.intervals import Proportion, proportion
from lookaway.statistics.precision import Precision, precision
from lookaway.statistics.rank_range import RankRange, rank_ranges, tie_groups
from lookaway.statistics.scene_bootstrap import SceneSums, ValueColumns, scene_sums

BASELINES = {"frozen": "a video that stands still", "perfect": "the true answer"}
"""Models of these names are there to be compared with, not to compete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One model on a board."""

    model: str
    run: str
    cell: Cell
    values: CountedValues
    precision: Precision
    coverage: Precision
    combined: Precision
    """How sure the two numbers are that a gate makes of the cell."""
    support: Proportion | None
    """Share of asked rollouts that have a score; `None` where nothing was asked."""
    ranks: RankRange | None = None
    """`None` where the value is not estimable, better has no direction, or the model does not compete."""
    tie: int | None = None
    """Number of its tie group, the best is 0."""

    @property
    def is_comparable(self) -> bool:
        """Whether it may be held against others: it rests on enough values, and they are known."""
        return self.precision.is_estimable and len(self.values.values) > 0

    @property
    def baseline(self) -> str | None:
        """What it stands for, if it is no competitor."""
        return BASELINES.get(self.cell.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """All models of a suite for one metric under one lock and one subset: the best mean first, baselines last."""

    suite: str
    metric: SiteMetric
    subset: str
    rows: tuple[Row, ...]
    is_one_of_several_locks: bool
    """Whether the site has the same metric and subset under another lock, on another board."""

    @property
    def title(self) -> str:
        """How people call it; with its lock where that tells it from another board."""
        is_said = self.subset in self.metric.name.split(".")
        name = self.metric.name if is_said else f"{self.metric.name} on {self.subset}"
        return f"{name} · lock {self.metric.lock[:8]}" if self.is_one_of_several_locks else name

    @property
    def short(self) -> str:
        """The last part of the name, for heads of narrow columns."""
        last = self.metric.name.rpartition(".")[2]
        return f"{last} · {self.metric.lock[:8]}" if self.is_one_of_several_locks else last

    @property
    def key(self) -> str:
        """What tells it from all others of the site."""
        return "\n".join((self.suite, self.metric.name, self.metric.lock, self.subset))

    @property
    def comparable(self) -> tuple[Row, ...]:
        """Those rows that can be compared, baselines included."""
        return tuple(row for row in self.rows if row.is_comparable)

    @property
    def is_gated(self) -> bool:
        """Whether a gate decided for some model which rollouts count."""
        return any(row.cell.gated for row in self.rows)


def leaderboards(runs: Sequence[SiteRun]) -> list[Leaderboard]:
    """Every board of the site: by suite, then in the order of protocols; no board holds two locks."""
    places: dict[tuple[str, str, str, str], list[Row]] = {}
    metrics: dict[tuple[str, str, str, str], SiteMetric] = {}
    twice = models_of_several_runs(runs)
    for run in runs:
        known = {metric.name: metric for metric in run.metrics}
        counted = counted_values(run)
        for cell in run.table.cells:
            metric = known[cell.metric]
            place = (run.suite, metric.name, cell.subset, metric.lock)
            metrics.setdefault(place, metric)
            row = _row(run, cell, counted, metric)
            if (run.suite, cell.model) in twice:
                row = replace(row, model=f"{cell.model} ({run.name})")
            places.setdefault(place, []).append(row)
    several = {place[:3] for place in places if sum(other[:3] == place[:3] for other in places) > 1}
    order = sorted(places, key=lambda place: place[0])  # stable: protocols keep their order
    return [
        Leaderboard(
            suite=place[0],
            metric=metrics[place],
            subset=place[2],
            rows=_ordered(places[place], metrics[place]),
            is_one_of_several_locks=place[:3] in several,
        )
        for place in order
    ]


def models_of_several_runs(runs: Sequence[SiteRun]) -> set[tuple[str, str]]:
    """Suite and model of those that more than one run has: each is then a model of its own, named with its run."""
    counts = Counter((run.suite, model) for run in runs for model in run.models)
    return {place for place, count in counts.items() if count > 1}


def _row(run: SiteRun, cell: Cell, counted: Mapping[Place, CountedValues], metric: SiteMetric) -> Row:
    # A suite may add cells of its own; nothing is known of what they rest on.
    values = counted.get(Place(cell.model, cell.metric, cell.subset), NO_VALUES)
    coverage, combined = _gate_precisions(run, cell, counted, values)
    return Row(
        model=cell.model,
        run=run.name,
        cell=cell,
        values=values,
        precision=precision(cell.estimate, values.effective, span=metric.span),
        coverage=coverage,
        combined=combined,
        support=proportion(cell.scored, cell.asked),
    )


def _gate_precisions(
    run: SiteRun, cell: Cell, counted: Mapping[Place, CountedValues], values: CountedValues
) -> tuple[Precision, Precision]:
    """How sure coverage and M-Score are; that nothing passed is as sure as the coverage."""
    if cell.gated is None:
        return precision(None, 0.0), precision(None, 0.0)
    places = [Place(cell.model, metric.name, cell.subset) for metric in run.metrics if metric.is_gate]
    judged = next((counted[place] for place in places if place in counted), NO_VALUES)
    coverage = precision(cell.gated.coverage, judged.effective)
    combined = cell.gated.combined
    is_nothing = combined is not None and combined.scored == 0
    return coverage, coverage if is_nothing else precision(combined, values.effective)


def _ordered(rows: Sequence[Row], metric: SiteMetric) -> tuple[Row, ...]:
    """Competitors with ranks from the best to the worst, those that have none, then baselines in the same order."""
    competing = [row for row in rows if not row.baseline]
    others = [replace(row, ranks=None, tie=None) for row in _ranked([row for row in rows if row.baseline], metric)]
    return (*_ranked(competing, metric), *others)


def _ranked(rows: Sequence[Row], metric: SiteMetric) -> tuple[Row, ...]:
    """Estimable ones from the best to the worst, with ranks; then those that are not, then those without any value."""
    fit = [row for row in rows if row.is_comparable]
    unfit = [row for row in rows if not row.is_comparable]
    unfit.sort(key=lambda row: (row.cell.estimate is None, row.model))
    if metric.higher_is_better is None:
        return (*sorted(fit, key=lambda row: row.model), *unfit)
    if not fit:
        return tuple(unfit)
    ranking = rank_ranges(_sums(fit), higher_is_better=metric.higher_is_better)
    ties = {place: number for number, group in enumerate(tie_groups(ranking)) for place in group}
    ranked = [replace(fit[place], ranks=ranking.ranges[place], tie=ties[place]) for place in ranking.order]
    return (*ranked, *unfit)


def _sums(rows: Sequence[Row]) -> SceneSums:
    """Of one metric: [models, scenes]."""
    scenes = sorted({scene for row in rows for scene in row.values.scenes})
    number = {scene: place for place, scene in enumerate(scenes)}
    counts = [len(row.values.values) for row in rows]
    columns = ValueColumns(
        models=np.repeat(np.arange(len(rows)), counts),
        metrics=np.zeros(sum(counts), np.int64),
        scenes=np.array([number[scene] for row in rows for scene in row.values.scenes], np.int64),
        values=np.concatenate([row.values.values for row in rows]),
    )
    return scene_sums(columns, (len(rows), 1, len(scenes))).of(slice(None), 0)
