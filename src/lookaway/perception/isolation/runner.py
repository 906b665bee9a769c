"""A runner file with its environment and settings, and a child that serves it for as long as it lives."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core import (
    Feature,
    Features,
    Frame,
    FrameRequest,
    Indices,
    Json,
    Pixels,
    Reason,
    Rollout,
    Sampler,
    Timeline,
    Unmeasurable,
)
from lookaway.perception.isolation import child
from lookaway.perception.isolation.child import MAX_BYTES
from lookaway.perception.isolation.environment import Environment, is_this_process_in
from lookaway.perception.isolation.process import ChildProcess, RunnerFailed
from lookaway.perception.isolation.variables import fit_to_show


class ServedHere:
    """Answers as a child process would; but what ends a child ends this process."""

    is_alive = True

    def __init__(self, max_bytes: int = child.MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._run: Any = None

    def ask(
        self, header: Mapping[str, Json], arrays: Mapping[str, NDArray[Any]], seconds: float
    ) -> dict[str, NDArray[Any]]:
        """The arrays of the answer; after so many seconds without one this process ends."""
        deadline = threading.Timer(seconds, _end, (seconds,))
        deadline.daemon = True
        deadline.start()
        try:
            return self._answer(dict(header), arrays)
        except (Exception, SystemExit) as error:
            report = child._report(error)
            if report["kind"] == "unmeasurable" and report["reason"] in list(Reason):
                raise Unmeasurable(Reason(report["reason"]), fit_to_show(report["message"])) from error
            raise RunnerFailed(f"The runner failed:\n{fit_to_show(str(report.get('trace') or report))}") from error
        finally:
            deadline.cancel()

    def _answer(self, header: dict[str, Json], arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        if header["kind"] == "load":
            _forget_runners()
        own = {name: np.array(array) for name, array in arrays.items()}  # a runner may write to them
        child.send(_nowhere, header, own, self._max_bytes)
        self._run, answer = child._answer(self._run, header, own)
        child.send(_nowhere, {}, answer, self._max_bytes)
        return {name: np.asarray(array) for name, array in answer.items()}


def _forget_runners() -> None:
    """A runner file of the same name may lie elsewhere; and two networks share no state."""
    for name in [name for name in sys.modules if name == "runners" or name.startswith("runners.")]:
        del sys.modules[name]


def _nowhere(view: memoryview) -> None:
    """Messages are checked as they would be on their way to a child, and stay here."""


def _end(seconds: float) -> None:
    print(f"The runner did not answer within {seconds:g} seconds.", file=sys.stderr, flush=True)
    os._exit(1)


RUNNERS = Path(__file__).parent / "runners"
"""The runner files of this package."""


@dataclass(slots=True, kw_only=True)
class Runner:
    """Runs a runner file: arrays in, arrays out. A child process that died is replaced at the next call."""

    environment: Environment
    file: Path
    settings: Mapping[str, Json] = field(default_factory=dict)
    """Given to the runner file when it is loaded, and again with every call."""
    seconds_to_load: float = 900.0
    seconds_to_answer: float = 3600.0
    max_bytes: int = MAX_BYTES
    _child: ChildProcess | ServedHere | None = None

    def start(self) -> ChildProcess | ServedHere:
        """Who serves, with the runner file loaded; or an `Unmeasurable`. In its environment, this process does."""
        if self._child is None or not self._child.is_alive:
            started: ChildProcess | ServedHere
            if is_this_process_in(self.environment):
                started = ServedHere(self.max_bytes)
            else:
                started = ChildProcess(self.environment.ensure(), self.max_bytes)
            header = {"kind": "load", "runner": str(self.file), "settings": dict(self.settings)}
            started.ask(header, {}, self.seconds_to_load)
            self._child = started
        return self._child

    def ask(self, arrays: Mapping[str, NDArray[Any]], **settings: Json) -> dict[str, NDArray[Any]]:
        """What the runner file returns for these arrays; these settings are added to those of all calls."""
        header = {"kind": "ask", "settings": {**self.settings, **settings}}
        return self.start().ask(header, arrays, self.seconds_to_answer)


Finish: TypeAlias = Callable[[Mapping[str, NDArray[Any]], Indices, Timeline], Feature]
"""Makes the feature from what the runner returned, the frames that it saw, and the video's timeline."""


def keep_all(answer: Mapping[str, NDArray[Any]], frame_indices: Indices, timeline: Timeline) -> Feature:
    """All that the runner returned, with the frames that it belongs to."""
    return Feature({**answer, "frame_indices": frame_indices})


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedIsolated:
    """Sends the chosen frames as `frames` [N, height, width, 3], all at once or some at a time."""

    runner: Runner
    frames: Sampler
    height: int | None
    batch: int | None = None
    """Frames in one call; results are joined along their first axis. `None` sends all frames in one call."""
    finish: Finish = keep_all
    resized: Callable[[Pixels], Pixels] | None = None
    """What makes each frame as it is sent of one as decoded."""

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _IsolatedExtraction:
        """Start on one rollout."""
        indices = self.frames.indices(timeline, rollout)
        return _IsolatedExtraction(self, timeline, FrameRequest(frozenset(indices), self.height))


@dataclass(frozen=True, slots=True)
class _IsolatedExtraction:
    loaded: LoadedIsolated
    timeline: Timeline
    request: FrameRequest
    waiting: list[Pixels] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    answers: list[Mapping[str, NDArray[Any]]] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        self.seen.append(frame.index)
        resized = self.loaded.resized
        self.waiting.append(frame.pixels if resized is None else resized(frame.pixels))
        if len(self.waiting) == self.loaded.batch:
            self._ask()

    def finish(self) -> Feature:
        if self.waiting:
            self._ask()
        answer, *others = self.answers
        if others:
            answer = {name: np.concatenate([one[name] for one in self.answers]) for name in answer}
        return self.loaded.finish(answer, np.array(self.seen, np.int64), self.timeline)

    def _ask(self) -> None:
        self.answers.append(self.loaded.runner.ask({"frames": np.stack(self.waiting)}))
        self.waiting.clear()
