"""Keeps account of a session: what it took in `costs.json`, what happened when in `events.jsonl`."""

from __future__ import annotations

import logging
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from types import TracebackType
from typing import Self

from lookaway.core import Executor, RunError, StorageError
from lookaway.engine.effort import Effort
from lookaway.engine.machine_costs import add_to_machine_costs
from lookaway.engine.run_costs import SessionCosts, save_session
from lookaway.engine.worker import BatchReport, Report, Work
from lookaway.judges.settings import JudgeSettings
from lookaway.judges.spending import Budget, Spending, Spent
from lookaway.store.run_folder import SPENDING, RunFolder

LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Account:
    """Of one session. Use as a context manager: what it took is kept however the session ends."""

    folder: RunFolder
    executor: Executor
    judge: JudgeSettings | None
    work: Sequence[Work]
    effort: Effort
    """Grows with what is added."""
    costs: SessionCosts = field(init=False)
    _started: float = field(default_factory=time.perf_counter)
    _is_at_work: bool = False
    _by_machine: dict[str, Effort] = field(default_factory=dict)
    _spending: Spending = field(init=False)
    _spent_before: Spent = field(init=False)

    def __post_init__(self) -> None:
        self.costs = SessionCosts(executor=self.executor.name, workers=self.executor.workers, effort=self.effort)
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
        self.effort.add(result.effort)
        self._by_machine.setdefault(result.machine, Effort()).add(result.effort)

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
        is_its_pace = self.effort.is_mostly_asking(self.costs.workers * seconds)
        return self.judge.model.model, self.costs.judge, seconds if is_its_pace else None

    def _spent(self) -> Spent:
        return Spent() if self.judge is None else self._spending.spent()
