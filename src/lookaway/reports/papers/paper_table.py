"""The estimates of a run as tables for a paper: one for each subset, models by metrics, with marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Cell, Estimate
from lookaway.engine.run import Run
from lookaway.reports.counted_values import CountedValues, Place, counted_values
from lookaway.reports.metric_facts import MetricFacts, metric_facts
from lookaway.reports.numbers import digits_for
from lookaway.statistics.effective_size import effective_size
from lookaway.statistics.precision import Precision, precision
from lookaway.statistics.rank_range import rank_ranges
from lookaway.statistics.scene_sums import ValueColumns, named_scene_sums, scene_sums

EXPLAINED = (
    "95 % intervals clustered by scene, and n",
    "† imprecise: half the interval is more than a tenth of what the metric spans, or n is worth fewer than 30",
    "‡ not estimable: n is below 10; only the interval is shown",
    "bold: told apart from every other model that is estimable, all at once",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperCell:
    """A number with its mark."""

    estimate: Estimate | None
    precision: Precision
    is_best: bool = False
    """Whether it is told apart from every other estimable model, and better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperColumn:
    """One metric, or what a gate makes of it."""

    title: str
    higher_is_better: bool | None
    digits: int
    cells: tuple[PaperCell, ...]
    """One for each model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
    """All metrics of one subset."""

    subset: str
    models: tuple[str, ...]
    columns: tuple[PaperColumn, ...]


@dataclass(frozen=True, slots=True)
class _Source:
    cells: Mapping[Place, Cell]
    values: Mapping[Place, CountedValues]
    facts: Mapping[str, MetricFacts | None]
    models: tuple[str, ...]
    gates: tuple[str, ...]


def paper_tables(run: Run) -> list[PaperTable]:
    """Tables in the order of the run's own table."""
    cells = {Place(cell.model, cell.metric, cell.subset): cell for cell in run.table().cells}
    source = _Source(
        cells=cells,
        values=counted_values(run),
        facts=metric_facts(run),
        models=tuple(dict.fromkeys(place.model for place in cells)),
        gates=tuple(metric.name for metric in run.metrics if metric.is_gate),
    )
    subsets = dict.fromkeys(place.subset for place in cells)
    return [_table(source, subset) for subset in subsets]


def _table(source: _Source, subset: str) -> PaperTable:
    metrics = list(dict.fromkeys(place.metric for place in source.cells if place.subset == subset))
    models = tuple(
        model for model in source.models if any(Place(model, metric, subset) in source.cells for metric in metrics)
    )
    short = Counter(metric.rpartition(".")[2] for metric in metrics)
    columns = []
    for metric in metrics:
        title = metric.rpartition(".")[2]
        columns += _metric_columns(
            source, [Place(model, metric, subset) for model in models], title if short[title] == 1 else metric
        )
    return PaperTable(subset=subset, models=models, columns=tuple(columns))


def _metric_columns(source: _Source, places: Sequence[Place], title: str) -> list[PaperColumn]:
    fact = source.facts.get(places[0].metric)
    span, higher = (fact.span, fact.higher_is_better) if fact else (None, None)
    found = [source.cells.get(place) for place in places]
    scores = [cell.estimate if cell else None for cell in found]
    sizes = [_effective(source.values.get(place)) for place in places]
    cells = [
        PaperCell(estimate=estimate, precision=precision(estimate, size, span=span))
        for estimate, size in zip(scores, sizes, strict=True)
    ]
    best = None if higher is None else _best(source, places, cells, higher_is_better=higher)
    columns = [_column(title, higher, [_marked(cell, number == best) for number, cell in enumerate(cells)])]
    if any(cell and cell.gated for cell in found):
        columns += _gate_columns(source, places, title)
    return columns


def _gate_columns(source: _Source, places: Sequence[Place], title: str) -> list[PaperColumn]:
    """How many were put to the test, and the score and this share as one number."""
    coverages, combined = [], []
    for place in places:
        cell = source.cells.get(place)
        gated = cell.gated if cell else None
        gate = next(
            (values for name in source.gates if (values := source.values.get(place._replace(metric=name)))), None
        )
        coverage = gated.coverage if gated else None
        score = gated.combined if gated else None
        coverages.append(PaperCell(estimate=coverage, precision=precision(coverage, _effective(gate))))
        combined.append(PaperCell(estimate=score, precision=precision(score, _effective(source.values.get(place)))))
    return [_column(f"{title}: triggered", True, coverages), _column(f"{title}: M-Score", True, combined)]


def _column(title: str, higher: bool | None, cells: Sequence[PaperCell]) -> PaperColumn:
    means = [cell.estimate.mean for cell in cells if cell.estimate]
    return PaperColumn(title=title, higher_is_better=higher, digits=digits_for(means), cells=tuple(cells))


def _marked(cell: PaperCell, is_best: bool) -> PaperCell:
    return PaperCell(estimate=cell.estimate, precision=cell.precision, is_best=is_best)


def _effective(values: CountedValues | None) -> float:
    numbers, scenes = values.scored() if values else ([], [])
    return float(effective_size(named_scene_sums(np.array(numbers, np.float64), scenes)).size) if numbers else 0.0


def _best(
    source: _Source, places: Sequence[Place], cells: Sequence[PaperCell], *, higher_is_better: bool
) -> int | None:
    """The model that is told apart from all others and better, if any; those that are not estimable do not compete."""
    rivals = [number for number, cell in enumerate(cells) if cell.precision.is_estimable]
    if len(rivals) < 2:
        return None
    scored = [source.values[places[number]].scored() for number in rivals]
    scenes = {scene: code for code, scene in enumerate(sorted({name for _, names in scored for name in names}))}
    rows = ValueColumns(
        models=np.repeat(np.arange(len(rivals)), [len(values) for values, _ in scored]),
        metrics=np.zeros(sum(len(values) for values, _ in scored), np.int64),
        scenes=np.array([scenes[name] for _, names in scored for name in names], np.int64),
        values=np.array([value for values, _ in scored for value in values], np.float64),
    )
    sums = scene_sums(rows, (len(rivals), 1, len(scenes))).of(slice(None), 0)
    ranking = rank_ranges(sums, higher_is_better=higher_is_better)
    first = ranking.order[0]
    return rivals[first] if len(ranking.beats[first]) == len(rivals) - 1 else None
