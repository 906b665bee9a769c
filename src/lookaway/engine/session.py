"""Runs the work of a plan: sends batches to an executor, records the results, and compacts the run folder."""

from __future__ import annotations

import logging
import platform
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from lookaway.core import (
    BoundMetric,
    Executor,
    Failure,
    GaveUp,
    Json,
    JudgeHandle,
    RunError,
    Service,
    ServiceClients,
    StorageError,
)
from lookaway.engine.costs import add_to_machine_costs
from lookaway.engine.limits import RolloutLimits
from lookaway.engine.locking import metric_key
from lookaway.engine.shared_services import JUDGE, RemoteJudge
from lookaway.engine.smoke import Smoke
from lookaway.engine.timings import SessionCosts, StageTimings, save_session
from lookaway.engine.worker import BatchReport, Report, RolloutWorker, Work
from lookaway.judges.budget import Budget, Spending, Spent
from lookaway.judges.settings import JudgeSettings
from lookaway.store.feature_store import FeatureStore
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import COMPACT_AFTER_PARTS, SPENDING, RunFolder

LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class SessionLog:
    """Records the events and costs of one session. Use as a context manager: costs are stored however it ends."""

    folder: RunFolder
    executor: Executor
    judge: JudgeSettings | None
    work: Sequence[Work]
    timings: StageTimings
    """Updated by `add`."""
    costs: SessionCosts = field(init=False)
    _started: float = field(default_factory=time.perf_counter)
    _has_workers: bool = False
    _by_machine: dict[str, StageTimings] = field(default_factory=dict)
    _spending: Spending = field(init=False)
    _spent_before: Spent = field(init=False)

    def __post_init__(self) -> None:
        self.costs = SessionCosts(executor=self.executor.name, workers=self.executor.workers, timings=self.timings)
        self._spending = Spending(self.folder.path / SPENDING, Budget())
        self._spent_before = self._spent()

    def __enter__(self) -> Self:
        self.folder.note(
            "started",
            session=self.costs.id,
            executor=self.costs.executor,
            rollouts=len(self.work),
            measurements=sum(len(entry.metrics) for entry in self.work),
            lookaway=version("lookaway"),
            python=platform.python_version(),
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._end("finished")
            return
        try:
            if not isinstance(error, StorageError):  # storage does not answer, and waiting for it would take minutes
                self._end("stopped", error=type(error).__name__)
        except (OSError, RunError) as second:
            LOG.warning("The costs of this session were not stored: %s", second)

    def add(self, result: BatchReport) -> None:
        """Add the costs and reports of a batch."""
        self.count(result.reports)
        self.timings.add(result.timings)
        self._by_machine.setdefault(result.machine, StageTimings()).add(result.timings)

    def count(self, reports: Sequence[Report]) -> None:
        """Count finished rollouts."""
        self.costs.rollouts += len(reports)
        self.costs.failures += sum(report.failures for report in reports)

    def note_workers(self) -> None:
        """Record the number of workers, known once a cluster is connected, and their deaths in the events."""
        if not self._has_workers:
            self._has_workers, self.costs.workers = True, self.executor.workers
            where = {"dashboard": self.executor.dashboard} if self.executor.dashboard else {}
            self.folder.note("working", session=self.costs.id, workers=self.costs.workers, **where)
        if self.executor.deaths > self.costs.deaths:
            self.costs.deaths, self.costs.retries = self.executor.deaths, self.executor.retries
            self.folder.note("worker_died", deaths=self.costs.deaths, retries=self.costs.retries)

    def save(self) -> None:
        """Store the costs of the session so far."""
        self.costs.seconds = round(time.perf_counter() - self._started, 3)
        spent, before = self._spent(), self._spent_before
        self.costs.judge = Spent(
            calls=spent.calls - before.calls,
            prompt_tokens=spent.prompt_tokens - before.prompt_tokens,
            answer_tokens=spent.answer_tokens - before.answer_tokens,
        )
        save_session(self.folder.path, self.costs)

    def _end(self, how: str, **facts: str) -> None:
        self.note_workers()
        self.save()
        add_to_machine_costs(self._by_machine, self._judge_costs())
        self.folder.note(
            how,
            session=self.costs.id,
            rollouts=self.costs.rollouts,
            failures=self.costs.failures,
            seconds=self.costs.seconds,
            **facts,
        )

    def _judge_costs(self) -> tuple[str, Spent, float | None] | None:
        """The judge, what was spent on it, and the duration of the session if it mostly waited for the judge."""
        if self.judge is None:
            return None
        seconds = self.costs.seconds
        is_paced_by_judge = self.timings.is_mostly_waiting_for_judge(self.costs.workers * seconds)
        return self.judge.model.model, self.costs.judge, seconds if is_paced_by_judge else None

    def _spent(self) -> Spent:
        return Spent() if self.judge is None else self._spending.spent()


Batch: TypeAlias = tuple[Work, ...]
BATCH_SECONDS = 0.5
"""How long a batch should take."""
MAX_BATCH = 256
"""Maximum rollouts in a batch; a worker that dies loses all of it."""
GROWTH = 4
"""Maximum ratio of a batch to the one before: the first rollouts may not be typical."""


@dataclass(slots=True)
class Batches:
    """The work of a run in batches that grow while rollouts are fast."""

    work: Sequence[Work]
    max_size: int = MAX_BATCH
    ahead: Sequence[Work] = ()
    """Work that comes first, one rollout at a time; nothing else starts before all of it is finished."""
    continues: Callable[[], bool] = lambda: True
    """Called once, when `ahead` is finished: whether the rest is run."""
    _given: int = 0
    _finished: int = 0
    _size: int = 1
    _retries: deque[Batch] = field(default_factory=deque)

    def __post_init__(self) -> None:
        if self.ahead:
            first = {entry.rollout.id for entry in self.ahead}
            self.work = [*self.ahead, *(entry for entry in self.work if entry.rollout.id not in first)]

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if self._retries:
            return self._retries.popleft()
        is_ahead = self._finished < len(self.ahead)
        size = min(1, len(self.ahead) - self._given) if is_ahead else self._size
        batch = tuple(self.work[self._given : self._given + size])
        if not batch:
            raise StopIteration
        self._given += len(batch)
        return batch

    def finish(self, rollouts: int) -> None:
        """Count finished rollouts, failed or not."""
        before, self._finished = self._finished, self._finished + rollouts
        if before < len(self.ahead) <= self._finished and not self.continues():
            self.work = self.work[: self._given]

    def adapt(self, rollouts: int, seconds: float) -> None:
        """Choose the next batch size from the duration of a batch."""
        ideal = int(BATCH_SECONDS * rollouts / seconds) if seconds > 0 else self.max_size
        self._size = max(1, min(ideal, GROWTH * self._size, self.max_size))

    def split(self, batch: Batch) -> None:
        """Retry every rollout of a batch alone."""
        self._retries.extend((work,) for work in batch)

    def put_back(self, batch: Batch) -> None:
        """Give out a batch that was not begun again."""
        if batch:
            self._retries.append(batch)


WITH_REMOTE_NETWORKS = 2
"""Rollouts that a worker holds if networks are remote: it decodes one while they run on the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a run."""

    done: int
    total: int
    failures: int
    last: Report | None
    seconds: float = 0.0
    """Since the start of the session."""
    timings: StageTimings = field(default_factory=StageTimings)
    """Total of all workers in this session."""
    retries: int = 0
    dashboard: str | None = None


@dataclass(slots=True, kw_only=True)
class Session:
    """One session of a run, until it finishes or is interrupted."""

    folder: RunFolder
    features: Path
    metrics: Sequence[BoundMetric]
    judge: JudgeSettings | None
    executor: Executor
    services: Mapping[str, Service]
    limits: RolloutLimits | None
    """Limits of each rollout; `None` where the executor cannot end a worker."""
    notify: Callable[[Progress], None]
    timings: StageTimings = field(default_factory=StageTimings)
    failures: int = 0
    done: int = 0
    _total: int = 0
    _started: float = 0.0
    _parts: int = 0
    _recorded: list[Json] = field(default_factory=list)

    def run(self, work: Sequence[Work], smoke: Smoke | None = None) -> None:
        """Measure everything; if a smoke test comes first and fails, nothing else."""
        self._total, self._started = len(work), time.perf_counter()
        self._notify(None)
        if work:
            max_size = MAX_BATCH if self.judge is None else 1
            batches = Batches(work, max_size, smoke.work, smoke.is_passed) if smoke else Batches(work, max_size)
            make = partial(make_worker, self.folder, self.features, self.metrics, self._worker_judge(), self.limits)
            with SessionLog(self.folder, self.executor, self.judge, work, self.timings) as log:
                for result in self.executor.map(make, batches, at_once=self._at_once(), services=self.services):
                    self._record(result, batches, log)
        self.folder.compact()

    def _record(self, result: BatchReport | GaveUp[Batch], batches: Batches, log: SessionLog) -> None:
        log.note_workers()
        if isinstance(result, GaveUp):
            if len(result.item) > 1:
                batches.split(result.item)
                return
            reports: Sequence[Report] = [self._give_up(result.item[0], result.workers)]
            log.count(reports)
        else:
            reports = result.reports
            self._record_once(result.environment, self.folder.add_environment)
            self._record_once(result.code, self.folder.add_code)
            batches.put_back(result.rest)
            batches.adapt(len(reports), result.seconds)
            log.add(result)
        for report in reports:
            self.done += 1
            self.failures += report.failures
            self._notify(report)
        batches.finish(len(reports))
        self._parts += 1
        if self._parts % COMPACT_AFTER_PARTS == 0:
            self.folder.compact()
            log.save()

    def _record_once(self, found: Json, record: Callable[[Json], None]) -> None:
        """Record beside the lock what measured, if it is new."""
        if found is not None and found not in self._recorded:
            self._recorded.append(found)
            record(found)

    def _give_up(self, work: Work, workers: int) -> Report:
        """Record a failure of all metrics, since no measurement of the rollout survived."""
        died = "The process that measured it died." if workers == 1 else f"{workers} workers died of it, one by one."
        outcome = Failure("WorkerDied", f"{died} It may have run out of memory: set a limit with --rollout-memory.")
        keys = {bound.name: metric_key(bound) for bound in self.metrics}
        self.folder.add(
            [
                Measured(rollout=work.rollout.id, content=work.content, metric=name, lock=keys[name], outcome=outcome)
                for name in work.metrics
            ]
        )
        self.folder.note("lost", rollout=work.rollout.id, workers=workers)
        nothing = {"scores": 0, "abstentions": 0, "decoded_frames": 0}
        return Report(rollout=work.rollout.id, failures=len(work.metrics), seconds=0.0, **nothing)

    def _notify(self, last: Report | None) -> None:
        self.notify(
            Progress(
                done=self.done,
                total=self._total,
                failures=self.failures,
                last=last,
                seconds=time.perf_counter() - self._started,
                timings=self.timings,
                retries=self.executor.retries,
                dashboard=self.executor.dashboard,
            )
        )

    def _worker_judge(self) -> JudgeSettings | None:
        """The judge settings of workers; `None` if the judge is a shared service."""
        return None if JUDGE in self.services else self.judge

    def _at_once(self) -> int:
        """How many rollouts a worker holds at once, most of which wait."""
        questions = 1 if self.judge is None else self.judge.policy.share(self.executor.workers).concurrent
        return max(questions, WITH_REMOTE_NETWORKS if self.services.keys() - {JUDGE} else 1)


def make_worker(
    folder: RunFolder,
    features: Path,
    metrics: Sequence[BoundMetric],
    judge: JudgeSettings | None,
    limits: RolloutLimits | None,
    clients: ServiceClients,
) -> RolloutWorker:
    """A worker of a run, with the clients of shared services."""
    networks = {name: client for name, client in clients.items() if name != JUDGE}
    client: JudgeHandle | None = None
    if JUDGE in clients:
        client = RemoteJudge(clients[JUDGE])
    elif judge is not None:
        client = judge.open_clients(folder.path)
    bounds = {bound.name: bound for bound in metrics}
    return RolloutWorker(folder, FeatureStore(features), bounds, client, networks, limits)
