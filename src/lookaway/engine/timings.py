"""Measures what the stages of a run cost: time, frames and bytes, by kind of machine."""

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
from lookaway.io.checksums import with_hash, without_hash
from lookaway.io.files import is_file, read_json, write_json
from lookaway.io.object_storage import run_errors
from lookaway.judges.budget import Spent

DECODING, METRICS, READING, WRITING = "decoding", "metrics", "reading", "writing"
"""Stages of every run; the others are named after extractors. `reading` is reading stored features."""
SENDING, WAITING, ASKING = "sending", "waiting", "asking"
"""What a worker does with remote networks and a judge: sends frames, waits for networks, waits for the judge."""
IDLE = frozenset({WAITING, ASKING})
"""Stages that only wait."""
PER_THREAD = frozenset({READING, WRITING, *IDLE})
"""Stages timed per thread, since another rollout of the same worker may run its networks meanwhile."""


@dataclass(slots=True, kw_only=True)
class StageTiming:
    """One stage, over any number of rollouts; counts only rollouts for which it was run."""

    seconds: float = 0.0
    """Wall time."""
    cpu_seconds: float = 0.0
    """CPU time, which other users of the machine disturb least."""
    rollouts: int = 0
    frames: int = 0
    pixels: int = 0
    """Total of all frames, at the size of the video."""
    stored_bytes: int = 0
    kept: int = 0
    """Rollouts whose result was stored already."""
    loading_seconds: float = 0.0
    """Loading networks, not included in `seconds`."""

    @contextmanager
    def timed(self, *, of_thread: bool = False) -> Iterator[Self]:
        """Add the time of a block; CPU time is of all threads by default."""
        cpu_clock = time.thread_time if of_thread else time.process_time
        started, cpu_started = time.perf_counter(), cpu_clock()
        try:
            yield self
        finally:
            self.seconds += time.perf_counter() - started
            self.cpu_seconds += cpu_clock() - cpu_started

    def add(self, other: StageTiming) -> None:
        """Add another one to this one."""
        for entry in fields(StageTiming):
            setattr(self, entry.name, getattr(self, entry.name) + getattr(other, entry.name))


@dataclass(slots=True)
class StageTimings:
    """All stages of a rollout, a batch or a run."""

    stages: dict[str, StageTiming] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """Features that were stored already."""
        return sum(stage.kept for stage in self.stages.values())

    def of(self, name: str) -> StageTiming:
        """The stage with this name."""
        return self.stages.setdefault(name, StageTiming())

    def add(self, other: StageTimings) -> None:
        """Add another one to this one."""
        for name, stage in other.stages.items():
            self.of(name).add(stage)

    def timed(self, name: str) -> AbstractContextManager[StageTiming]:
        """Add the time of a block to a stage."""
        return self.of(name).timed(of_thread=name in PER_THREAD)

    def is_mostly_waiting_for_judge(self, seconds: float) -> bool:
        """Whether workers waited for a judge for more than half of these seconds, and worked for less."""
        waited = sum(stage.seconds for name, stage in self.stages.items() if name == ASKING)
        worked = sum(stage.seconds + stage.loading_seconds for name, stage in self.stages.items() if name not in IDLE)
        return waited > seconds / 2 > worked

    def to_json(self) -> Json:
        """The stored form."""
        return {name: asdict(stage) for name, stage in self.stages.items()}

    @classmethod
    def from_json(cls, value: Json) -> StageTimings:
        """From its stored form."""
        if not isinstance(value, dict):
            raise RunError(f"expected stages, found {value!r:.80}")
        return cls({name: _stage(name, stage) for name, stage in value.items()})


def device_of(recipe: Extractor) -> str:
    """Where the network of an extractor runs; empty for one without a network."""
    return recipe.device if recipe.compute is None else recipe.compute.device


def stage_of(recipe: Extractor) -> str:
    """The stage of an extractor; for a network with device and precision, on which its cost depends."""
    where = (device_of(recipe).split(":")[0], recipe.compute.precision if recipe.compute else "")
    return " ".join((recipe.name, *filter(None, where)))


def is_on_gpu(stage: str) -> bool:
    """Whether it is the stage of a network on a GPU."""
    return "cuda" in stage.split(" ")[1:]


