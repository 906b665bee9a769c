"""What a run will do, before it does it: every rollout with the metrics that it still lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lookaway.core import BoundMetric, Dataset, DatasetError, Lock, Rollout, UserError
from lookaway.engine.locking import content_key, metric_key, run_lock
from lookaway.engine.worker import Work
from lookaway.store.outcome_reader import AskedMetric, OutcomeReader
from lookaway.store.run_folder import RunFolder, rollout_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The rollouts of a run with the hash of their content, its metrics, and the lock."""

    dataset: Dataset
    metrics: tuple[BoundMetric, ...]
    rollouts: tuple[tuple[Rollout, str], ...]
    lock: Lock

    @property
    def asked(self) -> list[AskedMetric]:
        """The metrics as the store knows them."""
        return [
            AskedMetric(name=bound.name, lock=metric_key(bound), subsets=bound.subsets, is_gate=bound.is_gate)
            for bound in self.metrics
        ]

    def work(self, folder: RunFolder | None = None) -> list[Work]:
        """What is left to do, given what the folder already holds; everything, where there is none yet."""
        finished: set[tuple[str, str]] = set()
        if folder is not None and folder.parts():
            finished = OutcomeReader(folder, self.asked, rollout_rows(self.rollouts)).finished()
        work = []
        for rollout, content in self.rollouts:
            lacking = tuple(
                bound.name
                for bound in self.metrics
                if bound.applies_to(rollout) and (rollout.id, bound.name) not in finished
            )
            if lacking:
                work.append(Work(rollout=rollout, content=content, metrics=lacking))
        return work


def make_plan(dataset: Dataset, metrics: Sequence[BoundMetric]) -> Plan:
    """Plan a run; hashes the content of every rollout."""
    if not dataset.rollouts:
        raise UserError(
            f"{dataset.root}: nothing to measure, no rollout fits what was asked for. "
            "`lookaway validate` shows what was read."
        )
    if not metrics:
        raise UserError("Nothing to measure: no metric was chosen.")
    name, count = Counter(rollout.id for rollout in dataset.rollouts).most_common(1)[0]
    if count > 1:
        raise DatasetError(f"{dataset.root}: {count} rollouts are called {name!r}; every rollout needs its own id.")
    try:
        for rollout in dataset.rollouts:
            rollout.id.encode()
        return Plan(
            dataset=dataset,
            metrics=tuple(metrics),
            rollouts=tuple((rollout, content_key(rollout)) for rollout in dataset.rollouts),
            lock=run_lock(dataset, metrics),
        )
    except UnicodeEncodeError as error:
        raise DatasetError(f"{dataset.root}: holds text that is no valid Unicode: {error}.") from error
