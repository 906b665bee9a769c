"""Shows frames to a runner in an environment of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Feature, Features, Frame, FrameRequest, Indices, Pixels, Rollout, Timeline
from lookaway.io.sampling import Sampler
from lookaway.perception.isolation.runner import Runner

Finish: TypeAlias = Callable[[Mapping[str, NDArray[Any]], Indices, Timeline], Feature]
"""Makes the feature from what the runner answered, the frames that it saw, and the video's timeline."""


def keep_all(answer: Mapping[str, NDArray[Any]], frame_indices: Indices, timeline: Timeline) -> Feature:
    """All that the runner answered, with the frames that it belongs to."""
    return Feature({**answer, "frame_indices": frame_indices})


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolatedPerceiver:
    """Sends the chosen frames as `frames` [N, height, width, 3], all at once or some at a time."""

    runner: Runner
    frames: Sampler
    height: int | None
    batch: int | None = None
    """Frames in one question; the answers are joined along their first axis. `None` asks one question for all."""
    finish: Finish = keep_all

    def begin(self, rollout: Rollout, timeline: Timeline, features: Features) -> _IsolatedWatch:
        """Start watching a rollout."""
        indices = self.frames.indices(timeline, rollout)
        return _IsolatedWatch(self, timeline, FrameRequest(frozenset(indices), self.height))


@dataclass(frozen=True, slots=True)
class _IsolatedWatch:
    perceiver: IsolatedPerceiver
    timeline: Timeline
    request: FrameRequest
    waiting: list[Pixels] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    answers: list[Mapping[str, NDArray[Any]]] = field(default_factory=list)

    def see(self, frame: Frame) -> None:
        self.seen.append(frame.index)
        self.waiting.append(frame.pixels)
        if len(self.waiting) == self.perceiver.batch:
            self._ask()

    def perceive(self) -> Feature:
        if self.waiting:
            self._ask()
        answer, *others = self.answers
        if others:
            answer = {name: np.concatenate([one[name] for one in self.answers]) for name in answer}
        return self.perceiver.finish(answer, np.array(self.seen, np.int64), self.timeline)

    def _ask(self) -> None:
        self.answers.append(self.perceiver.runner.ask({"frames": np.stack(self.waiting)}))
        self.waiting.clear()
