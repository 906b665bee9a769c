"""What the stages of a run cost: time, frames and bytes, by kind of machine."""

from __future__ import annotations

import logging
import math
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from lookaway.core import DatasetError, Extractor, Json, RunError, StorageError
from lookaway.io.files import is_file, read_json, write_json
from lookaway.io.object_storage import run_errors
from lookaway.judges.spending import Spent

DECODING, METRICS, READING, WRITING = "decoding", "metrics", "reading", "writing"
"""Stages that every run has; the others are named after extractors. Reading is of features that were kept."""
SENDING, WAITING, ASKING = "sending", "waiting", "asking"
"""What a worker does about networks elsewhere and about a judge: gives frames, waits for the one, for the other."""
IDLE = frozenset({WAITING, ASKING})
"""Stages that are no work."""
BESIDE_OTHERS = frozenset({READING, WRITING, *IDLE})
"""Stages of one thread, in which another rollout of the same worker may have its networks."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """One stage, over any number of rollouts. What it counts is of the rollouts that it was really done for."""

    seconds: float = 0.0
    """As the clock on the wall has it."""
    cpu_seconds: float = 0.0
    """Of the processor, which others that use the machine disturb least."""
    rollouts: int = 0
    frames: int = 0
    pixels: int = 0
    """Of all frames together, at the size of the video."""
    stored_bytes: int = 0
    kept: int = 0
    """Rollouts for which nothing had to be done, since the result was kept from before."""
    loading_seconds: float = 0.0
    """Of networks, apart from `seconds`."""

    @contextmanager
    def timed(self, *, of_thread: bool = False) -> Iterator[Self]:
        """Add the seconds of what is done meanwhile; by default those of the processor in all threads."""
        cpu_clock = time.thread_time if of_thread else time.process_time
        started, cpu_started = time.perf_counter(), cpu_clock()
        try:
            yield self
        finally:
            self.seconds += time.perf_counter() - started
            self.cpu_seconds += cpu_clock() - cpu_started

    def add(self, other: Stage) -> None:
        """Take the other one in."""
        for entry in fields(Stage):
            setattr(self, entry.name, getattr(self, entry.name) + getattr(other, entry.name))


@dataclass(slots=True)
class StageTimings:
    """All stages of a rollout, a batch or a run."""

    stages: dict[str, Stage] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """Features that were found instead of perceived."""
        return sum(stage.kept for stage in self.stages.values())

    def of(self, name: str) -> Stage:
        """The stage of this name."""
        return self.stages.setdefault(name, Stage())

    def add(self, other: StageTimings) -> None:
        """Take the other one in."""
        for name, stage in other.stages.items():
            self.of(name).add(stage)

    def timed(self, name: str) -> AbstractContextManager[Stage]:
        """Add the seconds of what is done meanwhile to a stage."""
        return self.of(name).timed(of_thread=name in BESIDE_OTHERS)

    def is_mostly_asking(self, seconds: float) -> bool:
        """Whether more than half of so many seconds of workers went by for want of answers, and less at work."""
        asked = sum(stage.seconds for name, stage in self.stages.items() if name == ASKING)
        worked = sum(stage.seconds + stage.loading_seconds for name, stage in self.stages.items() if name not in IDLE)
        return asked > seconds / 2 > worked

    def to_json(self) -> Json:
        """As it is kept."""
        return {name: asdict(stage) for name, stage in self.stages.items()}

    @classmethod
    def from_json(cls, value: Json) -> StageTimings:
        """As it was kept."""
        if not isinstance(value, dict):
            raise RunError(f"expected stages, found {value!r:.80}")
        return cls({name: _stage(name, stage) for name, stage in value.items()})


def device_of(recipe: Extractor) -> str:
    """Where the network of an extractor runs; empty for one without a network."""
    return recipe.device if recipe.compute is None else recipe.compute.device


def stage_of(recipe: Extractor) -> str:
    """The stage of an extractor; of a network also where it runs and how precisely, which its cost depends on."""
    where = (device_of(recipe).split(":")[0], recipe.compute.precision if recipe.compute else "")
    return " ".join((recipe.name, *filter(None, where)))


def is_on_gpu(stage: str) -> bool:
    """Whether it is that of a network on a GPU."""
    return "cuda" in stage.split(" ")[1:]


def amount_of(value: Json, where: str) -> float:
    """A number that something was measured to be: finite, and not below zero."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise RunError(f"{where}: expected a number, zero or more, found {value!r:.80}")
    return value


def _stage(name: str, value: Json) -> Stage:
    known = {entry.name for entry in fields(Stage)}
    if not isinstance(value, dict) or not value.keys() <= known:
        raise RunError(f"stage {name!r:.80}: expected {', '.join(sorted(known))}, found {value!r:.80}")
    return Stage(**{entry: amount_of(number, f"stage {name!r:.80}: {entry}") for entry, number in value.items()})  # type: ignore[arg-type]


