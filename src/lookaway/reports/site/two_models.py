"""Two models of a suite against each other, case by case, by the metric that answers for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from lookaway.core.cases import case_title
from lookaway.reports.charts.svg import extent
from lookaway.reports.charts.two_models import Dot, PlotModel, better, two_models_plot
from lookaway.reports.leaderboards import Leaderboard, all_subsets, headline
from lookaway.reports.numbers import amount
from lookaway.reports.runs import LoadedRun
from lookaway.reports.site.case_grid import CasePage

if TYPE_CHECKING:
    from markupsafe import Markup

LEAST_SHARE: Final = 0.2
"""Values that cover less of a metric's range have an axis of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseMeans:
    """One case: the mean of each model over its seeds."""

    id: str
    title: str
    href: str
    means: tuple[float | None, ...]
    """`None` where a model has no value that counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoModels:
    """The best two models that share a case as a picture, and the numbers of all."""

    metric: str
    title: str
    is_higher_better: bool
    models: tuple[PlotModel, ...]
    """Those with a value, the best first."""
    pair: tuple[int, int]
    cases: tuple[CaseMeans, ...]
    svg: Markup
    counts: str
    """On how many cases each of the two is better."""
    left_out: str
    """How many cases are not drawn, and why; empty where all are."""


def two_models(
    runs: Sequence[LoadedRun],
    leaderboards: Sequence[Leaderboard],
    pages: Mapping[str, CasePage],
    styles: Mapping[str, int],
) -> TwoModels | None:
    """The models of one suite; `None` where no two share a case, or where the direction of the metric is not known."""
    board = headline(leaderboards)
    if board is None or board.metric.higher_is_better is None:
        return None
    boards = all_subsets(board, leaderboards)
    names = _names(board, boards)
    cases = _cases(runs, boards, names, pages)
    pair = next((pair for pair in combinations(range(len(names)), 2) if _shared(cases, pair)), None)
    if pair is None:
        return None
    models = tuple(PlotModel(name=name, style=styles[name]) for name in names)
    chosen, drawn = (models[pair[0]], models[pair[1]]), _shared(cases, pair)
    is_higher_better = board.metric.higher_is_better
    counts = _counts(chosen, drawn, is_higher_better=is_higher_better)
    title = f"Case by case: {chosen[0].name} to the right, {chosen[1].name} upwards"
    return TwoModels(
        metric=board.words,
        title=board.title if len(boards) == 1 else board.metric.name,
        is_higher_better=is_higher_better,
        models=models,
        pair=pair,
        cases=tuple(cases),
        svg=two_models_plot(title, counts, chosen, drawn, _ends(board, cases), is_higher_better=is_higher_better),
        counts=counts,
        left_out=_left_out(len(cases) - len(drawn)),
    )


def _names(board: Leaderboard, boards: Sequence[Leaderboard]) -> list[str]:
    """The models with any value, the best first: as the leaderboard ranks them, then by mean; controls last."""
    values: dict[str, list[float]] = {}
    for row in (row for part in boards for row in part.rows if len(row.values.values)):
        values.setdefault(row.model, []).extend(row.values.values.tolist())
    controls = {row.model for part in boards for row in part.rows if row.control}
    ranked = [row.model for row in board.rows if row.ranks]
    sign = -1 if board.metric.higher_is_better else 1

    def key(model: str) -> tuple[bool, float, float]:
        place = ranked.index(model) if model in ranked else len(ranked)
        return model in controls, place, sign * float(np.mean(values[model]))

    return sorted(values, key=key)


def _cases(
    runs: Sequence[LoadedRun], boards: Sequence[Leaderboard], models: Sequence[str], pages: Mapping[str, CasePage]
) -> list[CaseMeans]:
    """Every case that the metric is about, also where nobody has a value."""
    subsets = {board.subset for board in boards}
    names = sorted({r.case for run in runs for r in run.rollouts.values() if r.subset in subsets})
    means = _means(boards)
    return [
        CaseMeans(
            id=name,
            title=pages[name].title if name in pages else case_title(name),
            href=pages[name].href if name in pages else "",
            means=tuple(means.get((model, name)) for model in models),
        )
        for name in names
    ]


def _means(boards: Sequence[Leaderboard]) -> dict[tuple[str, str], float]:
    """The mean over seeds by model and case."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in (row for board in boards for row in board.rows):
        for case, value in zip(row.values.cases, row.values.values.tolist(), strict=True):
            found.setdefault((row.model, case), []).append(value)
    return {key: float(np.mean(values)) for key, values in found.items()}


def _shared(cases: Sequence[CaseMeans], pair: tuple[int, int]) -> list[Dot]:
    found = []
    for case in cases:
        x, y = case.means[pair[0]], case.means[pair[1]]
        if x is not None and y is not None:
            found.append(Dot(title=case.title, href=case.href, x=x, y=y))
    return found


def _ends(board: Leaderboard, cases: Sequence[CaseMeans]) -> tuple[float, float]:
    """One axis for all models, so that another pair is drawn on the same."""
    values = [mean for case in cases for mean in case.means if mean is not None]
    span = board.metric.span
    if span is not None and max(values) - min(values) < LEAST_SHARE * span:
        return extent(values)
    return extent(values, board.metric.range)


def _counts(models: Sequence[PlotModel], dots: Sequence[Dot], *, is_higher_better: bool) -> str:
    """On how many cases each of the two is better; the script says the same of other pairs."""
    won = [better(dot.x, dot.y, is_higher_better=is_higher_better) for dot in dots]
    equal = f", and both are equal on {won.count(None)}" if None in won else ""
    return f"{models[0].name} is better on {amount(won.count(0), 'case')}, {models[1].name} on {won.count(1)}{equal}."


def _left_out(count: int) -> str:
    if not count:
        return ""
    verb = "is" if count == 1 else "are"
    return f"{amount(count, 'case')} {verb} not drawn: one of the two has no value that counts there."
