"""Holds two models against each other on the same clips: what got better, what got worse, what cannot be told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from lookaway.core import Estimate, Json, UnknownName, UserError
from lookaway.engine.run import Run
from lookaway.reports.compare.clip_pairs import ClipPair, ClipPairs, clip_pairs
from lookaway.reports.counted_values import NO_VALUES, CountedValues, Place, counted_values
from lookaway.reports.lock_explanations import lock_differences
from lookaway.reports.metric_facts import MetricFacts, metric_facts
from lookaway.reports.runs import SiteRun, load_run
from lookaway.statistics.paired_difference import (
    CaseValues,
    PairedDifference,
    detectable_effect,
    false_discovery,
    paired_difference,
)
from lookaway.statistics.precision import MIN_VALUES


def paired_models(before: SiteRun, after: SiteRun, models: Sequence[str] | None) -> list[tuple[str, str]]:
    """Which model of the first run is held against which of the second."""
    own, others = before.models, after.models
    if models is not None:
        if len(models) != 2:
            raise UserError(f"Two models are compared, found {', '.join(models) or 'none'}: give --models a,b.")
        for name, known in zip(models, (own, others), strict=True):
            if name not in known:
                raise UnknownName("model of the run", name, known)
        return [(models[0], models[1])]
    if before.path == after.path:
        raise UserError(f"{before.path}: to compare two models of one run, name them: --models a,b.")
    if len(own) == len(others) == 1:
        return [(own[0], others[0])]
    shared = [(name, name) for name in own if name in others]
    if not shared:
        raise UserError(
            f"No model is in both runs: one has {', '.join(own)}, the other {', '.join(others)}. "
            "Say which to compare: --models a,b."
        )
    return shared


NOT_INSTALLED = "its metric is not installed here, so which way is better is not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCompared:
    """A metric that was left out, and why."""

    metric: str
    why: str
    lock_differences: tuple[tuple[str, Json, Json], ...] = ()


def comparable_metrics(
    before: Run, after: Run, *, across_locks: bool
) -> tuple[dict[str, MetricFacts], list[NotCompared]]:
    """Metrics to compare in the order of the second run's protocol, and those that cannot be."""
    own, others = _locks(before), _locks(after)
    facts = metric_facts(after)
    comparable: dict[str, MetricFacts] = {}
    left_out = []
    for name in [*others, *(name for name in own if name not in others)]:
        if name not in own or name not in others:
            left_out.append(NotCompared(metric=name, why=f"only the {'second' if name in others else 'first'} has it"))
        elif own[name] != others[name] and not across_locks:
            differences = lock_differences(before.lock, after.lock, sorted({*own[name], *others[name]}))
            differences = [entry for entry in differences if entry[0].startswith("metrics.")]
            left_out.append(
                NotCompared(
                    metric=name,
                    why="it was not measured the same way: the locks differ",
                    lock_differences=tuple(differences),
                )
            )
        elif (fact := facts[name]) is None:
            left_out.append(NotCompared(metric=name, why=NOT_INSTALLED))
        else:
            comparable[name] = fact
    return comparable, left_out


def _locks(run: Run) -> dict[str, dict[str, str]]:
    """By metric, its lock and those of the gates that decide which of its rollouts count."""
    gates = [entry for entry in run.metrics if entry.is_gate]
    return {
        entry.name: {
            entry.name: entry.lock,
            **{gate.name: gate.lock for gate in gates if _share_a_subset(entry.subsets, gate.subsets)},
        }
        for entry in run.metrics
    }


def _share_a_subset(some: Iterable[str] | None, others: Iterable[str] | None) -> bool:
    return some is None or others is None or not set(some).isdisjoint(others)


FALSE_FINDINGS = 0.05
"""Of the differences that are called better or worse, the share that may be chance: the largest q of a finding."""


