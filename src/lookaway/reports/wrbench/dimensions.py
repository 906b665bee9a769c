"""The table of WRBench: support and dimensions of every model, marks, averages, best cells, correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from lookaway.core import Estimate, UserError
from lookaway.engine.run import Run
from lookaway.reports.numbers import estimate_interval, fixed, print_json, print_lines, print_rows, probability
from lookaway.statistics.precision import MIN_VALUES, Mark, Precision, precision
from lookaway.statistics.rank_correlation import (
    LinearCorrelation,
    RankCorrelation,
    linear_correlation,
    rank_correlation,
)
from lookaway.suites.two_protocols import corrected_name

Protocol: TypeAlias = Literal["published", "corrected"]
"""Which values are shown, and by which rules: those of the published table, or our own."""
SUITE: Final = "wrbench"
SUPPORT: Final = "support"
PRECISION, ALIGNMENT, STATIC_HOLD, INTEGRITY = "D1 precision", "D1 alignment", "D1 static hold", "D2"
VISIBLE_SPACE, VISIBLE_STATE, RETURNED_SPACE, RETURNED_STATE = "D3", "D4", "D5", "D6"


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionSource:
    """A column of the table: where it is found in a run, and in the published results."""

    metric: str
    column: str
    is_conditional: bool = False
    """Whether only rollouts count in which the target left the view and was seen again."""
    is_repaired: bool = False
    """Whether the corrected protocol measures it in another way."""
    is_won_by_still: bool = False
    """Whether a video that stands still scores best, so that no model is called best."""

    def metric_of(self, protocol: Protocol) -> str:
        """The name of its metric in a protocol."""
        return corrected_name(self.metric) if self.is_repaired and protocol == "corrected" else self.metric


DIMENSIONS: Final[Mapping[str, DimensionSource]] = {
    PRECISION: DimensionSource(metric=f"{SUITE}.camera_precision", column="D1_CamPrec", is_repaired=True),
    ALIGNMENT: DimensionSource(metric=f"{SUITE}.camera_alignment", column="D1_CamAlign_common_yaw", is_repaired=True),
    STATIC_HOLD: DimensionSource(
        metric=f"{SUITE}.static_hold", column="D1_CamAlign_static_hold", is_repaired=True, is_won_by_still=True
    ),
    INTEGRITY: DimensionSource(metric=f"{SUITE}.visual_integrity", column="D2", is_repaired=True, is_won_by_still=True),
    VISIBLE_SPACE: DimensionSource(metric=f"{SUITE}.d3.visible_spatial", column="D3"),
    VISIBLE_STATE: DimensionSource(metric=f"{SUITE}.d4.visible_state", column="D4"),
    RETURNED_SPACE: DimensionSource(metric=f"{SUITE}.d5.returned_spatial", column="D5", is_conditional=True),
    RETURNED_STATE: DimensionSource(metric=f"{SUITE}.d6.returned_state", column="D6", is_conditional=True),
}
AVERAGED: Final = (ALIGNMENT, INTEGRITY, VISIBLE_SPACE, VISIBLE_STATE, RETURNED_SPACE, RETURNED_STATE)
"""The six of the published average; camera precision and support are not in it."""
CORRELATED: Final = (SUPPORT, *AVERAGED)
MIN_SUPPORT: Final = 0.10
"""The published results call a model sparse below this support, or below 10 rollouts."""


def held_protocols(run: Run) -> tuple[Protocol, ...]:
    """The protocols that a run has repaired dimensions of; both where it has none of these at all."""
    names = {entry["name"] for entry in run.about["metrics"]}
    repaired = [source for source in DIMENSIONS.values() if source.is_repaired]
    both: tuple[Protocol, ...] = get_args(Protocol)
    held = tuple(one for one in both if any(source.metric_of(one) in names for source in repaired))
    return held or both


def require_protocol(run: Run, protocol: Protocol) -> None:
    """Refuse a run that holds the other protocol alone."""
    if protocol not in (held := held_protocols(run)):
        raise UserError(
            f"{run.path} holds {held[0]} values and no {protocol} ones. Read it with --protocol {held[0]}, or measure "
            f"with `lookaway eval --protocol {protocol}`."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionCell:
    """One dimension of one model."""

    estimate: Estimate | None
    precision: Precision

    @property
    def is_estimable(self) -> bool:
        """Whether the number may be averaged, ranked or correlated."""
        return self.estimate is not None and self.precision.is_estimable


def dimension_cell(estimate: Estimate | None, effective: float) -> DimensionCell:
    """A cell with its mark; all dimensions lie between 0 and 1."""
    return DimensionCell(estimate=estimate, precision=precision(estimate, effective, span=1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNumbers:
    """The numbers of a model by the rules of the published table: plain means of all values, zeros among them."""

    values: Mapping[str, float]
    """By dimension; those without a number are not there."""
    support: float | None
    """Rollouts that passed the gate over all rollouts, judged or not."""
    average: float | None
    """Mean of six dimensions, whatever they rest on; `None` where one is missing."""
    is_low_n: bool
    """The published dagger: fewer than 10 rollouts or less than 10 % passed the gate."""


def published_average(values: Mapping[str, float]) -> float | None:
    """The published average of six dimensions; `None` where one is missing.

    >>> published_average(dict.fromkeys(AVERAGED, 0.5))
    0.5
    """
    found = [values[name] for name in AVERAGED if name in values]
    return sum(found) / len(found) if len(found) == len(AVERAGED) else None


def is_low_n(passed: int, outputs: int) -> bool:
    """Whether the published table puts a dagger.

    >>> is_low_n(10, 300), is_low_n(31, 300)
    (True, False)
    """
    return passed < MIN_VALUES or passed < MIN_SUPPORT * outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionRow:
    """All dimensions of one model, or of the rollouts of several."""

    model: str
    condition: str
    """Viewpoint condition: what a model is given to know where to look, such as `prompt-only`."""
    outputs: int
    """Number of rollouts."""
    support: Estimate | None
    """Share of judged rollouts in which the target left the view and was seen again, with Wilson's interval."""
    cells: Mapping[str, DimensionCell]
    """By dimension; those that were not measured are not there."""
    published: PublishedNumbers

    @property
    def average(self) -> float | None:
        """Mean of the six averaged dimensions; `None` where one of them is missing or not estimable."""
        cells = [self.cells[name] for name in AVERAGED if name in self.cells]
        means = [cell.estimate.mean for cell in cells if cell.estimate is not None and cell.is_estimable]
        return sum(means) / len(means) if len(means) == len(AVERAGED) else None

    def value(self, name: str, protocol: Protocol) -> float | None:
        """Support, or the mean of a dimension: by the published rules any, by ours one that is estimable."""
        if protocol == "published":
            return self.published.support if name == SUPPORT else self.published.values.get(name)
        if name == SUPPORT:
            return self.support.mean if self.support else None
        cell = self.cells.get(name)
        return cell.estimate.mean if cell is not None and cell.estimate is not None and cell.is_estimable else None


