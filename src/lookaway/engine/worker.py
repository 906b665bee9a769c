"""Measures one rollout: perceives what its metrics need, asks every metric, writes the rows."""

from __future__ import annotations

import stat
import threading
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lookaway.core import (
    Abstention,
    BoundMetric,
    Extractor,
    Failure,
    Feature,
    Outcome,
    Reason,
    Rollout,
    Score,
    Unmeasurable,
)
from lookaway.engine.locking import metric_key
from lookaway.engine.perceiving import Extractors, Perceived, Perceiving, with_needs
from lookaway.judges.patient_asking import PatientAsking
from lookaway.store.feature_store import FeatureStore
from lookaway.store.outcome_rows import Measured, rows
from lookaway.store.run_folder import RunFolder


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
    asking: PatientAsking | None = None
    """For metrics that need what a judge says."""
    _extractors: Extractors = field(init=False)
    _metric_keys: dict[str, str] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    """Rollouts that wait for a judge share the worker; only one of them has its networks at a time."""

    def __post_init__(self) -> None:
        self._extractors = Extractors(self.features, self.asking)

    def __call__(self, work: Work) -> Report:
        """Measure one rollout and write its rows."""
        with self._turn:
            started = time.perf_counter()
            bounds, declined, perceiving = self._begin(work)
            perceiving.look()
        perceived = perceiving.settle()
        with self._turn:
            measured = [
                self._measured(work, bound.name, declined[bound.name] or _measure(bound, work.rollout, perceived))
                for bound in bounds
            ]
            self.folder.add(measured)
            report = Report(
                rollout=work.rollout.id,
                scores=sum(isinstance(entry.outcome, Score) for entry in measured),
                abstentions=sum(isinstance(entry.outcome, Abstention) for entry in measured),
                failures=sum(isinstance(entry.outcome, Failure) for entry in measured),
                decoded_frames=perceiving.decoded_frames,
                seconds=time.perf_counter() - started,
            )
            self._note(report, measured, perceived.values())
        return report

    def close(self) -> None:
        """Ask nobody any more."""
        if self.asking is not None:
            self.asking.close()

    def _begin(self, work: Work) -> tuple[list[BoundMetric], dict[str, Outcome | None], Perceiving]:
        """What is to be measured, what is known to be impossible, and what has to be perceived for the rest."""
        bounds = [self.metrics[name] for name in work.metrics]
        unwatchable = why_unwatchable(work.rollout)
        declined = {bound.name: unwatchable or _declined(bound, work.rollout) for bound in bounds}
        recipes = [recipe for bound in bounds if declined[bound.name] is None for recipe in bound.recipes.values()]
        return bounds, declined, Perceiving(self._extractors, work.rollout, work.content, recipes)

    def _measured(self, work: Work, name: str, outcome: Outcome) -> Measured:
        """The outcome with its key; a failure where the metric returned something that cannot be written down."""
        if name not in self._metric_keys:
            self._metric_keys[name] = metric_key(self.metrics[name])
        key = self._metric_keys[name]
        entry = Measured(rollout=work.rollout.id, content=work.content, metric=name, lock=key, outcome=outcome)
        try:
            rows([entry])
        except Exception as error:  # noqa: BLE001 - a crash is a finding about this rollout, not the end of the run
            return replace(entry, outcome=_outcome_of(error))
        return entry

    def _note(self, report: Report, measured: Sequence[Measured], perceived: Iterable[Perceived]) -> None:
        """Say in the events what was done, with the traces of all that crashed, optional features included."""
        traces = [entry.outcome.trace for entry in measured if isinstance(entry.outcome, Failure)]
        outcomes = [_outcome_of(problem) for problem in perceived if isinstance(problem, Exception)]
        traces += [outcome.trace for outcome in outcomes if isinstance(outcome, Failure)]
        self.folder.note(
            "measured",
            rollout=report.rollout,
            decoded_frames=report.decoded_frames,
            seconds=round(report.seconds, 4),
            failures=list(dict.fromkeys(traces)),
        )


def why_unwatchable(rollout: Rollout) -> Abstention | None:
    """Why no metric can run on a rollout, as far as can be told without opening the video."""
    if rollout.problem is not None:
        return Abstention(rollout.problem.reason, str(rollout.problem))
    name = rollout.video.name
    try:
        found = rollout.video.stat()
    except OSError:
        return Abstention(Reason.MISSING_VIDEO, f"{name}: there is no such file.")
    if not stat.S_ISREG(found.st_mode):
        return Abstention(Reason.NOT_A_VIDEO, f"{name}: not a regular file.")
    return None if found.st_size else Abstention(Reason.EMPTY_FILE, f"{name}: the file is empty.")


def why_declined(bound: BoundMetric, rollout: Rollout) -> Abstention | None:
    """Why a metric cannot run on a rollout that can be watched, as far as case and artifacts tell."""
    if (declined := bound.metric.declines(rollout)) is not None:
        return declined
    for recipe in with_needs(bound.recipes[need] for need in bound.metric.needs):
        if (declined := recipe.declines(rollout)) is not None:
            return declined
    return None


def _declined(bound: BoundMetric, rollout: Rollout) -> Outcome | None:
    try:
        return why_declined(bound, rollout)
    except Exception as error:  # noqa: BLE001 - a crash is a finding about this rollout, not the end of the run
        return _outcome_of(error)


def _measure(bound: BoundMetric, rollout: Rollout, perceived: Mapping[Extractor, Perceived]) -> Outcome:
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


def _outcome_of(error: Exception) -> Outcome:
    if isinstance(error, Unmeasurable):
        return Abstention(error.reason, str(error))
    return Failure(type(error).__name__, str(error), "".join(traceback.format_exception(error)))