class Verdict(StrEnum):
    """What became of one dimension."""

    WORSE = "worse"
    BETTER = "better"
    CANNOT_TELL = "cannot be told apart"
    NOT_ESTIMABLE = "not estimable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One metric on one subset, before and after; what could not be estimated is None."""

    model: str
    metric: str
    subset: str
    unit: str
    higher_is_better: bool
    before: float | None
    after: float | None
    difference: Estimate | None
    """After minus before, or the other way round where lower is better: above zero is better."""
    p: float | None
    q: float | None
    detectable: float | None
    """The least true difference that so many scenes with such a spread would find 4 times in 5."""
    pairs: int
    only_before: int
    only_after: int
    """Scored clips that the other side has no score for."""
    verdict: Verdict
    why: str = ""
    """What is missing where it is not estimable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedClip:
    """One pair of clips; the difference is above zero where the later is better."""

    model: str
    metric: str
    subset: str
    case: str
    rollouts: tuple[str, ...]
    before: float
    after: float
    difference: float
    share: float
    """The difference as a share of what the metric spans, or of its largest value where it has no ends."""
    video: str
    video_before: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs, or two models of one."""

    before: str
    after: str
    dimensions: tuple[Dimension, ...]
    worst: tuple[ChangedClip, ...]
    """Clips that got worse, the worst first."""
    got_worse: int
    """How many pairs of clips got worse, of all."""
    not_compared: tuple[NotCompared, ...]
    family: int
    """How many tests q knows of."""
    seed: int
    notes: tuple[str, ...]


def compare_runs(
    before: Run,
    after: Run,
    models: Sequence[str] | None = None,
    *,
    across_locks: bool = False,
    worst: int = 10,
    seed: int = 0,
) -> Comparison:
    """Every metric and subset that both have, paired on clips of the same case and seed.

    `models` are the one of the first run and the one of the second. Without them every model is compared with that of
    its name, or the only one with the only one. Metrics whose locks differ are left out unless `across_locks`.
    """
    first, second = load_run(before, str(before.path)), load_run(after, str(after.path))
    chosen = paired_models(first, second, models)
    metrics, left_out = comparable_metrics(before, after, across_locks=across_locks)
    old = counted_values(first, {name for name, _ in chosen})
    new = counted_values(second, {name for _, name in chosen})
    dimensions, clips = [], []
    for earlier, later in chosen:
        shared = _shared_seeds(_seeds(first, earlier), _seeds(second, later))
        for metric, subset in _places(metrics, (old, earlier), (new, later)):
            fact = metrics[metric]
            own = old.get(Place(earlier, metric, subset), NO_VALUES)
            pairs = clip_pairs(own, new.get(Place(later, metric, subset), NO_VALUES), shared)
            place = Place(earlier if earlier == later else f"{earlier} → {later}", metric, subset)
            dimensions.append(_dimension(place, fact, pairs, seed))
            clips += _changed_clips(place, fact, pairs.pairs)
    tests = false_discovery([entry.p for entry in dimensions])
    worse = sorted((clip for clip in clips if clip.difference < 0), key=lambda clip: (clip.share, *clip.rollouts))
    return Comparison(
        before=str(before.path),
        after=str(after.path),
        dimensions=tuple(_judged(entry, q) for entry, q in zip(dimensions, tests.q, strict=True)),
        worst=_with_videos(worse[:worst], first, second),
        got_worse=len(worse),
        not_compared=tuple(left_out),
        family=tests.family,
        seed=seed,
        notes=_notes(first, second, chosen, across_locks=across_locks),
    )


def _places(metrics: Iterable[str], *sides: tuple[dict[Place, CountedValues], str]) -> list[tuple[str, str]]:
    found = {(place.metric, place.subset) for values, model in sides for place in values if place.model == model}
    return [(metric, subset) for metric in metrics for subset in sorted(sub for name, sub in found if name == metric)]


