"""A runner file with its environment and settings, and a child that serves it for as long as it lives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from lookaway.core import Json
from lookaway.perception.isolation.child import MOST_BYTES
from lookaway.perception.isolation.environment import Environment, is_this_process_in
from lookaway.perception.isolation.here import ServedHere
from lookaway.perception.isolation.process import ChildProcess

RUNNERS = Path(__file__).parent / "runners"
"""The runner files of this package."""


@dataclass(slots=True, kw_only=True)
class Runner:
    """Answers arrays with arrays. A child that died is replaced when the next question is asked."""

    environment: Environment
    file: Path
    settings: Mapping[str, Json] = field(default_factory=dict)
    """Given to the runner file when it is loaded, and again with every question."""
    seconds_to_load: float = 900.0
    seconds_to_answer: float = 3600.0
    most_bytes: int = MOST_BYTES
    _child: ChildProcess | ServedHere | None = None

    def start(self) -> ChildProcess | ServedHere:
        """Who serves, with the runner file loaded; or an `Unmeasurable`. In its environment, this process does."""
        if self._child is None or not self._child.is_alive:
            started: ChildProcess | ServedHere
            if is_this_process_in(self.environment):
                started = ServedHere(self.most_bytes)
            else:
                started = ChildProcess(self.environment.ensure(), self.most_bytes)
            header = {"kind": "load", "runner": str(self.file), "settings": dict(self.settings)}
            started.ask(header, {}, self.seconds_to_load)
            self._child = started
        return self._child

    def ask(self, arrays: Mapping[str, NDArray[Any]], **settings: Json) -> dict[str, NDArray[Any]]:
        """What the runner file answers to these arrays; settings of this question are added to those of all."""
        header = {"kind": "ask", "settings": {**self.settings, **settings}}
        return self.start().ask(header, arrays, self.seconds_to_answer)
