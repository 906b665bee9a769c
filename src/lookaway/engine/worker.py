"""Measures one rollout: decodes it once, perceives each feature once, asks every metric."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from lookaway.core import (
    Abstention,
    BoundMetric,
    Extractor,
    Failure,
    Feature,
    FrameRequest,
    Outcome,
    Perceiver,
    Rollout,
    Timeline,
    Unmeasurable,
    Watch,
)
from lookaway.engine.locking import metric_key, recipe_key
from lookaway.io.video import Video
from lookaway.store.feature_store import FeatureStore
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import RunFolder

Perceived: TypeAlias = Feature | Exception
"""A feature, or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One rollout and the metrics that it still lacks."""

    rollout: Rollout
    content: str
    metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of one rollout; the outcomes themselves are on disk."""

    rollout: str
    scores: int
    abstentions: int
    failures: int
    decoded_frames: int
    seconds: float


@dataclass(slots=True)
class RolloutWorker:
    """Keeps loaded extractors for all the rollouts it is given."""

    folder: RunFolder
    features: FeatureStore
    metrics: Mapping[str, BoundMetric]
    _perceivers: dict[str, Perceiver] = field(default_factory=dict)
    _recipe_keys: dict[Extractor, str] = field(default_factory=dict)
    _metric_keys: dict[str, str] = field(default_factory=dict)

    def __call__(self, work: Work) -> Report:
        """Measure one rollout and write its rows."""
        started = time.perf_counter()
        bounds = [self.metrics[name] for name in work.metrics]
        declined = {bound.name: decline(bound, work.rollout) for bound in bounds}
        asked = [bound for bound in bounds if declined[bound.name] is None]
        perceiving = Perceiving(self, work, [recipe for bound in asked for recipe in bound.recipes.values()])
        perceived = perceiving.run()
        outcomes = {
            bound.name: declined[bound.name] or self._measure(bound, work.rollout, perceived) for bound in bounds
        }
        self.folder.add(
            [
                Measured(
                    rollout=work.rollout.id,
                    content=work.content,
                    metric=name,
                    lock=self._metric_key(name),
                    outcome=outcome,
                )
                for name, outcome in outcomes.items()
            ]
        )
        return self._report(work, list(outcomes.values()), perceiving.decoded_frames, started)

    def perceiver(self, recipe: Extractor) -> Perceiver:
        """The loaded extractor of a recipe, loaded at its first use."""
        key = self.recipe_key(recipe)
        if key not in self._perceivers:
            self._perceivers[key] = recipe.load()
        return self._perceivers[key]

    def recipe_key(self, recipe: Extractor) -> str:
        """The key of a recipe, computed once."""
        if recipe not in self._recipe_keys:
            self._recipe_keys[recipe] = recipe_key(recipe)
        return self._recipe_keys[recipe]

    def _metric_key(self, name: str) -> str:
        if name not in self._metric_keys:
            self._metric_keys[name] = metric_key(self.metrics[name])
        return self._metric_keys[name]

    def _measure(self, bound: BoundMetric, rollout: Rollout, perceived: Mapping[Extractor, Perceived]) -> Outcome:
        found = {feature: perceived[recipe] for feature, recipe in bound.recipes.items()}
        for need in bound.metric.needs:
            problem = found[need]
            if isinstance(problem, Exception):
                return _outcome_of(problem)
        features = {name: feature for name, feature in found.items() if isinstance(feature, Feature)}
        try:
            return bound.metric.measure(rollout, features)
        except Exception as error:  # noqa: BLE001 - a crash is a finding about this rollout, not the end of the run
            return _outcome_of(error)

    def _report(self, work: Work, outcomes: Sequence[Outcome], decoded_frames: int, started: float) -> Report:
        failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
        abstentions = sum(isinstance(outcome, Abstention) for outcome in outcomes)
        report = Report(
            rollout=work.rollout.id,
            scores=len(outcomes) - abstentions - len(failures),
            abstentions=abstentions,
            failures=len(failures),
            decoded_frames=decoded_frames,
            seconds=time.perf_counter() - started,
        )
        self.folder.note(
            "measured",
            rollout=work.rollout.id,
            decoded_frames=decoded_frames,
            seconds=round(report.seconds, 4),
            failures=[failure.trace for failure in failures],
        )
        return report


