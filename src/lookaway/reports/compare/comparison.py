"""Compares two models on the same clips: what got better, what got worse, what is not significant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from lookaway.calibration.card import MetricCard
from lookaway.calibration.run_cards import RunCards
from lookaway.core import Estimate, Json, UnknownName, UserError
from lookaway.engine.run import Run
from lookaway.reports.card_notes import card_notes
from lookaway.reports.compare.clip_pairs import ClipPair, ClipPairs, clip_pairs
from lookaway.reports.lock_explanations import (
    Tolerance,
    environment_differences,
    environment_tolerances,
    lock_differences,
    mixed_code,
    other_code,
)
from lookaway.reports.metric_facts import MetricFacts, metric_facts
from lookaway.reports.runs import NO_VALUES, CountedValues, LoadedRun, load_run
from lookaway.reports.scene_notes import few_scene_notes, seed_scene_notes
from lookaway.statistics.cells import GroupKey
from lookaway.statistics.paired_difference import (
    CaseValues,
    PairedDifference,
    detectable_effect,
    false_discovery,
    paired_difference,
)
from lookaway.statistics.precision import MIN_VALUES


def paired_models(before: LoadedRun, after: LoadedRun, models: Sequence[str] | None) -> list[tuple[str, str]]:
    """Which model of the first run is compared with which of the second."""
    own, others = before.models, after.models
    if models is not None:
        if len(models) != 2:
            raise UserError(f"Expected two models to compare, found {', '.join(models) or 'none'}: give --models a,b.")
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
            "Name the two to compare: --models a,b."
        )
    return shared


NOT_INSTALLED = "its metric is not installed here, so whether higher is better is not known"
OTHER_CARD = "a different card in each run"


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
    own, others, facts = _locks(before), _locks(after), metric_facts(after)
    comparable: dict[str, MetricFacts] = {}
    left_out = []
    for name in [*others, *(name for name in own if name not in others)]:
        if name not in own or name not in others:
            left_out.append(
                NotCompared(metric=name, why=f"only the {'second' if name in others else 'first'} run has it")
            )
        elif own[name] != others[name] and not across_locks:
            differences = lock_differences(before.lock, after.lock, sorted({*own[name], *others[name]}))
            differences = [entry for entry in differences if entry[0].startswith("metrics.")]
            left_out.append(
                NotCompared(
                    metric=name,
                    why="it was measured differently: the locks differ",
                    lock_differences=tuple(differences),
                )
            )
        elif (metric := facts[name]) is None:
            left_out.append(NotCompared(metric=name, why=NOT_INSTALLED))
        else:
            comparable[name] = metric
    return comparable, left_out


def _locks(run: Run) -> dict[str, dict[str, str]]:
    """By metric, its lock and those of the gates that decide which of its rollouts count."""
    metrics = run.metrics
    return {
        entry.name: {
            entry.name: entry.lock,
            **{gate.name: gate.lock for gate in metrics if entry.depends_on(gate)},
        }
        for entry in metrics
    }


FALSE_FINDINGS = 0.05
"""The false discovery rate: the largest q of a difference that is called better or worse."""


class Verdict(StrEnum):
    """How one dimension changed."""

    WORSE = "worse"
    BETTER = "better"
    OF_ENVIRONMENT = "of the environment"
    BELOW_CARD = "below the card"
    NOT_SIGNIFICANT = "not significant"
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
    """The smallest true difference that this many scenes with this spread would detect 4 times in 5."""
    pairs: int
    only_before: int
    only_after: int
    """Scored clips that the other side has no score for."""
    verdict: Verdict
    why: str = ""
    """Why it is not estimable."""


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
    """The difference relative to the range of the metric, or to its largest value where it has no range."""
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
    """How many tests the q-values account for."""
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

    `models` are one of the first run and one of the second. Without them every model is compared with the one of the
    same name, or the only one with the only one. Metrics whose locks differ are left out unless `across_locks`.
    """
    first, second = load_run(before, str(before.path)), load_run(after, str(after.path))
    chosen = paired_models(first, second, models)
    metrics, left_out = comparable_metrics(before, after, across_locks=across_locks)
    old = first.counted({name for name, _ in chosen})
    new = second.counted({name for _, name in chosen})
    dimensions, clips = [], []
    for earlier, later in chosen:
        own_seeds, their_seeds = _seeds(first, earlier), _seeds(second, later)
        shared = {case: seeds & their_seeds[case] for case, seeds in own_seeds.items() if case in their_seeds}
        label = earlier if earlier == later else f"{earlier} → {later}"
        for name, subset in _measured(metrics, (old, earlier), (new, later)):
            metric, key = metrics[name], GroupKey(label, name, subset)
            own = old.get(GroupKey(earlier, name, subset), NO_VALUES)
            pairs = clip_pairs(own, new.get(GroupKey(later, name, subset), NO_VALUES), shared)
            dimensions.append(_dimension(key, metric, pairs, seed))
            clips += _changed_clips(key, metric, pairs.pairs)
    tests = false_discovery([entry.p for entry in dimensions])
    moved, cards = environment_tolerances(before.lock, after.lock), _shared_cards(first, second, metrics)
    worse = sorted(
        (clip for clip in clips if clip.difference < -_moved(moved, clip.metric)),
        key=lambda clip: (clip.share, *clip.rollouts),
    )
    return Comparison(
        before=str(before.path),
        after=str(after.path),
        dimensions=tuple(
            _with_q(entry, q, _moved(moved, entry.metric), cards.found.get(entry.metric))
            for entry, q in zip(dimensions, tests.q, strict=True)
        ),
        worst=_with_videos(worse[:worst], first, second),
        got_worse=len(worse),
        not_compared=tuple(left_out),
        family=tests.family,
        seed=seed,
        notes=(
            *_notes(first, second, chosen, across_locks=across_locks),
            *_environment_notes(before, after, moved),
            *_code_notes(before, after, metrics),
            *card_notes(cards),
            *few_scene_notes((entry.difference for entry in dimensions), "dimension"),
            *_seed_notes(first, second, chosen),
        ),
    )


