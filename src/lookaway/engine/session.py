"""Works through a plan: hands out batches, counts what comes back, and keeps the run folder tidy."""

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

from lookaway.core import BoundMetric, Executor, Failure, GaveUp, RunError, Service, ServiceClients, StorageError
from lookaway.engine.costs import add_to_machine_costs
from lookaway.engine.locking import metric_key
from lookaway.engine.sharing import JUDGE, RemoteJudge
from lookaway.engine.smoke import Smoke
from lookaway.engine.timings import SessionCosts, StageTimings, save_session
from lookaway.engine.worker import BatchReport, Report, RolloutWorker, Work
from lookaway.judges.settings import JudgeSettings
from lookaway.judges.spending import Budget, Spending, Spent
from lookaway.store.feature_store import FeatureStore
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import COMPACT_AFTER_PARTS, SPENDING, RunFolder

LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class SessionLog:
    """Of one session. Use as a context manager: what it took is kept however the session ends."""

    folder: RunFolder
    executor: Executor
    judge: JudgeSettings | None
    work: Sequence[Work]
    timings: StageTimings
    """Grows with what is added."""
    costs: SessionCosts = field(init=False)
    _started: float = field(default_factory=time.perf_counter)
    _is_at_work: bool = False
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
            if not isinstance(error, StorageError):  # nobody answers there, and waiting for it would take minutes
                self._end("stopped", error=type(error).__name__)
        except (OSError, RunError) as second:
            LOG.warning("What this session took was not kept: %s", second)

    def add(self, result: BatchReport) -> None:
        """What a batch took, and what became of its rollouts."""
        self.count(result.reports)
        self.timings.add(result.timings)
        self._by_machine.setdefault(result.machine, StageTimings()).add(result.timings)

    def count(self, reports: Sequence[Report]) -> None:
        """Some more rollouts are finished."""
        self.costs.rollouts += len(reports)
        self.costs.failures += sum(report.failures for report in reports)

    def notice_workers(self) -> None:
        """Say in the events how many there are, which only those who have joined a cluster know, and of deaths."""
        if not self._is_at_work:
            self._is_at_work, self.costs.workers = True, self.executor.workers
            where = {"dashboard": self.executor.dashboard} if self.executor.dashboard else {}
            self.folder.note("working", session=self.costs.id, workers=self.costs.workers, **where)
        if self.executor.deaths > self.costs.deaths:
            self.costs.deaths, self.costs.retries = self.executor.deaths, self.executor.retries
            self.folder.note("worker_died", deaths=self.costs.deaths, retries=self.costs.retries)

    def save(self) -> None:
        """Keep what the session took until now."""
        self.costs.seconds = round(time.perf_counter() - self._started, 3)
        spent, before = self._spent(), self._spent_before
        self.costs.judge = Spent(
            calls=spent.calls - before.calls,
            prompt_tokens=spent.prompt_tokens - before.prompt_tokens,
            answer_tokens=spent.answer_tokens - before.answer_tokens,
        )
        save_session(self.folder.path, self.costs)

    def _end(self, how: str, **facts: str) -> None:
        self.notice_workers()
        self.save()
        add_to_machine_costs(self._by_machine, self._of_judge())
        self.folder.note(
            how,
            session=self.costs.id,
            rollouts=self.costs.rollouts,
            failures=self.costs.failures,
            seconds=self.costs.seconds,
            **facts,
        )

    def _of_judge(self) -> tuple[str, Spent, float | None] | None:
        """Who was asked how much, and how long that took where it was what the session waited for."""
        if self.judge is None:
            return None
        seconds = self.costs.seconds
        is_its_pace = self.timings.is_mostly_asking(self.costs.workers * seconds)
        return self.judge.model.model, self.costs.judge, seconds if is_its_pace else None

    def _spent(self) -> Spent:
        return Spent() if self.judge is None else self._spending.spent()


Batch: TypeAlias = tuple[Work, ...]
SECONDS = 0.5
"""How long a worker should be busy with what it is handed at once."""
MOST = 256
"""Rollouts in a batch; all of it is lost with a worker that dies."""
GROWTH = 4
"""How many times larger than the last a batch may be: the first ones are not like all the others."""


@dataclass(slots=True)
class Batches:
    """The work of a run in batches that grow as long as rollouts are quick."""

    work: Sequence[Work]
    most: int = MOST
    ahead: Sequence[Work] = ()
    """Part of the work that is given first, one by one, and nothing else before all of it is finished."""
    goes_on: Callable[[], bool] = lambda: True
    """Asked once, when it is finished: whether the rest is given at all."""
    _given: int = 0
    _finished: int = 0
    _size: int = 1
    _again: deque[Batch] = field(default_factory=deque)

    def __post_init__(self) -> None:
        if self.ahead:
            first = {entry.rollout.id for entry in self.ahead}
            self.work = [*self.ahead, *(entry for entry in self.work if entry.rollout.id not in first)]

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if self._again:
            return self._again.popleft()
        is_ahead = self._finished < len(self.ahead)
        most = min(1, len(self.ahead) - self._given) if is_ahead else self._size
        batch = tuple(self.work[self._given : self._given + most])
        if not batch:
            raise StopIteration
        self._given += len(batch)
        return batch

    def finish(self, rollouts: int) -> None:
        """So many of them are finished, well or not."""
        before, self._finished = self._finished, self._finished + rollouts
        if before < len(self.ahead) <= self._finished and not self.goes_on():
            self.work = self.work[: self._given]

    def learn(self, rollouts: int, seconds: float) -> None:
        """So long a batch took."""
        wanted = int(SECONDS * rollouts / seconds) if seconds > 0 else self.most
        self._size = max(1, min(wanted, GROWTH * self._size, self.most))

    def divide(self, batch: Batch) -> None:
        """Give every rollout of a batch again, alone."""
        self._again.extend((work,) for work in batch)