@dataclass(slots=True)
class Perceiving:
    """All features of one rollout: those on disk are read, the rest share one pass over the video."""

    worker: RolloutWorker
    work: Work
    wanted: Iterable[Extractor]
    decoded_frames: int = 0
    perceived: dict[Extractor, Perceived] = field(default_factory=dict)
    _begun: dict[Extractor, Watch] = field(default_factory=dict)

    def run(self) -> dict[Extractor, Perceived]:
        """Every wanted feature, or why there is none."""
        missing = [recipe for recipe in _with_needs(self.wanted) if not self._restore(recipe)]
        if not missing:
            return self.perceived
        try:
            with Video(self.work.rollout.video) as video:
                while missing:
                    missing = self._round(video, missing)
        except Unmeasurable as error:
            self.perceived.update((recipe, error) for recipe in missing if recipe not in self.perceived)
        return self.perceived

    def rehearse(self) -> dict[Extractor, FrameRequest]:
        """The frames that would be asked for: everything but decoding and perceiving."""
        missing = [recipe for recipe in _with_needs(self.wanted) if not self._restore(recipe)]
        if not missing:
            return {}
        with Video(self.work.rollout.video) as video:
            while readers := self._begin_all(video, missing):
                for recipe, watch in readers.items():
                    self._finish(recipe, watch)
        return {recipe: watch.request for recipe, watch in self._begun.items() if watch.request is not None}

    def _restore(self, recipe: Extractor) -> bool:
        if (kept := self.worker.features.get(self.work.content, self.worker.recipe_key(recipe))) is not None:
            self.perceived[recipe] = kept
        return kept is not None

    def _round(self, video: Video, missing: Sequence[Extractor]) -> list[Extractor]:
        """Read every file that can be read; when none is left, let all watchers share one pass over the frames."""
        readers = self._begin_all(video, missing)
        waiting = {recipe: watch for recipe, watch in self._begun.items() if recipe not in self.perceived}
        if not readers:
            self._watch(video, waiting)
        for recipe, watch in (readers or waiting).items():
            self._finish(recipe, watch)
        return [recipe for recipe in missing if recipe not in self.perceived]

    def _begin_all(self, video: Video, missing: Sequence[Extractor]) -> dict[Extractor, Watch]:
        """Begin every recipe whose needs are known; those that read files only."""
        for recipe in missing:
            is_new = recipe not in self._begun and recipe not in self.perceived
            if is_new and all(need in self.perceived for need in recipe.needs.values()):
                self._begin(recipe, video.timeline)
        return {
            recipe: watch
            for recipe, watch in self._begun.items()
            if recipe not in self.perceived and watch.request is None
        }

    def _begin(self, recipe: Extractor, timeline: Timeline) -> None:
        needs = {name: self.perceived[need] for name, need in recipe.needs.items()}
        for problem in needs.values():
            if isinstance(problem, Exception):
                self.perceived[recipe] = problem
                return
        features = {name: feature for name, feature in needs.items() if isinstance(feature, Feature)}
        try:
            if (declined := recipe.declines(self.work.rollout)) is not None:
                raise Unmeasurable(declined.reason, declined.message)
            self._begun[recipe] = self.worker.perceiver(recipe).begin(self.work.rollout, timeline, features)
        except Exception as error:  # noqa: BLE001 - one feature less, not the end of the run
            self.perceived[recipe] = error

    def _watch(self, video: Video, watches: Mapping[Extractor, Watch]) -> None:
        watching = list(watches.items())
        requests = [watch.request for _, watch in watching if watch.request is not None]
        if not requests:
            return
        try:
            for position, frame in video.frames(requests):
                recipe, watch = watching[position]
                if recipe in self.perceived:
                    continue
                try:
                    watch.see(frame)
                except Exception as error:  # noqa: BLE001 - one feature less, not the end of the run
                    self.perceived[recipe] = error
        except Unmeasurable as error:
            self.perceived.update((recipe, error) for recipe in watches if recipe not in self.perceived)
            return
        self.decoded_frames += len(frozenset().union(*(request.indices for request in requests)))

    def _finish(self, recipe: Extractor, watch: Watch) -> None:
        if recipe in self.perceived:
            return
        try:
            feature = watch.perceive()
        except Exception as error:  # noqa: BLE001 - one feature less, not the end of the run
            self.perceived[recipe] = error
            return
        self.perceived[recipe] = feature
        self.worker.features.put(self.work.content, self.worker.recipe_key(recipe), feature)


def decline(bound: BoundMetric, rollout: Rollout) -> Abstention | None:
    """Why a metric cannot run on a rollout, as far as can be told without opening the video."""
    if rollout.problem is not None:
        return Abstention(rollout.problem.reason, str(rollout.problem))
    if (declined := bound.metric.declines(rollout)) is not None:
        return declined
    for recipe in _with_needs(bound.recipes[need] for need in bound.metric.needs):
        if (declined := recipe.declines(rollout)) is not None:
            return declined
    return None


def _with_needs(recipes: Iterable[Extractor]) -> list[Extractor]:
    """Recipes and all that they are made from, each once, needs first."""
    ordered: dict[Extractor, None] = {}
    for recipe in recipes:
        if recipe not in ordered:
            ordered.update(dict.fromkeys(_with_needs(recipe.needs.values())))
            ordered[recipe] = None
    return list(ordered)


def _outcome_of(error: Exception) -> Outcome:
    if isinstance(error, Unmeasurable):
        return Abstention(error.reason, str(error))
    return Failure(type(error).__name__, str(error), "".join(traceback.format_exception(error)))