def _measured(metrics: Iterable[str], *sides: tuple[dict[GroupKey, CountedValues], str]) -> list[tuple[str, str]]:
    found = {(key.metric, key.subset) for values, model in sides for key in values if key.model == model}
    return [(metric, subset) for metric in metrics for subset in sorted(sub for name, sub in found if name == metric)]


def _dimension(key: GroupKey, metric: MetricFacts, pairs: ClipPairs, seed: int) -> Dimension:
    found = _difference(metric, pairs.pairs, seed)
    cases = found.difference.scored if found else 0
    why = ""
    if cases < MIN_VALUES:
        why = f"{cases} cases have a score in both, fewer than {MIN_VALUES}"
    elif found and found.deviation is None:
        why = "all cases are of one scene, which says nothing about other scenes"
    estimable = found if not why else None
    means = (None, None) if found is None else (found.second, found.first)
    before, after = means if metric.higher_is_better else means[::-1]
    return Dimension(
        **key._asdict(),
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        before=before,
        after=after,
        difference=found.difference if found else None,
        p=estimable.sign_flip.p if estimable else None,
        q=None,
        detectable=_detectable(estimable),
        pairs=len(pairs.pairs),
        only_before=pairs.only_before,
        only_after=pairs.only_after,
        verdict=Verdict.NOT_ESTIMABLE if why else Verdict.NOT_SIGNIFICANT,
        why=why,
    )


def _difference(metric: MetricFacts, pairs: Sequence[ClipPair], seed: int) -> PairedDifference | None:
    counted = [pair for pair in pairs for _ in range(pair.clips)]
    cases, scenes = [pair.case for pair in counted], [pair.scene for pair in counted]
    earlier = CaseValues(values=np.array([pair.before for pair in counted], np.float64), cases=cases, scenes=scenes)
    later = CaseValues(values=np.array([pair.after for pair in counted], np.float64), cases=cases, scenes=scenes)
    better, worse = (later, earlier) if metric.higher_is_better else (earlier, later)
    return paired_difference(better, worse, span=metric.span, seed=seed) if pairs else None


def _detectable(found: PairedDifference | None) -> float | None:
    if found is None or found.deviation is None:
        return None
    return detectable_effect(found.deviation, found.difference.scenes)


def _shared_cards(before: LoadedRun, after: LoadedRun, metrics: Collection[str]) -> RunCards:
    """Cards that hold for both runs, why others have none, and which metrics a frozen video wins."""
    found, missing, frozen = {}, {}, {}
    for name in metrics:
        known = [run.cards.frozen[name] for run in (before, after) if name in run.cards.frozen]
        if known:
            frozen[name] = any(known)
        card = before.cards.found.get(name)
        if card is not None and card == after.cards.found.get(name):
            found[name] = card
        elif why := before.cards.missing.get(name) or after.cards.missing.get(name):
            missing[name] = why
        elif card is not None:
            missing[name] = OTHER_CARD
    return RunCards(found=found, missing=missing, frozen=frozen)


