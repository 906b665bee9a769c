"""Measures rollouts: extracts the features that their metrics need, runs the metrics, writes the rows."""

from __future__ import annotations

import stat
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace

from lookaway.core import (
    Abstention,
    BoundMetric,
    Extractor,
    Failure,
    Feature,
    Json,
    JudgeHandle,
    LastResult,
    Outcome,
    Reason,
    Rollout,
    Score,
    ServiceClients,
    Unmeasurable,
)
from lookaway.engine.code_fingerprint import code_of
from lookaway.engine.environment import environment
from lookaway.engine.feature_job import Extractors, FeatureJob, Perceived, with_needs
from lookaway.engine.limits import SECONDS_BETWEEN_LOOKS, RolloutLimits, Stopwatch, held_memory
from lookaway.engine.locking import metric_key
from lookaway.engine.timings import METRICS, WRITING, StageTimings, kind_of_machine
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
    """A summary of one rollout; the outcomes themselves are on disk."""

    rollout: str
    scores: int
    abstentions: int
    failures: int
    decoded_frames: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """The reports and costs of one batch."""

    reports: tuple[Report, ...]
    rest: tuple[Work, ...] = ()
    """Work that was not begun, since a rollout before it passed a limit."""
    seconds: float
    timings: StageTimings
    machine: str = field(default_factory=kind_of_machine)
    """The kind of machine."""
    environment: Json = field(default_factory=environment)
    """Libraries, instruction sets and kernels of the process."""
    code: Json = None
    """Version and fingerprints of the code that measured; `None` where nothing was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finished:
    report: Report
    measured: Sequence[Measured]
    traces: Sequence[str]
    timings: StageTimings


@dataclass(slots=True)
class _Batch:
    """How far a batch is."""

    work: Sequence[Work]
    metrics: Mapping[str, BoundMetric]
    finished: list[_Finished] = field(default_factory=list)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    """Outcomes of the rollout that is being measured, so far."""
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    """The time spent on that rollout."""
    started: float = field(default_factory=time.perf_counter)

    def report(self, finished: Sequence[_Finished], timings: StageTimings) -> BatchReport:
        """The report of the finished rollouts."""
        for entry in finished:
            timings.add(entry.timings)
        seconds = time.perf_counter() - self.started
        reports = tuple(entry.report for entry in finished)
        return BatchReport(reports=reports, seconds=seconds, timings=timings, code=self._code(finished))

    def _code(self, finished: Sequence[_Finished]) -> Json:
        measured = {entry.metric for one in finished for entry in one.measured}
        return code_of(self.metrics[name] for name in sorted(measured)) if measured else None


@dataclass(slots=True)
class RolloutWorker:
    """Measures rollouts, and keeps extractors loaded between them."""

    folder: RunFolder
    features: FeatureStore
    metrics: Mapping[str, BoundMetric]
    judge: JudgeHandle | None = None
    """For metrics that need a judge."""
    remote: ServiceClients = field(default_factory=dict)
    """Clients of the extractors that run in other processes, by name."""
    limits: RolloutLimits | None = None
    """Limits of each rollout; only for a worker that its executor can end."""
    _extractors: Extractors = field(init=False)
    _metric_keys: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Rollouts that wait for a judge share the worker; only one at a time uses its networks."""
    _stopwatch: Stopwatch = field(default_factory=Stopwatch)
    """The stopwatch of the rollout that holds the lock."""

    def __post_init__(self) -> None:
        self._extractors = Extractors(self.features, self.judge, self.remote, self._uncounted)

    def __call__(self, batch: Sequence[Work]) -> BatchReport | LastResult[BatchReport]:
        """Measure a batch of rollouts and write their rows to one file.

        Where a rollout passes a limit, it is still running in this process: the result is the last one.
        """
        progress = _Batch(batch, self.metrics)
        if self.limits is None:
            return self._measure_batch(progress)
        done: Future[BatchReport] = Future()
        threading.Thread(target=_settle, args=(done, self._measure_batch, progress), daemon=True).start()
        while not wait([done], SECONDS_BETWEEN_LOOKS).done:
            position = len(progress.finished)
            passed = self.limits.passed(progress.stopwatch.seconds, held_memory())
            if passed and progress.stopwatch.is_running and position == len(progress.finished):
                return LastResult(self._abandon(progress, position, passed))
        return done.result()

    def _measure_batch(self, batch: _Batch) -> BatchReport:
        timings = StageTimings()
        try:
            for work in batch.work:
                batch.finished.append(self._measure_all(work, batch))
        finally:
            self._write(batch.finished, timings)
        return batch.report(batch.finished, timings)

    def _abandon(self, batch: _Batch, position: int, passed: Abstention) -> BatchReport:
        """Write what is finished, and the rollout that passed a limit: its metrics abstain, but for those measured."""
        work, outcomes, timings = batch.work[position], dict(batch.outcomes), StageTimings()
        measured = self._measured(work, {name: outcomes.get(name, passed) for name in work.metrics})
        report = _report(work, measured, decoded_frames=0, seconds=batch.stopwatch.seconds)
        ended = _Finished(report=report, measured=measured, traces=_traces(measured, ()), timings=StageTimings())
        finished = [*batch.finished[:position], ended]
        self._write(finished, timings)
        self.folder.note("passed_limit", rollout=work.rollout.id, reason=passed.reason.value, **passed.detail)
        return replace(batch.report(finished, timings), rest=tuple(batch.work[position + 1 :]))

    def _measure_all(self, work: Work, batch: _Batch) -> _Finished:
        batch.stopwatch.reset()
        batch.outcomes.clear()
        with self._working(batch):
            started = time.perf_counter()
            bounds, declined, job = self._begin(work)
            batch.outcomes.update((name, outcome) for name, outcome in declined.items() if outcome is not None)
            job.extract()
        perceived = job.wait()
        with self._working(batch), job.timings.timed(METRICS) as stage:
            for bound in bounds:
                if bound.name not in batch.outcomes:
                    batch.outcomes[bound.name] = measure(bound, work.rollout, perceived)
            stage.rollouts += 1
        measured = self._measured(work, {bound.name: batch.outcomes[bound.name] for bound in bounds})
        seconds = time.perf_counter() - started
        report = _report(work, measured, decoded_frames=job.decoded_frames, seconds=seconds)
        traces = _traces(measured, perceived.values())
        return _Finished(report=report, measured=measured, traces=traces, timings=job.timings)

    @contextmanager
    def _working(self, batch: _Batch) -> Iterator[None]:
        """Work on a rollout, alone in this process."""
        with self._lock:
            self._stopwatch = batch.stopwatch
            with batch.stopwatch.running():
                yield

    def _uncounted(self) -> AbstractContextManager[None]:
        return self._stopwatch.paused()

    def close(self) -> None:
        """Close the judge client."""
        close = getattr(self.judge, "close", None)
        if close is not None:
            close()

    def _begin(self, work: Work) -> tuple[list[BoundMetric], dict[str, Outcome | None], FeatureJob]:
        """The metrics, why some are not applicable, and the features to extract for the others."""
        bounds = [self.metrics[name] for name in work.metrics]
        problem = video_problem(work.rollout)
        declined = {bound.name: problem or why_not_applicable_safely(bound, work.rollout) for bound in bounds}
        recipes = [recipe for bound in bounds if declined[bound.name] is None for recipe in bound.recipes.values()]
        return bounds, declined, FeatureJob(self._extractors, work.rollout, work.content, recipes, idle=self._unlocked)

    @contextmanager
    def _unlocked(self) -> Iterator[None]:
        """Let other rollouts use the networks meanwhile; the time is not this rollout's own."""
        stopwatch = self._stopwatch
        with stopwatch.paused():
            self._lock.release()
            try:
                yield
            finally:
                self._lock.acquire()
                self._stopwatch = stopwatch

    def _measured(self, work: Work, outcomes: Mapping[str, Outcome]) -> list[Measured]:
        """Outcomes with their keys; a failure where a metric returned something that cannot be stored."""
        entries = [
            Measured(
                rollout=work.rollout.id, content=work.content, metric=name, lock=self._metric_key(name), outcome=outcome
            )
            for name, outcome in outcomes.items()
        ]
        # A table takes as long for one outcome as for some.
        if _storage_error(entries) is None:
            return entries
        errors = ((entry, _storage_error([entry])) for entry in entries)
        return [entry if error is None else replace(entry, outcome=_outcome_of(error)) for entry, error in errors]

    def _metric_key(self, name: str) -> str:
        if name not in self._metric_keys:
            self._metric_keys[name] = metric_key(self.metrics[name])
        return self._metric_keys[name]

    def _write(self, finished: Sequence[_Finished], timings: StageTimings) -> None:
        """Write the rows, then the events."""
        with timings.timed(WRITING) as writing:
            writing.rollouts += len(finished)
            if finished:
                self._write_rows(finished)

    def _write_rows(self, finished: Sequence[_Finished]) -> None:
        self.folder.add([entry for one in finished for entry in one.measured])
        self.folder.note_all(
            [
                {
                    "event": "measured",
                    "rollout": one.report.rollout,
                    "decoded_frames": one.report.decoded_frames,
                    "seconds": round(one.report.seconds, 4),
                    "failures": list(one.traces),
                }
                for one in finished
            ]
        )


