"""The plan of a run: every rollout with the metrics that are still missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from lookaway.core import BoundMetric, Dataset, DatasetError, Json, Lock, Rollout, UserError
from lookaway.core.outcomes import OF_A_LIMIT, OF_THE_MACHINE
from lookaway.engine.limits import RolloutLimits
from lookaway.engine.locking import content_key, metric_key, run_lock
from lookaway.engine.shard import Shard
from lookaway.engine.worker import Work, why_not_applicable_safely
from lookaway.store.outcome_reader import AskedMetric, OutcomeReader
from lookaway.store.run_folder import RunFolder, rollout_rows

HASHED_AT_ONCE = 8
HANDED_AT_ONCE = 1000
"""Rollouts given to the threads at once, so that a million of them do not fill memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The rollouts of a run with hashes of their content, its metrics, and the lock."""

    dataset: Dataset
    """What is measured: for a shard, its part of the dataset."""
    metrics: tuple[BoundMetric, ...]
    rollouts: tuple[tuple[Rollout, str], ...]
    lock: Lock
    """The lock of the whole dataset, the same for all shards."""
    shard: Json = None
    """Which part it is, as `run.json` has it; `None` where the dataset is not divided."""

    @property
    def asked(self) -> list[AskedMetric]:
        """The metrics as the store knows them."""
        return [
            AskedMetric(
                name=bound.name,
                lock=metric_key(bound),
                subsets=bound.subsets,
                is_gate=bound.is_gate,
                is_consistency=bound.is_consistency,
                protocol=bound.protocol,
                range=bound.metric.range,
            )
            for bound in self.metrics
        ]

    def work(self, folder: RunFolder | None = None, limits: RolloutLimits | None = None) -> list[Work]:
        """What is left to do, given the outcomes in the folder; everything, without one.

        Rollouts that passed a limit are left to do where all their limits are higher now.
        """
        finished: set[tuple[str, str]] = set()
        if folder is not None and folder.parts():
            reader = OutcomeReader(folder, self.asked, rollout_rows(self.rollouts))
            finished = reader.finished() - self._measurable_now(reader) - _with_more_allowed(reader, limits)
        work = []
        for rollout, content in self.rollouts:
            missing = tuple(
                bound.name
                for bound in self.metrics
                if bound.applies_to(rollout) and (rollout.id, bound.name) not in finished
            )
            if missing:
                work.append(Work(rollout=rollout, content=content, metrics=missing))
        return work

    def _measurable_now(self, reader: OutcomeReader) -> set[tuple[str, str]]:
        """Rollout and metric of outcomes that lacked something, such as weights, that this machine has now."""
        machine = {reason.value for reason in OF_THE_MACHINE}
        if not any(machine.intersection(group.reasons) for group in reader.groups()):
            return set()
        bounds = {bound.name: bound for bound in self.metrics}
        rollouts = {rollout.id: rollout for rollout, _ in self.rollouts}
        abstained = [(row["rollout"], row["metric"]) for row in reader.items() if row["reason"] in machine]
        return {
            (name, metric)
            for name, metric in abstained
            if why_not_applicable_safely(bounds[metric], rollouts[name]) is None
        }


def _with_more_allowed(reader: OutcomeReader, limits: RolloutLimits | None) -> set[tuple[str, str]]:
    """Rollout and metric of outcomes that passed lower limits than these."""
    if limits is None:
        return set()
    passed = reader.passed_limits([reason.value for reason in OF_A_LIMIT])
    return {key for key, found in passed.items() if all(limits.allow_more_than(*each) for each in found.items())}


def make_plan(dataset: Dataset, metrics: Sequence[BoundMetric], shard: Shard | None = None) -> Plan:
    """Plan a run, or a shard of it; this hashes the content of every rollout."""
    if not dataset.rollouts:
        raise _nothing_to_measure(dataset)
    if not metrics:
        raise UserError("Nothing to measure: no metric was chosen.")
    name, count = Counter(rollout.id for rollout in dataset.rollouts).most_common(1)[0]
    if count > 1:
        raise DatasetError(f"{dataset.root}: {count} rollouts are named {name!r}; every rollout needs its own id.")
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
        raise DatasetError(f"{dataset.root}: has text that is not valid Unicode: {error}.") from error


def _nothing_to_measure(dataset: Dataset) -> UserError:
    found = "no rollout matches the selection"
    if dataset.problems:
        first = dataset.problems[0]
        found = f"no record can be used. The first of {len(dataset.problems)} problems: {first.where}: {first.message}"
    end = "" if found.endswith((".", "?")) else "."
    return UserError(f"{dataset.root}: nothing to measure: {found}{end} `lookaway validate` shows what was read.")


def _contents(rollouts: Sequence[Rollout]) -> Iterator[str]:
    """Hashes of all rollouts, in threads, since hashing waits for the disk."""
    with ThreadPoolExecutor(HASHED_AT_ONCE, thread_name_prefix="hashing") as pool:
        for start in range(0, len(rollouts), HANDED_AT_ONCE):
            yield from pool.map(content_key, rollouts[start : start + HANDED_AT_ONCE])