def _moved(tolerances: Mapping[str, Tolerance], metric: str) -> float:
    """How far the environments of the two runs may move a metric."""
    return tolerances[metric].value if metric in tolerances else 0.0


def _with_q(entry: Dimension, q: float | None, moved: float, card: MetricCard | None) -> Dimension:
    if q is None or q > FALSE_FINDINGS or entry.difference is None:
        return replace(entry, q=q)
    if abs(entry.difference.mean) <= moved:
        return replace(entry, q=q, verdict=Verdict.OF_ENVIRONMENT)
    if card is not None and not card.tells_apart(entry.difference.mean, entry.difference.scenes):
        return replace(entry, q=q, verdict=Verdict.BELOW_CARD)
    return replace(entry, q=q, verdict=Verdict.BETTER if entry.difference.mean > 0 else Verdict.WORSE)


def _changed_clips(key: GroupKey, metric: MetricFacts, pairs: Sequence[ClipPair]) -> list[ChangedClip]:
    sign = 1.0 if metric.higher_is_better else -1.0
    largest = max((abs(value) for pair in pairs for value in (pair.before, pair.after)), default=0.0)
    scale = metric.span or largest or 1.0
    return [
        ChangedClip(
            **key._asdict(),
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


def _seeds(run: LoadedRun, model: str) -> dict[str, set[str]]:
    """Seeds of every case that a model has rollouts for."""
    found: dict[str, set[str]] = {}
    for rollout in run.rollouts.values():
        if rollout.model == model:
            found.setdefault(rollout.case, set()).add(rollout.seed)
    return found


def _with_videos(clips: Iterable[ChangedClip], before: LoadedRun, after: LoadedRun) -> tuple[ChangedClip, ...]:
    old, new = before.rollouts, after.rollouts
    return tuple(
        replace(clip, video=new[clip.video].video, video_before=old[clip.video_before].video) for clip in clips
    )


def _seed_notes(before: LoadedRun, after: LoadedRun, chosen: Sequence[tuple[str, str]]) -> list[str]:
    sides = ((before, {pair[0] for pair in chosen}), (after, {pair[1] for pair in chosen}))
    notes = [
        note
        for run, models in sides
        for note in seed_scene_notes(entry for entry in run.scenes if entry.model in models)
    ]
    return list(dict.fromkeys(notes))


def _environment_notes(before: Run, after: Run, moved: Mapping[str, Tolerance]) -> list[str]:
    """What differs between the machines of two runs, where it may move one of their metrics."""
    by = {name for tolerance in moved.values() for name in tolerance.moved_by}
    differences = environment_differences(before.lock, after.lock)
    texts = [f"{name} ({old} before, {new} after)" for name, old, new in differences if name in by]
    limits = [f"{metric} by {tolerance.value:.2g}" for metric, tolerance in moved.items()]
    if not texts:
        return []
    return [
        f"The environments differ in {', '.join(texts)}, which may move {', '.join(limits)}; "
        "smaller differences are of the environment."
    ]


def _code_notes(before: Run, after: Run, metrics: Collection[str]) -> list[str]:
    runs = {str(run.path): run.lock for run in (before, after)}
    between = other_code(after.lock, before.lock, metrics, (str(after.path), str(before.path)))
    return [*between, *(note for name, lock in runs.items() for note in mixed_code(lock, name))]


def _notes(
    before: LoadedRun, after: LoadedRun, chosen: Sequence[tuple[str, str]], *, across_locks: bool
) -> tuple[str, ...]:
    notes = []
    for run, side in ((before, 0), (after, 1)):
        others = sorted(set(run.models) - {pair[side] for pair in chosen})
        if others and before.path != after.path:
            notes.append(f"{run.path} also has {', '.join(others)}: not compared.")
    if before.lock.entries.get("dataset") != after.lock.entries.get("dataset"):
        notes.append("The two runs are of different datasets; clips are paired by the ids of their cases.")
    if across_locks:
        notes.append(
            "Metrics are compared even where their locks differ: a difference may come from the measurement alone."
        )
    if any(cell.gated for run in (before, after) for cell in run.table.cells):
        notes.append(
            "For consistency, a clip counts only where both models passed the gate, so that memory was tested; the row "
            "of the gate says how often each did."
        )
    if any(cell.untested for run in (before, after) for cell in run.table.cells):
        notes.append(
            "In published metrics, and with --ignore-trigger, clips count that are not known to have tested memory."
        )
    return tuple(notes)
