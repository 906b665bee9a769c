"""Run folders with rows of the tests' choosing."""

from __future__ import annotations

from pathlib import Path

from lookaway.core import Case, Lock, Outcome, Rollout, Score, Unit
from lookaway.store.outcome_reader import AskedMetric
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import RunFolder

ASKED = AskedMetric(name="light", lock="lock", subsets=None)


def rollout(name: str = "case", *, model: str = "alpha", subset: str = "all") -> Rollout:
    return Rollout(case=Case(id=name, subset=subset, scene=name), model=model, video=Path("video.mp4"))


def start_run(path: Path, *rollouts: Rollout) -> RunFolder:
    """A run of these rollouts, each with the content hash `content`."""
    folder = RunFolder(path)
    lock = Lock({"suite": "folder"})
    about = {"suite": "folder", "lock_sha256": lock.sha256, "metrics": [], "problems": []}
    folder.start(lock, [(entry, "content") for entry in rollouts or (rollout(),)], about)
    return folder


def measured(outcome: Outcome, entry: Rollout | None = None, *, metric: str = "light", lock: str = "lock") -> Measured:
    return Measured(rollout=(entry or rollout()).id, content="content", metric=metric, lock=lock, outcome=outcome)


def score(value: float, *units: float) -> Score:
    return Score(value, units=tuple(Unit(f"unit{number}", Score(unit)) for number, unit in enumerate(units)))
