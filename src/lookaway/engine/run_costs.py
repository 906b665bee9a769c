"""What a run took, session by session: `costs.json` in its folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any
from uuid import uuid4

from lookaway.core import DatasetError, Json, RunError, StorageError
from lookaway.engine.effort import Effort, amount_of
from lookaway.io.files import is_file, read_json, write_json
from lookaway.io.storage_faults import run_errors
from lookaway.judges.spending import Spent

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
    effort: Effort = field(default_factory=Effort)

    def to_json(self) -> Json:
        """As it is kept."""
        plain = {name: getattr(self, name) for name in (*TEXTS, *NUMBERS)}
        return {**plain, "judge": asdict(self.judge), "stages": self.effort.to_json()}

    @classmethod
    def from_json(cls, value: Json) -> SessionCosts:
        """As it was kept; a `RunError` where it is something else."""
        wanted = {*TEXTS, *NUMBERS, "judge", "stages"}
        if not isinstance(value, dict) or value.keys() != wanted:
            raise RunError(f"a session: expected {', '.join(sorted(wanted))}, found {value!r:.80}")
        plain: dict[str, Any] = {name: str(value[name]) for name in TEXTS}
        plain |= {name: amount_of(value[name], name) for name in NUMBERS}
        return cls(**plain, judge=_spent(value["judge"]), effort=Effort.from_json(value["stages"]))


@dataclass(frozen=True, slots=True)
class RunCosts:
    """All sessions of a run, in the order in which they began."""

    sessions: Sequence[SessionCosts] = ()

    @property
    def effort(self) -> Effort:
        """Of all sessions together."""
        effort = Effort()
        for session in self.sessions:
            effort.add(session.effort)
        return effort

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
