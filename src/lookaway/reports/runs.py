"""Runs as reports read them: once, with what their metrics mean and which of their values count."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np

from lookaway.calibration.card import MetricCard
from lookaway.calibration.run_cards import RunCards, cards_of
from lookaway.core import Feature, Floats, Group, Json, Lock, ProtocolName, Table, UnknownName, UserError, digest
from lookaway.engine.locking import KEY_CHARACTERS, video_key
from lookaway.engine.reading import load_suite
from lookaway.engine.run import Run
from lookaway.io.object_storage import as_path, is_remote
from lookaway.reports.card_notes import column_mark
from lookaway.reports.metric_facts import MetricFacts, metric_facts
from lookaway.reports.scene_notes import SceneOfRollout
from lookaway.statistics.cells import GroupKey, counted_groups
from lookaway.statistics.intervals import effective_size
from lookaway.statistics.scene_bootstrap import named_scene_sums
from lookaway.store.feature_store import FeatureStore
from lookaway.store.outcome_reader import AskedMetric
from lookaway.store.run_folder import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedMetric:
    """A metric of a run, and what its values mean where it is installed here."""

    name: str
    lock: str
    """Hash of all that can move its values: values with different hashes are not compared."""
    subsets: tuple[str, ...] | None
    is_gate: bool
    is_consistency: bool
    """Whether only rollouts that pass a gate say anything about memory."""
    protocol: ProtocolName | None
    unit: str | None
    range: tuple[float | None, float | None]
    higher_is_better: bool | None
    """`None` where the metric is not installed."""
    card: MetricCard | None = field(default=None, compare=False)
    """What it sees at the size and frame rate of the videos; `None` where that was not measured."""
    frozen_wins: bool | None = field(default=None, compare=False)
    """Whether a frozen video scores as well as a perfect memory; `None` where that was not tried."""

    @property
    def is_ranked(self) -> bool:
        """Whether models are ranked by it."""
        return not column_mark(self.frozen_wins, is_consistency=self.is_consistency)

    @property
    def span(self) -> float | None:
        """How far apart the worst and the best value are; `None` where one has no end."""
        low, high = self.range
        return None if low is None or high is None else high - low


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRollout:
    """One video of one model for one case and seed, as recorded in the run."""

    id: str
    model: str
    case: str
    subset: str
    scene: str
    seed: str
    video: str
    """Its path, absolute or relative to where `lookaway eval` was started."""
    content: str
    """Hash of video, artifacts and case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedValues:
    """The values of one metric that count for one model and subset: as columns, since there may be many."""

    values: Floats
    rollouts: tuple[str, ...]
    cases: tuple[str, ...]
    scenes: tuple[str, ...]
    seeds: tuple[str, ...]

    @property
    def effective(self) -> float:
        """The effective sample size: how many independent values they are worth."""
        return float(effective_size(named_scene_sums(self.values, self.scenes)).size) if len(self.values) else 0.0