def best_models(rows: Sequence[DimensionRow], protocol: Protocol) -> dict[tuple[str, str], list[str]]:
    """The model with the highest number and the second, by viewpoint condition and dimension.

    Conditions are not compared: they give models different things. A condition with one model has no best, and a
    dimension that a video wins that stands still has none either.
    """
    conditions: dict[str, list[DimensionRow]] = {}
    for row in rows:
        conditions.setdefault(row.condition, []).append(row)
    best = {}
    for condition, own in conditions.items():
        for name in (SUPPORT, *(name for name, source in DIMENSIONS.items() if not source.is_won_by_still)):
            values = {row.model: value for row in own if (value := row.value(name, protocol)) is not None}
            if len(values) > 1:
                best[condition, name] = sorted(values, key=lambda model: -values[model])[:2]
    return best


Best: TypeAlias = Mapping[tuple[str, str], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionCorrelation:
    """Two dimensions over the models that have both."""

    first: str
    second: str
    models: int
    pearson: LinearCorrelation | None
    """`None` for fewer than 3 models, and where all have the same number."""
    ranks: RankCorrelation | None
    """Spearman's and Kendall's, with p; `None` for fewer than 3 models."""


def dimension_correlations(
    rows: Sequence[DimensionRow], protocol: Protocol, *, seed: int = 0, shuffles: int = 999
) -> list[DimensionCorrelation]:
    """Every pair of support and the averaged dimensions over models.

    By our rules models whose number is not estimable are left out, by the published ones none.
    """
    found = []
    for first, second in combinations(CORRELATED, 2):
        pairs = [(row.value(first, protocol), row.value(second, protocol)) for row in rows]
        known = np.array([pair for pair in pairs if None not in pair], np.float64).reshape(-1, 2)
        one, other = known.T
        found.append(
            DimensionCorrelation(
                first=first,
                second=second,
                models=len(known),
                pearson=linear_correlation(one, other),
                ranks=rank_correlation(one, other, seed=seed, shuffles=shuffles) if len(known) > 2 else None,
            )
        )
    return found


def print_dimension_rows(
    rows: Sequence[DimensionRow], protocol: Protocol, *, as_json: bool, parts: Sequence[str] = ()
) -> None:
    """One line for each model; `parts` are what each line is about, where there are several of a model."""
    best = best_models(rows, protocol) if not parts else {}
    shown = _published_cells if protocol == "published" else _own_cells
    if as_json:
        to_json = _published_json if protocol == "published" else _own_json
        print_json(
            [
                {**({"slice": part} if part else {}), **to_json(row, best)}
                for row, part in zip(rows, parts or [""] * len(rows), strict=True)
            ]
        )
        return
    lines = [
        {
            **({"slice": part} if parts else {}),
            "model": row.model,
            "condition": row.condition,
            "rollouts": f"{row.outputs}",
            **shown(row, [name for name in DIMENSIONS if any(name in other.cells for other in rows)], best),
        }
        for row, part in zip(rows, parts or [""] * len(rows), strict=True)
    ]
    words = ("slice", "model", "condition", "95 %")
    print_rows(lines, as_json=False, right=[name for name in lines[0] if name not in words] if lines else ())
    print_lines(_legend(protocol, has_best=bool(best)))


def _own_cells(row: DimensionRow, names: Sequence[str], best: Best) -> dict[str, str]:
    return {
        SUPPORT: f"{fixed(row.support.mean if row.support else None)}{_stars(row, SUPPORT, best, 1)}",
        "95 %": estimate_interval(row.support),
        **{name: f"{_cell_text(row.cells.get(name))}{_stars(row, name, best, 1)}" for name in names},
        "average": fixed(row.average),
    }


def _published_cells(row: DimensionRow, names: Sequence[str], best: Best) -> dict[str, str]:
    found = row.published
    return {
        SUPPORT: f"{fixed(found.support)}{_stars(row, SUPPORT, best, 2)}",
        **{
            name: f"{fixed(found.values.get(name))}{_published_dagger(row, name)}{_stars(row, name, best, 2)}"
            for name in names
        },
        "average": fixed(found.average),
    }


def _legend(protocol: Protocol, *, has_best: bool) -> list[str]:
    still = " and ".join(name for name, source in DIMENSIONS.items() if source.is_won_by_still)
    if protocol == "published":
        marks = f"{Mark.IMPRECISE.value} fewer than {MIN_VALUES} rollouts or less than {MIN_SUPPORT:.0%} re-observed"
        stars = "** best, * second best of its viewpoint condition"
    else:
        marks = (
            f"{Mark.IMPRECISE.value} imprecise; not estimable: fewer than {MIN_VALUES} values; there is no average "
            "over what is not estimable"
        )
        stars = "* best of its viewpoint condition"
    unranked = f"; none for {still}, which a video wins that stands still"
    return [marks, *([f"{stars}{unranked}"] if has_best else [])]


def _published_dagger(row: DimensionRow, name: str) -> str:
    is_marked = DIMENSIONS[name].is_conditional and row.published.is_low_n and name in row.published.values
    return Mark.IMPRECISE.value if is_marked else ""


def _stars(row: DimensionRow, name: str, best: Best, most: int) -> str:
    """`most` stars for the best, one less for the second."""
    models = best.get((row.condition, name), [])
    return "*" * max(0, most - models.index(row.model)) if row.model in models else ""


def _cell_text(cell: DimensionCell | None) -> str:
    if cell is None or cell.estimate is None:
        return "-"
    if not cell.is_estimable:
        return f"not estimable ({cell.estimate.scored})"
    return f"{fixed(cell.estimate.mean)}{cell.precision.mark.value} ({cell.estimate.scored})"


def _published_json(row: DimensionRow, best: Best) -> dict[str, Any]:
    return {"model": row.model, "condition": row.condition, "outputs": row.outputs, **asdict(row.published)}


def _own_json(row: DimensionRow, best: Best) -> dict[str, Any]:
    return {
        "model": row.model,
        "condition": row.condition,
        "outputs": row.outputs,
        "support": None if row.support is None else asdict(row.support),
        "dimensions": {
            name: {
                "estimate": None if cell.estimate is None else asdict(cell.estimate),
                "mark": cell.precision.mark.name.lower(),
                "effective": cell.precision.effective,
                "is_best": bool(_stars(row, name, best, 1)),
            }
            for name, cell in row.cells.items()
        },
        "average": row.average,
    }


def print_correlations(found: Sequence[DimensionCorrelation], *, as_json: bool) -> None:
    """One line for each pair of dimensions."""
    if as_json:
        print_json([asdict(one) for one in found])
        return
    rows = []
    for one in found:
        spearman = one.ranks.spearman if one.ranks else None
        ends = one.pearson.interval if one.pearson else None
        rows.append(
            {
                "first": one.first,
                "second": one.second,
                "Pearson": fixed(one.pearson.value if one.pearson else None),
                "95 %": f"[{fixed(ends[0])}, {fixed(ends[1])}]" if ends else "-",
                "Spearman": fixed(spearman.value if spearman else None),
                "p": probability(spearman.p if spearman else None),
                "models": f"{one.models}",
            }
        )
    print_rows(rows, as_json=False, right=("Pearson", "Spearman", "p", "models"))
