"""What a run will do, before it does it: every rollout with the metrics that it still lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from lookaway.core import BoundMetric, Dataset, DatasetError, Json, Lock, Rollout, UserError
from lookaway.core.outcomes import OF_THE_MACHINE
from lookaway.engine.locking import content_key, metric_key, run_lock
from lookaway.engine.shard import Shard
from lookaway.engine.worker import Work, why_not_applicable_safely
from lookaway.store.outcome_reader import AskedMetric, OutcomeReader
from lookaway.store.run_folder import RunFolder, rollout_rows

HASHED_AT_ONCE = 8
HANDED_AT_ONCE = 1000
"""To the threads, so that a million rollouts do not wait in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The rollouts of a run with the hash of their content, its metrics, and the lock."""

    dataset: Dataset
    """What is measured: of a shard its part of the dataset."""
    metrics: tuple[BoundMetric, ...]
    rollouts: tuple[tuple[Rollout, str], ...]
    lock: Lock
    """Of the whole dataset, so that all shards have the same."""
    shard: Json = None
    """Which part it is, as the run keeps it; `None` where the dataset is not divided."""

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
            reader = OutcomeReader(folder, self.asked, rollout_rows(self.rollouts))
            finished = reader.finished() - self._lacking_no_more(reader)
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

    def _lacking_no_more(self, reader: OutcomeReader) -> set[tuple[str, str]]:
        """Rollout and metric of what could not be measured for want of something that this machine has now."""
        machine = {reason.value for reason in OF_THE_MACHINE}
        if not any(machine.intersection(group.reasons) for group in reader.groups()):
            return set()
        bounds = {bound.name: bound for bound in self.metrics}
        rollouts = {rollout.id: rollout for rollout, _ in self.rollouts}
        lacked = [(row["rollout"], row["metric"]) for row in reader.items() if row["reason"] in machine]
        return {
            (name, metric)
            for name, metric in lacked
            if why_not_applicable_safely(bounds[metric], rollouts[name]) is None
        }


def make_plan(dataset: Dataset, metrics: Sequence[BoundMetric], shard: Shard | None = None) -> Plan:
    """Plan a run, or a shard of it; hashes the content of every rollout in it."""
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
        part = dataset if shard is None else shard.part(dataset)
        return Plan(
            dataset=part,
            metrics=tuple(metrics),
            rollouts=tuple(zip(part.rollouts, _contents(part.rollouts), strict=True)),
            lock=run_lock(dataset, metrics),
            shard=None if shard is None else shard.about(dataset),
        )
    except UnicodeEncodeError as error:
        raise DatasetError(f"{dataset.root}: holds text that is no valid Unicode: {error}.") from error


def _contents(rollouts: Sequence[Rollout]) -> Iterator[str]:
    """Of every rollout; threads hash on while others wait for the disk."""
    with ThreadPoolExecutor(HASHED_AT_ONCE, thread_name_prefix="hashing") as pool:
        for start in range(0, len(rollouts), HANDED_AT_ONCE):
            yield from pool.map(content_key, rollouts[start : start + HANDED_AT_ONCE])