def _storage_error(entries: Sequence[Measured]) -> Exception | None:
    """Why outcomes cannot be stored, if so."""
    try:
        rows(entries)
    except Exception as error:  # noqa: BLE001 - a crash is a finding about this rollout, not the end of the run
        return error
    return None


def _settle(done: Future[BatchReport], measure: Callable[[_Batch], BatchReport], batch: _Batch) -> None:
    """Run the work of a thread, for another one that waits for it."""
    try:
        done.set_result(measure(batch))
    except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
        done.set_exception(error)


def _report(work: Work, measured: Sequence[Measured], *, decoded_frames: int, seconds: float) -> Report:
    return Report(
        rollout=work.rollout.id,
        scores=sum(isinstance(entry.outcome, Score) for entry in measured),
        abstentions=sum(isinstance(entry.outcome, Abstention) for entry in measured),
        failures=sum(isinstance(entry.outcome, Failure) for entry in measured),
        decoded_frames=decoded_frames,
        seconds=seconds,
    )


def _traces(measured: Sequence[Measured], perceived: Iterable[Perceived]) -> list[str]:
    """Tracebacks of all failures, optional features included."""
    traces = [entry.outcome.trace for entry in measured if isinstance(entry.outcome, Failure)]
    outcomes = [_outcome_of(problem) for problem in perceived if isinstance(problem, Exception)]
    traces += [outcome.trace for outcome in outcomes if isinstance(outcome, Failure)]
    return list(dict.fromkeys(traces))