NO_VALUES = CountedValues(values=np.array([]), rollouts=(), cases=(), scenes=(), seeds=())


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRun:
    """One run with everything that a report shows of it."""

    run: Run
    name: str
    """Unique among the runs of a report."""
    suite: str
    suite_title: str
    lock: Lock
    about: Mapping[str, Any]
    metrics: tuple[LoadedMetric, ...]
    groups: tuple[Group, ...]
    table: Table
    """Groups and table as `Run.results` gives them."""
    rollouts: Mapping[str, LoadedRollout]
    """Those that its metrics are about, by id."""
    cards: RunCards = field(default_factory=RunCards)
    """What is known of its metrics at the size and frame rate of its videos."""
    controls: Mapping[str, str] = field(default_factory=dict)
    """Models that were declared as controls, each with what it is: they are shown apart and not ranked."""
    feature_keys: dict[str, list[tuple[str, FeatureStore, str]]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """Where features are stored, by name, once they were looked for."""

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.run.path

    @property
    def models(self) -> tuple[str, ...]:
        """Its models, in order of their names."""
        return tuple(sorted({rollout.model for rollout in self.rollouts.values()}))

    @property
    def scenes(self) -> list[SceneOfRollout]:
        """Model, scene and seed of its rollouts."""
        return [SceneOfRollout(entry.model, entry.scene, entry.seed) for entry in self.rollouts.values()]

    def items(self) -> Iterator[Mapping[str, Any]]:
        """Every outcome as a row: rollout, metric, status, reason, value, raw, message, detail, model, case, ..."""
        return self.run.items()

    def units(self, metric: str) -> Iterator[Mapping[str, Any]]:
        """Every frame pair, track, segment, phase or question of one metric, as a row."""
        return self.run.units(metric)

    def counted(self, models: Collection[str] | None = None) -> dict[GroupKey, CountedValues]:
        """The values of some models, or of all, that the cells of the table rest on; gates included."""
        found = counted_groups(self.groups, self.table.cells)
        return {key: self._with_cases(group) for key, group in found.items() if models is None or key.model in models}

    def _with_cases(self, group: Group) -> CountedValues:
        rollouts = [self.rollouts[rollout] for rollout in group.rollouts]
        return CountedValues(
            values=group.values,
            rollouts=group.rollouts,
            cases=tuple(rollout.case for rollout in rollouts),
            scenes=group.scenes,
            seeds=tuple(rollout.seed for rollout in rollouts),
        )


def counted_rollouts(run: LoadedRun) -> set[tuple[str, str]]:
    """Metrics and rollouts whose values count in the table; gates not among them."""
    found = counted_groups(run.groups, run.table.cells)
    return {(key.metric, rollout) for key, group in found.items() for rollout in group.rollouts}


def row_detail(row: Mapping[str, Any]) -> Mapping[str, Json]:
    """What the metric says besides the value, from a row of `items`."""
    value = json.loads(row["detail"]) if row["detail"] else None
    return value if isinstance(value, dict) else {}


def load_runs(paths: Sequence[Path], controls: Sequence[str] = ()) -> list[LoadedRun]:
    """The runs in these folders, in the order given; for `controls` see `with_controls`."""
    resolved = [path.resolve() for path in paths]
    for path, whole in zip(paths, resolved, strict=True):
        if resolved.count(whole) > 1:
            raise UserError(f"{path}: given more than once. Name every run once.")
    runs = [load_run(Run(path), name) for path, name in zip(paths, _names(resolved), strict=True)]
    return with_controls(runs, controls)


def with_controls(runs: Sequence[LoadedRun], controls: Sequence[str]) -> list[LoadedRun]:
    """The runs with some of their models as controls: each is named as `MODEL`, or `MODEL=what it is`."""
    found = dict(control_of(text, {model for run in runs for model in run.models}) for text in controls)
    return [
        replace(run, controls={model: what for model, what in found.items() if model in run.models}) for run in runs
    ]


def control_of(text: str, models: Collection[str]) -> tuple[str, str]:
    """Model and description of a control.

    >>> control_of("still=a still video", ["still"]), control_of("still", ["still"])
    (('still', 'a still video'), ('still', 'a control'))
    """
    name, _, what = (text, "", "") if text in models else text.partition("=")
    if name not in models:
        raise UnknownName("model for --control", name, models)
    return name, what.strip() or "a control"


def _names(paths: Sequence[Path]) -> list[str]:
    """The last components of paths, as few as make them unique."""
    for count in range(1, 1 + max((len(path.parts) for path in paths), default=1)):
        names = ["/".join(part.rstrip("/") for part in path.parts[-count:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    raise AssertionError("different paths have different parts")


def load_run(run: Run, name: str) -> LoadedRun:
    """One run under a name, its rows read once; rollouts of subsets that no metric is about are left out."""
    run = run.snapshot()
    lock, about, facts = run.lock, run.about, metric_facts(run)
    suite = load_suite(about["suite"])
    results, cards = run.results(), cards_of(run)
    measured = {(group.model, group.subset) for group in results.groups}
    rollouts = (LoadedRollout(id=row.pop("rollout"), **row) for row in RunFolder(run.path).rollouts().to_pylist())
    return LoadedRun(
        run=run,
        name=name,
        suite=suite.name,
        suite_title=suite.title,
        lock=lock,
        about=about,
        metrics=tuple(_metric(entry, facts[entry.name], cards) for entry in run.metrics),
        groups=results.groups,
        table=results.table,
        rollouts={rollout.id: rollout for rollout in rollouts if (rollout.model, rollout.subset) in measured},
        cards=cards,
    )


def _metric(entry: AskedMetric, known: MetricFacts | None, cards: RunCards) -> LoadedMetric:
    return LoadedMetric(
        name=entry.name,
        lock=entry.lock,
        subsets=entry.subsets,
        is_gate=entry.is_gate,
        is_consistency=entry.is_consistency,
        protocol=entry.protocol,
        unit=known.unit if known else None,
        range=known.range if known else (None, None),
        higher_is_better=known.higher_is_better if known else None,
        card=cards.found.get(entry.name),
        frozen_wins=cards.frozen.get(entry.name),
    )


MAX_SOFTWARE: Final = 8
"""The most packages of a metric whose parts are tried."""


def kept_feature(run: LoadedRun, rollout: LoadedRollout, name: str) -> tuple[str, Feature] | None:
    """The feature of this name and its extractor; `None` where none is stored with the run, nor in its `--features`."""
    if name not in run.feature_keys:
        run.feature_keys[name] = list(_stored_keys(run, name))
    for kind, store, key in run.feature_keys[name]:
        for content in (video_key(rollout.content), rollout.content):
            if (feature := store.get(content, key)) is not None:
                return kind, feature
    return None


def _stored_keys(run: LoadedRun, name: str) -> Iterator[tuple[str, FeatureStore, str]]:
    """Every key under which the feature of this name may be stored, with its extractor and where."""
    stores = [FeatureStore(folder) for folder in _feature_folders(run)]
    seen: set[str] = set()
    for entries in run.lock.entries.get("metrics", {}).values():
        recipe = entries.get("features", {}).get(name)
        for software in _software_parts(entries.get("software", {})) if recipe is not None else ():
            key = digest({"recipe": recipe, "software": software, "decoder": entries.get("decoder")})[:KEY_CHARACTERS]
            if key not in seen:
                seen.add(key)
                kind = str(recipe.get("kind", name))
                yield from ((kind, store, key) for store in stores if is_remote(store.root) or store.has(key))


def _feature_folders(run: LoadedRun) -> Iterator[Path]:
    yield RunFolder(run.path).features
    elsewhere = (run.about.get("requested") or {}).get("features")
    # A run that was received must not send us to another host.
    if isinstance(elsewhere, str) and ("://" not in elsewhere or is_remote(run.path)):
        yield as_path(elsewhere)


def _software_parts(software: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """Every part of the software of a metric: the lock names that of all its recipes together."""
    names = sorted(software)[:MAX_SOFTWARE]
    for count in range(len(names) + 1):
        for part in combinations(names, count):
            yield {name: software[name] for name in part}
