"""How far a video is from its reference in each phase, and how tables change with the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from lookaway.core import Estimate, UserError
from lookaway.engine.run import Run
from lookaway.reports.memobench.scores import (
    CORRECTED,
    MOTION_GATE,
    REVISITED,
    SUITE,
    by_model,
    counted_gate,
    mean_scores,
)
from lookaway.reports.metric_facts import metric_facts
from lookaway.reports.numbers import estimate_interval, fixed, print_json, print_lines, print_rows, probability, signed
from lookaway.reports.scored_rollouts import ScoredRollout, require_suite, scored_rollouts
from lookaway.statistics.paired_difference import CaseValues, paired_difference

PHASES: Final = ("visible", "disappeared", "reappeared")


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseDrop:
    """One metric of one model in three phases, over rollouts that have a score in all of them."""

    model: str
    subset: str
    metric: str
    means: Mapping[str, float]
    """By phase."""
    drop: Estimate
    """How much worse it is in the last phase than in the first, with an interval over scenes; negative if better."""
    p: float
    """The p-value of a sign-flip test over scenes."""
    untested: int
    """Rollouts with all scores that are left out, since they are not known to have tested memory."""


def phase_drops(run: Run) -> list[PhaseDrop]:
    """The drop of every metric that has all three phases, for each model and subset.

    All phases are over the same rollouts: all of them for published metrics, those that tested memory for repaired
    ones.
    """
    require_suite(run, SUITE)
    facts, names = metric_facts(run), _phased([metric.name for metric in run.metrics])
    if not names:
        raise UserError(
            f"{run.path}: no metric was measured in all of the phases {', '.join(PHASES)}, expected such as "
            f"{SUITE}.visible.ssim, {SUITE}.disappeared.ssim and {SUITE}.reappeared.ssim. Measure them with --metrics."
        )
    drops = []
    for model, subset, own in by_model(scored_rollouts(run)):
        for (prefix, name), phased in names.items():
            gate = counted_gate(run, prefix)
            known = facts[phased[0]]
            if known is None:
                raise UserError(f"{phased[0]} is not installed here, so it is not known which values are better.")
            whole = [rollout for rollout in own if all(metric in rollout.values for metric in phased)]
            counted = [rollout for rollout in whole if rollout.passes(gate)]
            drop = _drop(counted, phased, higher_is_better=known.higher_is_better)
            if drop is not None:
                drops.append(
                    PhaseDrop(
                        model=model,
                        subset=subset,
                        metric=name if prefix == SUITE else f"corrected.{name}",
                        means={
                            phase: float(np.mean([rollout.values[metric] for rollout in counted]))
                            for phase, metric in zip(PHASES, phased, strict=True)
                        },
                        drop=drop[0],
                        p=drop[1],
                        untested=len(whole) - len(counted),
                    )
                )
    return drops


def _phased(metrics: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """Metrics that were measured in all phases, by the first and the last part of their names."""
    found = {}
    for prefix in (SUITE, CORRECTED):
        first = f"{prefix}.{PHASES[0]}."
        for name in (metric.removeprefix(first) for metric in metrics if metric.startswith(first)):
            phased = [f"{prefix}.{phase}.{name}" for phase in PHASES]
            if set(phased) <= set(metrics):
                found[prefix, name] = phased
    return found


def _drop(
    rollouts: Sequence[ScoredRollout], phased: Sequence[str], *, higher_is_better: bool
) -> tuple[Estimate, float] | None:
    first, *_, last = (
        CaseValues(
            values=np.array([rollout.values[metric] for rollout in rollouts]),
            cases=[rollout.id for rollout in rollouts],
            scenes=[rollout.scene for rollout in rollouts],
        )
        for metric in phased
    )
    found = paired_difference(first, last) if higher_is_better else paired_difference(last, first)
    return None if found is None else (found.difference, found.sign_flip.p)


def print_phase_drops(drops: Sequence[PhaseDrop], *, as_json: bool) -> None:
    """One line for each model and metric."""
    if as_json:
        print_json([asdict(drop) for drop in drops])
        return
    rows = [
        {
            "model": drop.model,
            "subset": drop.subset,
            "metric": drop.metric,
            **{phase: fixed(drop.means[phase]) for phase in PHASES},
            "drop": signed(drop.drop.mean),
            "95 %": estimate_interval(drop.drop),
            "p": probability(drop.p),
            "rollouts": f"{drop.drop.scored}",
            "untested": f"{drop.untested}",
        }
        for drop in drops
    ]
    print_rows(rows, as_json=False, right=(*PHASES, "drop", "p", "rollouts", "untested"))


GATES: Final[Mapping[str, str | None]] = {"all": None, "motion gate": MOTION_GATE, "revisited": REVISITED}
"""Three ways of choosing rollouts; the last one is that of the suite's own table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedRow:
    """One metric of one model over rollouts that were chosen in three ways."""

    model: str
    subset: str
    metric: str
    means: Mapping[str, Estimate | None]
    """By the way of choosing; `None` where no chosen rollout has a score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedTables:
    """The table of a run, three ways beside each other."""

    rows: tuple[GatedRow, ...]
    kept: Mapping[str, Mapping[str, int]]
    """Number of rollouts by model, then by the way of choosing."""


def gated_tables(run: Run) -> GatedTables:
    """Means over all rollouts, over those that the published gate keeps, and over those that tested memory.

    Gates are columns here, whatever the run says about them: also metrics of the first phase are over the chosen
    rollouts alone.
    """
    require_suite(run, SUITE)
    metrics = [metric for metric in run.metrics if metric.name not in (MOTION_GATE, REVISITED)]
    ranges = {metric.name: metric.range for metric in metrics}
    rollouts = scored_rollouts(run)
    for name in (MOTION_GATE, REVISITED):
        if not any(name in rollout.values for rollout in rollouts):
            raise UserError(f"{run.path}: nothing has a score of {name}, so tables cannot be gated. Measure it.")
    parts = list(by_model(rollouts))
    chosen = [
        (metric.name, [rollout for rollout in own if rollout.passes(gate)])
        for _, _, own in parts
        for metric in metrics
        for gate in GATES.values()
    ]
    means = iter(mean_scores(chosen, ranges))
    rows = tuple(
        GatedRow(model=model, subset=subset, metric=metric.name, means={way: next(means) for way in GATES})
        for model, subset, _ in parts
        for metric in metrics
    )
    kept: dict[str, dict[str, int]] = {}
    for rollout in rollouts:
        counts = kept.setdefault(rollout.model, dict.fromkeys(GATES, 0))
        for way, gate in GATES.items():
            counts[way] += rollout.passes(gate)
    return GatedTables(rows=rows, kept=kept)


def print_gated_tables(tables: GatedTables, *, as_json: bool) -> None:
    """How many rollouts each gate keeps, and the means over them."""
    if as_json:
        print_json({"kept": tables.kept, "rows": [asdict(row) for row in tables.rows]})
        return
    kept = [
        {"model": model, **{way: f"{count} of {counts['all']}" for way, count in counts.items()}}
        for model, counts in tables.kept.items()
    ]
    print_rows(kept, as_json=False, right=tuple(GATES))
    print_lines([""])
    print_rows([_gated_line(row) for row in tables.rows], as_json=False, right=(*GATES, "n"))


def _gated_line(row: GatedRow) -> dict[str, Any]:
    line: dict[str, Any] = {"model": row.model, "subset": row.subset, "metric": row.metric}
    for way, mean in row.means.items():
        line[way] = fixed(mean.mean if mean else None)
        line[f"{way}: 95 %"] = estimate_interval(mean)
        line[f"{way}: n"] = str(mean.scored if mean else 0)
    return line