def video_problem(rollout: Rollout) -> Abstention | None:
    """Why no metric can run on a rollout, without opening the video; `None` if one may."""
    if rollout.problem is not None:
        return Abstention(rollout.problem.reason, str(rollout.problem))
    name = rollout.video.name
    try:
        found = rollout.video.stat()
    except OSError:
        return Abstention(Reason.MISSING_VIDEO, f"{name}: there is no such file.")
    if stat.S_ISDIR(found.st_mode):
        return None  # pictures are counted when it is opened
    if not stat.S_ISREG(found.st_mode):
        return Abstention(Reason.NOT_A_VIDEO, f"{name}: not a regular file.")
    return None if found.st_size else Abstention(Reason.EMPTY_FILE, f"{name}: the file is empty.")


def why_not_applicable(bound: BoundMetric, rollout: Rollout) -> Abstention | None:
    """Why a metric cannot run on a rollout with a readable video, judging by case and artifacts."""
    if (declined := bound.metric.declines(rollout)) is not None:
        return declined
    for recipe in with_needs(bound.recipes[need] for need in bound.metric.needs):
        if (declined := recipe.declines(rollout)) is not None:
            return declined
    return None


def why_not_applicable_safely(bound: BoundMetric, rollout: Rollout) -> Outcome | None:
    """The same, with a crash of a plugin as a `Failure`, so that it does not end the run."""
    try:
        return why_not_applicable(bound, rollout)
    except Exception as error:  # noqa: BLE001 - a crash is a finding about this rollout, not the end of the run
        return _outcome_of(error)


def measure(bound: BoundMetric, rollout: Rollout, perceived: Mapping[Extractor, Perceived]) -> Outcome:
    """The outcome of one metric on one rollout, from its features."""
    found = {feature: perceived[recipe] for feature, recipe in bound.recipes.items()}
    for need in bound.metric.needs:
        problem = found[need]
        if isinstance(problem, Exception):
            return _outcome_of(problem)
    features = _Available({name: feature for name, feature in found.items() if isinstance(feature, Feature)})
    features.problems = {name: problem for name, problem in found.items() if isinstance(problem, Exception)}
    try:
        return bound.metric.measure(rollout, features)
    except Exception as error:  # noqa: BLE001 - a crash is a finding about this rollout, not the end of the run
        return _outcome_of(error)


class _Available(dict[str, Feature]):
    """The features of a rollout by name; to ask for one that there is not raises why."""

    problems: Mapping[str, Exception]

    def __missing__(self, name: str) -> Feature:
        raise self.problems.get(name) or KeyError(name)


def _outcome_of(error: Exception) -> Outcome:
    if isinstance(error, Unmeasurable):
        return Abstention(error.reason, str(error))
    return Failure(type(error).__name__, str(error), "".join(traceback.format_exception(error)))