def amount_of(value: Json, where: str) -> float:
    """A measured amount: finite and not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise RunError(f"{where}: expected a number, zero or more, found {value!r:.80}")
    return value


def _stage(name: str, value: Json) -> StageTiming:
    names = {entry.name for entry in fields(StageTiming)}
    if not isinstance(value, dict) or not value.keys() <= names:
        raise RunError(f"stage {name!r:.80}: expected {', '.join(sorted(names))}, found {value!r:.80}")
    return StageTiming(**{entry: amount_of(number, f"stage {name!r:.80}: {entry}") for entry, number in value.items()})  # type: ignore[arg-type]


LOG = logging.getLogger(__name__)
COSTS = "costs.json"
TEXTS, NUMBERS = ("id", "executor"), ("started", "seconds", "workers", "rollouts", "failures", "deaths", "retries")


@dataclass(slots=True, kw_only=True)
class SessionCosts:
    """The costs of one session of a run."""

    id: str = field(default_factory=lambda: uuid4().hex)
    started: float = field(default_factory=time.time)
    """Seconds since 1970."""
    seconds: float = 0.0
    """Wall time from start to end."""
    executor: str
    workers: int
    rollouts: int = 0
    """Finished in this session."""
    failures: int = 0
    deaths: int = 0
    """Workers that died."""
    retries: int = 0
    """Batches that were retried after their worker died."""
    judge: Spent = Spent()
    timings: StageTimings = field(default_factory=StageTimings)

    def to_json(self) -> Json:
        """The stored form."""
        plain = {name: getattr(self, name) for name in (*TEXTS, *NUMBERS)}
        return {**plain, "judge": asdict(self.judge), "stages": self.timings.to_json()}

    @classmethod
    def from_json(cls, value: Json) -> SessionCosts:
        """From its stored form; raises `RunError` if it is not valid."""
        expected = {*TEXTS, *NUMBERS, "judge", "stages"}
        if not isinstance(value, dict) or value.keys() != expected:
            raise RunError(f"a session: expected {', '.join(sorted(expected))}, found {value!r:.80}")
        plain: dict[str, Any] = {name: str(value[name]) for name in TEXTS}
        plain |= {name: amount_of(value[name], name) for name in NUMBERS}
        return cls(**plain, judge=_spent(value["judge"]), timings=StageTimings.from_json(value["stages"]))


@dataclass(frozen=True, slots=True)
class RunCosts:
    """All sessions of a run, in order of their start."""

    sessions: Sequence[SessionCosts] = ()

    @property
    def timings(self) -> StageTimings:
        """Total of all sessions."""
        timings = StageTimings()
        for session in self.sessions:
            timings.add(session.timings)
        return timings

    @property
    def judge(self) -> Spent:
        """Total of all sessions."""
        return sum((session.judge for session in self.sessions), Spent())


def read_run_costs(run: Path) -> RunCosts:
    """The costs of a run so far; raises `RunError` if the file is damaged."""
    path = run / COSTS
    if not is_file(path):
        return RunCosts()
    try:
        value = read_json(path)
        if not isinstance(value, dict) or not isinstance(value.get("sessions"), list):
            raise RunError(f"expected a list of sessions, found {value!r:.80}")
        without_hash(value, path)
        sessions = [SessionCosts.from_json(entry) for entry in value["sessions"]]
    except StorageError:
        raise
    except (DatasetError, RunError) as error:
        raise RunError(
            f"{path}: the costs of the run cannot be read ({error}). Delete it; nothing else is lost."
        ) from error
    return RunCosts(sorted(sessions, key=lambda session: session.started))


def save_session(run: Path, costs: SessionCosts) -> None:
    """Add a session to the stored ones; one that is saved again replaces itself.

    If two save at the same moment, one may be missing until it saves again.
    """
    try:
        stored = read_run_costs(run).sessions
    except StorageError:
        raise
    except RunError as error:
        LOG.warning("%s Counting starts again from zero.", error)
        stored = ()
    sessions = [session for session in stored if session.id != costs.id]
    with run_errors(f"{run / COSTS}: the costs of the run cannot be recorded"):
        write_json(run / COSTS, with_hash({"sessions": [session.to_json() for session in (*sessions, costs)]}))


def _spent(value: Json) -> Spent:
    names = [entry.name for entry in fields(Spent)]
    if not isinstance(value, dict) or value.keys() != set(names):
        raise RunError(f"a judge's costs: expected {', '.join(names)}, found {value!r:.80}")
    return Spent(**{name: int(amount_of(value[name], name)) for name in names})


PROCESSORS = Path("/proc/cpuinfo")
GPUS = Path("/proc/driver/nvidia/gpus")


@cache
def kind_of_machine() -> str:
    """The model of the processor, and of the GPUs that the driver reports."""
    return " + ".join([_value(PROCESSORS, "model name") or platform.machine(), *sorted(set(_gpus()))])


def gpu_count() -> int:
    """How many GPUs the driver reports."""
    return len(_gpus())


def _gpus() -> list[str]:
    return [model for path in GPUS.glob("*/information") if (model := _value(path, "Model"))]


def _value(path: Path, name: str) -> str:
    """The text after a name and a colon; empty if there is none."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    found = (line.partition(":")[2] for line in lines if line.partition(":")[0].strip() == name)
    return " ".join(next(found, "").split())


@dataclass(slots=True)
class Activity:
    """One rollout: which, and how far it is.

    Written without a lock while frames pass, and read only to be shown: a value that is a frame old does no harm.

    >>> activity = Activity()
    >>> activity.begin("m/kitchen/0", 300)
    >>> activity.frames += 120
    >>> activity.text
    'm/kitchen/0 frame 120 of 300'
    """

    rollout: str = ""
    stage: str = ""
    frames: int = 0
    total: int = 0

    def begin(self, rollout: str, total: int) -> None:
        """A pass over so many frames of a rollout begins."""
        self.rollout, self.stage, self.frames, self.total = rollout, "", 0, total

    @property
    def text(self) -> str:
        """The rollout and its frame, or the stage that follows the frames; empty before the first."""
        if not self.rollout:
            return ""
        return f"{self.rollout} {self.stage or f'frame {self.frames} of {self.total}'}"


ACTIVITY = Activity()
"""That of this process; workers of Ray have their own, which nobody sees."""
