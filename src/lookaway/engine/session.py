"""Works through a plan: hands out batches, counts what comes back, and keeps the run folder tidy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from lookaway.core import BoundMetric, Desks, Executor, Failure, Lost, Service
from lookaway.engine.account import Account
from lookaway.engine.batches import MOST, Batch, Batches
from lookaway.engine.effort import Effort
from lookaway.engine.locking import metric_key
from lookaway.engine.sharing import JUDGE, AskingElsewhere
from lookaway.engine.smoke import Smoke
from lookaway.engine.worker import BatchReport, Report, RolloutWorker, Work
from lookaway.judges.settings import JudgeSettings
from lookaway.store.feature_store import FeatureStore
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import COMPACT_AFTER_PARTS, RunFolder

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
    effort: Effort = field(default_factory=Effort)
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
    effort: Effort = field(default_factory=Effort)
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
            with Account(self.folder, self.executor, self.judge, work, self.effort) as account:
                for result in self.executor.map(make, batches, at_once=self._at_once(), services=self.services):
                    self._take(result, batches, account)
        self.folder.compact()

    def _take(self, result: BatchReport | Lost[Batch], batches: Batches, account: Account) -> None:
        account.notice_workers()
        if isinstance(result, Lost):
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
                effort=self.effort,
                retries=self.executor.retries,
                dashboard=self.executor.dashboard,
            )
        )

    def _judge_of_workers(self) -> JudgeSettings | None:
        """Where the judge is shared, workers need not know how it is asked."""
        return None if JUDGE in self.services else self.judge

    def _at_once(self) -> int:
        """How many rollouts a worker holds, most of which wait for others."""
        questions = 1 if self.judge is None else self.judge.manners.share(self.executor.workers).concurrent
        return max(questions, WHILE_OTHERS_LOOK if self.services.keys() - {JUDGE} else 1)


def make_worker(
    folder: RunFolder, features: Path, metrics: Sequence[BoundMetric], judge: JudgeSettings | None, desks: Desks
) -> RolloutWorker:
    """A worker of a run; what it shares with others is at the desks."""
    networks = {name: desk for name, desk in desks.items() if name != JUDGE}
    asking = AskingElsewhere(desks[JUDGE]) if JUDGE in desks else None if judge is None else judge.asking(folder.path)
    return RolloutWorker(folder, FeatureStore(features), {bound.name: bound for bound in metrics}, asking, networks)
