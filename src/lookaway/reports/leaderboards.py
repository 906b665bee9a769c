"""Leaderboards: all models whose values of one metric and subset may be compared, with ranks, ties and pairs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lookaway.core import Cell
from lookaway.reports.card_notes import column_mark
from lookaway.reports.runs import NO_VALUES, CountedValues, LoadedMetric, LoadedRun
from lookaway.statistics.cells import GroupKey
from lookaway.statistics.intervals import Proportion, proportion
from lookaway.statistics.paired_difference import CaseValues, PairedDifference, false_discovery, paired_difference
from lookaway.statistics.precision import Precision, precision
from lookaway.statistics.rank_range import RankRange, rank_ranges, tie_groups
from lookaway.statistics.scene_bootstrap import SceneSums, ValueColumns, scene_sums


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRow:
    """One model on a leaderboard."""

    model: str
    run: str
    cell: Cell
    values: CountedValues
    precision: Precision
    coverage: Precision
    combined: Precision
    """The precision of the coverage and of the combined number of a gated cell."""
    support: Proportion | None
    """Share of requested rollouts that have a score; `None` where none was requested."""
    ranks: RankRange | None = None
    """`None` where the value is not estimable or all of it untested, the direction is not known, or the model is a
    control."""
    tie: int | None = None
    """Index of its tie group; the best is 0."""
    control: str | None = None
    """What it is, where it was declared as a control."""

    @property
    def is_comparable(self) -> bool:
        """Whether it can be compared: it has enough values, they are known, and not all are of untested rollouts."""
        return self.precision.is_estimable and len(self.values.values) > 0 and not self.cell.is_untested


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """All models of a suite for one metric under one lock and one subset: the best mean first, controls last."""

    suite: str
    metric: LoadedMetric
    subset: str
    rows: tuple[LeaderboardRow, ...]
    is_one_of_several_locks: bool
    """Whether there is another leaderboard for the same metric and subset, under another lock."""
    is_of_only_subset: bool = False
    """Whether its suite has no other subset here, so that no title needs to name it."""

    @property
    def title(self) -> str:
        """Its name; with the lock where another leaderboard has the same name, and a mark where nobody is ranked."""
        has_subset = self.subset in self.metric.name.split(".")
        name = self.metric.name if has_subset or self.is_of_only_subset else f"{self.metric.name} on {self.subset}"
        return self._marked(f"{name} · lock {self.metric.lock[:8]}" if self.is_one_of_several_locks else name)

    @property
    def short(self) -> str:
        """The last part of the name, for narrow column heads, with a mark where nobody is ranked."""
        return self._marked(self._last)

    @property
    def _last(self) -> str:
        last = self.metric.name.rpartition(".")[2]
        return f"{last} · {self.metric.lock[:8]}" if self.is_one_of_several_locks else last

    @property
    def mark(self) -> str:
        """Why nobody is ranked by it; empty where models are."""
        return column_mark(self.metric.frozen_wins, is_consistency=self.metric.is_consistency)

    def _marked(self, name: str) -> str:
        return f"{name} · {self.mark}" if self.mark else name

    @property
    def key(self) -> str:
        """Unique in the site."""
        return "\n".join((self.suite, self.metric.name, self.metric.lock, self.subset))

    @property
    def comparable(self) -> tuple[LeaderboardRow, ...]:
        """The rows that can be compared, controls included."""
        return tuple(row for row in self.rows if row.is_comparable)

    @property
    def words(self) -> str:
        """The last part of the name in words."""
        return self._last.replace("_", " ")

    @property
    def has_findings(self) -> bool:
        """Whether any model has a mean, or is known to be untested."""
        return any(row.cell.estimate or row.cell.is_untested for row in self.rows)

    @property
    def is_gated(self) -> bool:
        """Whether a gate decides for any model which rollouts count."""
        return self.gate_label is not None

    @property
    def gate_label(self) -> str | None:
        """What rollouts that pass the gate are called; `None` without a gate."""
        return next((row.cell.gated.label for row in self.rows if row.cell.gated), None)


def leaderboards(runs: Sequence[LoadedRun]) -> list[Leaderboard]:
    """All leaderboards: by suite, then in protocol order; never two locks on one."""
    rows: dict[tuple[str, str, str, str], list[LeaderboardRow]] = {}
    metrics: dict[tuple[str, str, str, str], LoadedMetric] = {}
    twice = models_of_several_runs(runs)
    for run in runs:
        known = {metric.name: metric for metric in run.metrics}
        counted = run.counted()
        for cell in run.table.cells:
            metric = known[cell.metric]
            key = (run.suite, metric.name, cell.subset, metric.lock)
            metrics.setdefault(key, metric)
            row = _row(run, cell, counted, metric)
            if (run.suite, cell.model) in twice:
                row = replace(row, model=f"{cell.model} ({run.name})")
            rows.setdefault(key, []).append(row)
    several = {key[:3] for key in rows if sum(other[:3] == key[:3] for other in rows) > 1}
    subsets = {(suite, subset) for suite, _, subset, _ in rows}
    divided = {suite for suite, subset in subsets if sum(other == suite for other, _ in subsets) > 1}
    order = sorted(rows, key=lambda key: key[0])  # stable: protocols keep their order
    return [
        Leaderboard(
            suite=key[0],
            metric=metrics[key],
            subset=key[2],
            rows=_ordered(rows[key], metrics[key]),
            is_one_of_several_locks=key[:3] in several,
            is_of_only_subset=key[0] not in divided,
        )
        for key in order
    ]


HEADLINE = "remembered"
"""The metric that answers by its name, where a run has it."""


def headline(leaderboards: Sequence[Leaderboard]) -> Leaderboard | None:
    """The leaderboard that answers for a suite; `None` where no metric has a finding.

    `remembered` if there is one; else, of those that need memory, one that ranks models, the one that compares most,
    then the one with most values, then the first of the protocol. Other metrics answer only in a suite that needs no
    memory at all.
    """
    memory = [board for board in leaderboards if board.metric.is_consistency]
    found = [board for board in memory or leaderboards if board.has_findings]
    return max(
        found,
        key=lambda board: (
            board.metric.name == HEADLINE,
            board.metric.is_ranked,
            len(board.comparable),
            sum(row.cell.scored for row in board.rows),
        ),
        default=None,
    )


def all_subsets(board: Leaderboard, leaderboards: Sequence[Leaderboard]) -> list[Leaderboard]:
    """The leaderboards of the same metric under the same lock, one for each subset."""
    key = (board.suite, board.metric.name, board.metric.lock)
    return [other for other in leaderboards if (other.suite, other.metric.name, other.metric.lock) == key]


def ordered_models(leaderboards: Sequence[Leaderboard]) -> list[str]:
    """All models: by their ranks over these leaderboards, by their means where none has a rank; controls last.

    The order mixes metrics, so the numbers behind it are never printed.
    """
    rows: dict[str, list[LeaderboardRow]] = {}
    places: dict[str, list[float]] = {}
    for leaderboard in leaderboards:
        for row in leaderboard.rows:
            rows.setdefault(row.model, []).append(row)
        for model, place in _mean_order(leaderboard).items():
            places.setdefault(model, []).append(place)

    def key(model: str) -> tuple[bool, float, float, str]:
        ranks = [(row.ranks.best + row.ranks.worst) / 2 for row in rows[model] if row.ranks]
        is_control = any(row.control for row in rows[model])
        return is_control, _middle(ranks), _middle(places.get(model, ())), model

    return sorted(rows, key=key)


def _mean_order(leaderboard: Leaderboard) -> dict[str, float]:
    """The place of each model by its mean alone: where too few values give a rank, the better mean comes first."""
    if leaderboard.metric.higher_is_better is None or not leaderboard.metric.is_ranked:
        return {}
    sign = -1 if leaderboard.metric.higher_is_better else 1
    means = {row.model: sign * row.cell.estimate.mean for row in leaderboard.rows if row.cell.estimate}
    ordered = sorted(means.values())
    return {model: float(ordered.index(mean)) for model, mean in means.items()}


def _middle(places: Sequence[float]) -> float:
    return sum(places) / len(places) if places else math.inf


def models_of_several_runs(runs: Sequence[LoadedRun]) -> set[tuple[str, str]]:
    """Suite and model of those that several runs have: each counts as its own model, named with its run."""
    counts = Counter((run.suite, model) for run in runs for model in run.models)
    return {key for key, count in counts.items() if count > 1}


def _row(run: LoadedRun, cell: Cell, counted: Mapping[GroupKey, CountedValues], metric: LoadedMetric) -> LeaderboardRow:
    # A suite may add its own cells; the values behind them are not known.
    values = counted.get(GroupKey(cell.model, cell.metric, cell.subset), NO_VALUES)
    coverage, combined = _gate_precisions(run, cell, counted, values)
    return LeaderboardRow(
        model=cell.model,
        run=run.name,
        cell=cell,
        values=values,
        precision=precision(cell.estimate, values.effective, span=metric.span),
        coverage=coverage,
        combined=combined,
        support=proportion(cell.scored, cell.asked),
        control=run.controls.get(cell.model),
    )


def _gate_precisions(
    run: LoadedRun, cell: Cell, counted: Mapping[GroupKey, CountedValues], values: CountedValues
) -> tuple[Precision, Precision]:
    """The precision of coverage and M-Score; where nothing passed, both have that of the coverage."""
    if cell.gated is None:
        return precision(None, 0.0), precision(None, 0.0)
    gates = [GroupKey(cell.model, metric.name, cell.subset) for metric in run.metrics if metric.is_gate]
    judged = next((counted[gate] for gate in gates if gate in counted), NO_VALUES)
    coverage = precision(cell.gated.coverage, judged.effective)
    combined = cell.gated.combined
    is_nothing = combined is not None and combined.scored == 0
    return coverage, coverage if is_nothing else precision(combined, values.effective)


def _ordered(rows: Sequence[LeaderboardRow], metric: LoadedMetric) -> tuple[LeaderboardRow, ...]:
    """Ranked models from the best to the worst, then those without a rank, then controls in the same order."""
    competing = [row for row in rows if not row.control]
    others = [replace(row, ranks=None, tie=None) for row in _ranked([row for row in rows if row.control], metric)]
    return (*_ranked(competing, metric), *others)


def _ranked(rows: Sequence[LeaderboardRow], metric: LoadedMetric) -> tuple[LeaderboardRow, ...]:
    """Estimable rows from the best to the worst, with ranks; then the rest by their means, those without any last.

    By name, where nobody is ranked.
    """
    if not metric.is_ranked:
        return tuple(sorted(rows, key=lambda row: (row.cell.estimate is None, row.model)))
    fit = [row for row in rows if row.is_comparable]
    unfit = [row for row in rows if not row.is_comparable]
    sign = {True: -1, False: 1, None: 0}[metric.higher_is_better]
    unfit.sort(
        key=lambda row: (*((False, sign * row.cell.estimate.mean) if row.cell.estimate else (True, 0.0)), row.model)
    )
    if metric.higher_is_better is None:
        return (*sorted(fit, key=lambda row: row.model), *unfit)
    if not fit:
        return tuple(unfit)
    tells_apart = None if metric.card is None else metric.card.tells_apart
    ranking = rank_ranges(_sums(fit), higher_is_better=metric.higher_is_better, tells_apart=tells_apart)
    ties = {index: number for number, group in enumerate(tie_groups(ranking)) for index in group}
    ranked = [replace(fit[index], ranks=ranking.ranges[index], tie=ties[index]) for index in ranking.order]
    return (*ranked, *unfit)


def _sums(rows: Sequence[LeaderboardRow]) -> SceneSums:
    """[models, scenes]"""
    scenes = sorted({scene for row in rows for scene in row.values.scenes})
    indices = {scene: index for index, scene in enumerate(scenes)}
    counts = [len(row.values.values) for row in rows]
    columns = ValueColumns(
        models=np.repeat(np.arange(len(rows)), counts),
        metrics=np.zeros(sum(counts), np.int64),
        scenes=np.array([indices[scene] for row in rows for scene in row.values.scenes], np.int64),
        values=np.concatenate([row.values.values for row in rows]),
    )
    return scene_sums(columns, (len(rows), 1, len(scenes))).of(slice(None), 0)


LARGEST_Q = 0.05
"""A difference with a larger q is not significant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The first model minus the second."""

    found: PairedDifference
    q: float
    is_significant: bool
    is_below_card: bool
    """Whether the difference is smaller than the card of the metric says that it can show; it is not significant."""
    is_first_better: bool | None
    """`None` where the direction of the metric is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """All pairs of models of a leaderboard, in its order."""

    leaderboard: Leaderboard
    models: tuple[str, ...]
    pairs: Mapping[tuple[int, int], Pair | None]
    """By the indices of two models, the smaller first; `None` where no case has values of both."""
    family: int
    """How many tests the q-values account for."""

    @property
    def significant_pairs(self) -> int:
        """How many pairs differ significantly."""
        return sum(pair is not None and pair.is_significant for pair in self.pairs.values())