LOG = logging.getLogger(__name__)
COSTS = "costs.json"
TEXTS, NUMBERS = ("id", "executor"), ("started", "seconds", "workers", "rollouts", "failures", "deaths", "retries")


@dataclass(slots=True, kw_only=True)
class SessionCosts:
    """One sitting of a run."""

    id: str = field(default_factory=lambda: uuid4().hex)
    started: float = field(default_factory=time.time)
    """Seconds since 1970."""
    seconds: float = 0.0
    """From its start to its end, as the clock on the wall has it."""
    executor: str
    workers: int
    rollouts: int = 0
    """Finished in this session."""
    failures: int = 0
    deaths: int = 0
    """Of workers."""
    retries: int = 0
    """Batches that were handed out again, since the worker that held them died."""
    judge: Spent = Spent()
    timings: StageTimings = field(default_factory=StageTimings)

    def to_json(self) -> Json:
        """As it is kept."""
        plain = {name: getattr(self, name) for name in (*TEXTS, *NUMBERS)}
        return {**plain, "judge": asdict(self.judge), "stages": self.timings.to_json()}

    @classmethod
    def from_json(cls, value: Json) -> SessionCosts:
        """As it was kept; a `RunError` where it is something else."""
        wanted = {*TEXTS, *NUMBERS, "judge", "stages"}
        if not isinstance(value, dict) or value.keys() != wanted:
            raise RunError(f"a session: expected {', '.join(sorted(wanted))}, found {value!r:.80}")
        plain: dict[str, Any] = {name: str(value[name]) for name in TEXTS}
        plain |= {name: amount_of(value[name], name) for name in NUMBERS}
        return cls(**plain, judge=_spent(value["judge"]), timings=StageTimings.from_json(value["stages"]))


@dataclass(frozen=True, slots=True)
class RunCosts:
    """All sessions of a run, in the order in which they began."""

    sessions: Sequence[SessionCosts] = ()

    @property
    def timings(self) -> StageTimings:
        """Of all sessions together."""
        timings = StageTimings()
        for session in self.sessions:
            timings.add(session.timings)
        return timings

    @property
    def judge(self) -> Spent:
        """Of all sessions together."""
        return sum((session.judge for session in self.sessions), Spent())


def read_run_costs(run: Path) -> RunCosts:
    """What is known of a run so far; a `RunError` where the file is damaged."""
    path = run / COSTS
    if not is_file(path):
        return RunCosts()
    try:
        value = read_json(path)
        if not isinstance(value, dict) or not isinstance(value.get("sessions"), list):
            raise RunError(f"expected a list of sessions, found {value!r:.80}")
        sessions = [SessionCosts.from_json(entry) for entry in value["sessions"]]
    except StorageError:
        raise
    except (DatasetError, RunError) as error:
        raise RunError(
            f"{path}: the costs of the run cannot be read ({error}). Delete it; nothing else is lost."
        ) from error
    return RunCosts(sorted(sessions, key=lambda session: session.started))


def save_session(run: Path, costs: SessionCosts) -> None:
    """Put a session beside those that were kept before; one that is saved again replaces itself.

    Of two that save at the same moment one may be missing until it saves again.
    """
    try:
        known = read_run_costs(run).sessions
    except StorageError:
        raise
    except RunError as error:
        LOG.warning("%s They are counted anew.", error)
        known = ()
    sessions = [session for session in known if session.id != costs.id]
    with run_errors(f"{run / COSTS}: what the run took cannot be noted"):
        write_json(run / COSTS, {"sessions": [session.to_json() for session in (*sessions, costs)]})


def _spent(value: Json) -> Spent:
    names = [entry.name for entry in fields(Spent)]
    if not isinstance(value, dict) or value.keys() != set(names):
        raise RunError(f"a judge's costs: expected {', '.join(names)}, found {value!r:.80}")
    return Spent(**{name: int(amount_of(value[name], name)) for name in names})


PROCESSORS = Path("/proc/cpuinfo")
GPUS = Path("/proc/driver/nvidia/gpus")


@cache
def kind_of_machine() -> str:
    """The model of its processor, and those of its GPUs where the driver tells."""
    return " + ".join([_value(PROCESSORS, "model name") or platform.machine(), *sorted(set(_gpus()))])


def gpu_count() -> int:
    """How many GPUs the driver tells of."""
    return len(_gpus())


def _gpus() -> list[str]:
    return [model for path in GPUS.glob("*/information") if (model := _value(path, "Model"))]


def _value(path: Path, name: str) -> str:
    """What stands after a name and a colon; empty where nothing does."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    found = (line.partition(":")[2] for line in lines if line.partition(":")[0].strip() == name)
    return " ".join(next(found, "").split())
