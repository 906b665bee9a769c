"""What work takes on this kind of machine, measured by every run: `costs.json` in this package's home.

{"machines": {KIND: {STAGE: {"seconds": ..., "frames": ..., ...}}}, "judges": {MODEL: {"calls": ..., ...}}}
"""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from lookaway.core import DatasetError, Json, RunError
from lookaway.engine.effort import IDLE, Effort, Stage, amount_of
from lookaway.engine.machine import kind_of_machine
from lookaway.io.files import read_json, write_json
from lookaway.judges.spending import Spent
from lookaway.perception.isolation.home import lookaway_home

LOG = logging.getLogger(__name__)
COSTS = "costs.json"
MOST_FRAMES, MOST_ROLLOUTS, MOST_CALLS = 1_000_000, 50_000, 100_000
"""Above these all totals are halved, so that the table follows a machine that changes."""


@dataclass(slots=True, kw_only=True)
class JudgeCosts:
    """What one judge took to answer, over many runs."""

    calls: int = 0
    tokens: int = 0
    paced_calls: int = 0
    """Of sessions whose workers mostly waited for answers: others say nothing of the judge's pace."""
    seconds: float = 0.0
    """Of these sessions."""


@dataclass(slots=True)
class MachineCosts:
    """All that is known, of machines by their kind and of judges by the names of their models."""

    machines: dict[str, Effort] = field(default_factory=dict)
    judges: dict[str, JudgeCosts] = field(default_factory=dict)

    def of_stage(self, name: str) -> Stage | None:
        """A stage on this kind of machine; `None` where it was never measured."""
        stage = self.machines.get(kind_of_machine(), Effort()).stages.get(name)
        return stage if stage is not None and stage.rollouts else None

    def add(self, efforts: Mapping[str, Effort], judge: tuple[str, Spent, float | None] | None = None) -> None:
        """Take in what a session took: by kind of machine, and its judge.

        With the seconds of the session where they were the judge's, and `None` where others took them.
        """
        for kind, effort in efforts.items():
            known = self.machines.setdefault(kind, Effort())
            known.add(Effort({name: stage for name, stage in effort.stages.items() if name not in IDLE}))
            for stage in known.stages.values():
                while stage.frames > MOST_FRAMES or stage.rollouts > MOST_ROLLOUTS:
                    _halve(stage)
        if judge is not None and judge[1].calls:
            name, spent, seconds = judge
            costs = self.judges.setdefault(name, JudgeCosts())
            costs.calls += spent.calls
            costs.tokens += spent.prompt_tokens + spent.answer_tokens
            if seconds is not None:
                costs.paced_calls += spent.calls
                costs.seconds += seconds
            while costs.calls > MOST_CALLS:
                _halve(costs)

    def to_json(self) -> Json:
        """As it is kept."""
        return {
            "machines": {kind: effort.to_json() for kind, effort in self.machines.items()},
            "judges": {name: asdict(costs) for name, costs in self.judges.items()},
        }

    @classmethod
    def from_json(cls, value: Json) -> MachineCosts:
        """As it was kept; a `RunError` where it is something else."""
        match value:
            case {"machines": dict(machines), "judges": dict(judges), **rest} if not rest:
                return cls(
                    {kind: Effort.from_json(stages) for kind, stages in machines.items()},
                    {name: _judge(name, costs) for name, costs in judges.items()},
                )
        raise RunError(f"expected machines and judges, found {value!r:.80}")


def read_machine_costs() -> MachineCosts:
    """What was measured until now; nothing where there is no table, or none that can be read, of which is told."""
    path = lookaway_home() / COSTS
    try:
        return MachineCosts.from_json(read_json(path)) if path.exists() else MachineCosts()
    except (DatasetError, RunError) as error:
        LOG.warning("%s: the table of measured costs cannot be read (%s), and is made anew.", path, error)
        return MachineCosts()


def add_to_machine_costs(efforts: Mapping[str, Effort], judge: tuple[str, Spent, float | None] | None = None) -> None:
    """Add what a session took to the table. A home that cannot be written is told of, and ends no run."""
    home = lookaway_home()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _alone(home):
            costs = read_machine_costs()
            costs.add(efforts, judge)
            write_json(home / COSTS, costs.to_json())
    except OSError as error:
        LOG.warning("What this run took was not added to the table of measured costs: %s.", error)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """No other run changes the table meanwhile."""
    with (home / f".{COSTS}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _halve(totals: Stage | JudgeCosts) -> None:
    for entry in fields(totals):
        total = getattr(totals, entry.name)
        setattr(totals, entry.name, total // 2 if isinstance(total, int) else total / 2)


def _judge(name: str, value: Json) -> JudgeCosts:
    names = {entry.name for entry in fields(JudgeCosts)}
    if not isinstance(value, dict) or not value.keys() <= names:
        raise RunError(f"judge {name!r:.80}: expected {', '.join(sorted(names))}, found {value!r:.80}")
    return JudgeCosts(**{entry: amount_of(number, f"judge {name!r:.80}: {entry}") for entry, number in value.items()})  # type: ignore[arg-type]