def matrix(leaderboard: Leaderboard) -> Matrix | None:
    """All pairs of models that can be compared; `None` where there are fewer than two."""
    rows = leaderboard.comparable
    if len(rows) < 2:
        return None
    values = [CaseValues(values=row.values.values, cases=row.values.cases, scenes=row.values.scenes) for row in rows]
    indices = [(one, other) for one in range(len(rows)) for other in range(one + 1, len(rows))]
    span = leaderboard.metric.span
    found = [paired_difference(values[one], values[other], span=span) for one, other in indices]
    q_values = false_discovery([entry.sign_flip.p if entry else None for entry in found])
    pairs = {
        pair: None if entry is None or q is None else _pair(entry, q, leaderboard.metric)
        for pair, entry, q in zip(indices, found, q_values.q, strict=True)
    }
    return Matrix(leaderboard=leaderboard, models=tuple(row.model for row in rows), pairs=pairs, family=q_values.family)


def _pair(found: PairedDifference, q: float, metric: LoadedMetric) -> Pair:
    mean, better = found.difference.mean, metric.higher_is_better
    is_below = metric.card is not None and not metric.card.tells_apart(mean, found.difference.scenes)
    return Pair(
        found=found,
        q=q,
        is_significant=q < LARGEST_Q and not is_below,
        is_below_card=is_below,
        is_first_better=None if better is None else (mean > 0) == better,
    )