WHILE_OTHERS_LOOK = 2
"""Rollouts that a worker holds where networks are elsewhere: it decodes one while they look at the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is."""

    done: int
    total: int
    failures: int
    last: Report | None
    seconds: float = 0.0
    """Since the work began."""
    timings: StageTimings = field(default_factory=StageTimings)
    """Of all workers together, in this session."""
    retries: int = 0
    dashboard: str | None = None


@dataclass(slots=True, kw_only=True)
class Session:
    """One sitting of a run, from its start to its end or to whatever cuts it off."""

    folder: RunFolder
    features: Path
    metrics: Sequence[BoundMetric]
    judge: JudgeSettings | None
    executor: Executor
    services: Mapping[str, Service]
    notify: Callable[[Progress], None]
    timings: StageTimings = field(default_factory=StageTimings)
    failures: int = 0
    done: int = 0
    _total: int = 0
    _started: float = 0.0
    _parts: int = 0

    def run(self, work: Sequence[Work], smoke: Smoke | None = None) -> None:
        """Measure everything; where a smoke test comes first and is not passed, nothing else."""
        self._total, self._started = len(work), time.perf_counter()
        self._tell(None)
        if work:
            most = MOST if self.judge is None else 1
            batches = Batches(work, most, smoke.work, smoke.is_passed) if smoke else Batches(work, most)
            make = partial(make_worker, self.folder, self.features, self.metrics, self._judge_of_workers())
            with SessionLog(self.folder, self.executor, self.judge, work, self.timings) as account:
                for result in self.executor.map(make, batches, at_once=self._at_once(), services=self.services):
                    self._take(result, batches, account)
        self.folder.compact()

    def _take(self, result: BatchReport | GaveUp[Batch], batches: Batches, account: SessionLog) -> None:
        account.notice_workers()
        if isinstance(result, GaveUp):
            if len(result.item) > 1:
                batches.divide(result.item)
                return
            reports: Sequence[Report] = [self._give_up(result.item[0], result.workers)]
            account.count(reports)
        else:
            reports = result.reports
            batches.learn(len(reports), result.seconds)
            account.add(result)
        for report in reports:
            self.done += 1
            self.failures += report.failures
            self._tell(report)
        batches.finish(len(reports))
        self._parts += 1
        if self._parts % COMPACT_AFTER_PARTS == 0:
            self.folder.compact()
            account.save()

    def _give_up(self, work: Work, workers: int) -> Report:
        """Nothing that was measured survived, so the driver writes down what is known."""
        outcome = Failure(
            "WorkerDied", f"{workers} workers died of it, one after the other, perhaps for want of memory."
        )
        names = {bound.name: metric_key(bound) for bound in self.metrics}
        self.folder.add(
            [
                Measured(rollout=work.rollout.id, content=work.content, metric=name, lock=names[name], outcome=outcome)
                for name in work.metrics
            ]
        )
        self.folder.note("lost", rollout=work.rollout.id, workers=workers)
        nothing = {"scores": 0, "abstentions": 0, "decoded_frames": 0}
        return Report(rollout=work.rollout.id, failures=len(work.metrics), seconds=0.0, **nothing)

    def _tell(self, last: Report | None) -> None:
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

    def _judge_of_workers(self) -> JudgeSettings | None:
        """Where the judge is shared, workers need not know how it is asked."""
        return None if JUDGE in self.services else self.judge

    def _at_once(self) -> int:
        """How many rollouts a worker holds, most of which wait for others."""
        questions = 1 if self.judge is None else self.judge.policy.share(self.executor.workers).concurrent
        return max(questions, WHILE_OTHERS_LOOK if self.services.keys() - {JUDGE} else 1)


def make_worker(
    folder: RunFolder,
    features: Path,
    metrics: Sequence[BoundMetric],
    judge: JudgeSettings | None,
    clients: ServiceClients,
) -> RolloutWorker:
    """A worker of a run; what it shares with others is at the desks."""
    networks = {name: client for name, client in clients.items() if name != JUDGE}
    asking = RemoteJudge(clients[JUDGE]) if JUDGE in clients else None if judge is None else judge.asking(folder.path)
    return RolloutWorker(folder, FeatureStore(features), {bound.name: bound for bound in metrics}, asking, networks)