def _dimension(place: Place, fact: MetricFacts, pairs: ClipPairs, seed: int) -> Dimension:
    found = _difference(fact, pairs.pairs, seed)
    cases = found.difference.scored if found else 0
    why = ""
    if cases < MIN_VALUES:
        why = f"{cases} cases have a score of both, fewer than {MIN_VALUES}"
    elif found and found.deviation is None:
        why = "all cases are of one scene, which says nothing about others"
    estimable = found if not why else None
    means = (None, None) if found is None else (found.second, found.first)
    before, after = means if fact.higher_is_better else means[::-1]
    return Dimension(
        **place._asdict(),
        unit=fact.unit,
        higher_is_better=fact.higher_is_better,
        before=before,
        after=after,
        difference=found.difference if found else None,
        p=estimable.sign_flip.p if estimable else None,
        q=None,
        detectable=_detectable(estimable),
        pairs=len(pairs.pairs),
        only_before=pairs.only_before,
        only_after=pairs.only_after,
        verdict=Verdict.NOT_ESTIMABLE if why else Verdict.CANNOT_TELL,
        why=why,
    )


def _difference(fact: MetricFacts, pairs: Sequence[ClipPair], seed: int) -> PairedDifference | None:
    cases, scenes = [pair.case for pair in pairs], [pair.scene for pair in pairs]
    earlier = CaseValues(values=np.array([pair.before for pair in pairs], np.float64), cases=cases, scenes=scenes)
    later = CaseValues(values=np.array([pair.after for pair in pairs], np.float64), cases=cases, scenes=scenes)
    better, worse = (later, earlier) if fact.higher_is_better else (earlier, later)
    return paired_difference(better, worse, seed=seed) if pairs else None


def _detectable(found: PairedDifference | None) -> float | None:
    if found is None or found.deviation is None:
        return None
    return detectable_effect(found.deviation, found.difference.scenes)


def _judged(entry: Dimension, q: float | None) -> Dimension:
    if q is None or q > FALSE_FINDINGS or entry.difference is None:
        return replace(entry, q=q)
    return replace(entry, q=q, verdict=Verdict.BETTER if entry.difference.mean > 0 else Verdict.WORSE)


def _changed_clips(place: Place, fact: MetricFacts, pairs: Sequence[ClipPair]) -> list[ChangedClip]:
    sign = 1.0 if fact.higher_is_better else -1.0
    largest = max((abs(value) for pair in pairs for value in (pair.before, pair.after)), default=0.0)
    scale = fact.span or largest or 1.0
    return [
        ChangedClip(
            **place._asdict(),
            case=pair.case,
            rollouts=pair.after_rollouts,
            before=pair.before,
            after=pair.after,
            difference=sign * (pair.after - pair.before),
            share=sign * (pair.after - pair.before) / scale,
            video=pair.after_rollouts[0],
            video_before=pair.before_rollouts[0],
        )
        for pair in pairs
    ]


def _seeds(run: SiteRun, model: str) -> dict[str, set[str]]:
    """Seeds of every case that a model was asked for."""
    found: dict[str, set[str]] = {}
    for rollout in run.rollouts.values():
        if rollout.model == model:
            found.setdefault(rollout.case, set()).add(rollout.seed)
    return found


def _shared_seeds(before: Mapping[str, set[str]], after: Mapping[str, set[str]]) -> dict[str, set[str]]:
    return {case: seeds & after[case] for case, seeds in before.items() if case in after}


def _with_videos(clips: Iterable[ChangedClip], before: SiteRun, after: SiteRun) -> tuple[ChangedClip, ...]:
    old, new = before.rollouts, after.rollouts
    return tuple(
        replace(clip, video=new[clip.video].video, video_before=old[clip.video_before].video) for clip in clips
    )


def _notes(
    before: SiteRun, after: SiteRun, chosen: Sequence[tuple[str, str]], *, across_locks: bool
) -> tuple[str, ...]:
    notes = []
    for run, place in ((before, 0), (after, 1)):
        others = sorted(set(run.models) - {pair[place] for pair in chosen})
        if others and before.path != after.path:
            notes.append(f"{run.path} also has {', '.join(others)}, which are not compared.")
    if before.lock.entries.get("dataset") != after.lock.entries.get("dataset"):
        notes.append("The datasets of the two runs are not the same; clips are paired by the ids of their cases.")
    if across_locks:
        notes.append("Metrics are compared even where their locks differ: a difference may be of measuring alone.")
    if any(metric.is_gate for run in (before, after) for metric in run.metrics):
        notes.append("A clip counts only where both models were put to the test; how often each was is the gate's row.")
    return tuple(notes)
