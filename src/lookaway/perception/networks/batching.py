"""Frames to a network in batches: never more frames in memory than one batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Compute, Feature, Floats, Frame, FrameRequest, Json, Reason, Rollout, Timeline, Unmeasurable
from lookaway.io.sampling import Sampler

MAX_FRAMES = 32
"""Larger batches are no faster."""
CPU_BYTES, GPU_BYTES = 256 * 1024 * 1024, 2 * 1024 * 1024 * 1024
"""What one batch may take on its way through a network. Fixed, so that free memory cannot change the last digits."""


def batch_size(bytes_per_frame: float, compute: Compute) -> int:
    """How many frames go through a network at once.

    >>> batch_size(100e6, Compute()), batch_size(1e6, Compute()), batch_size(1e12, Compute())
    (2, 32, 1)
    """
    budget = CPU_BYTES if compute.device.startswith("cpu") else GPU_BYTES
    return int(max(1, min(MAX_FRAMES, budget // bytes_per_frame)))


@dataclass(slots=True)
class BatchedExtraction:
    """Collects frames, shows them to a network a batch at a time, and joins what it gives along the first axis."""

    request: FrameRequest
    frames_at_once: int
    look: Callable[[Sequence[Frame]], Mapping[str, NDArray[Any]]]
    detail: Mapping[str, Json] = field(default_factory=dict)
    _waiting: list[Frame] = field(default_factory=list)
    _indices: list[int] = field(default_factory=list)
    _seen: list[Mapping[str, NDArray[Any]]] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        """Take a frame; a full batch goes to the network at once."""
        self._waiting.append(frame)
        self._indices.append(frame.index)
        if len(self._waiting) >= self.frames_at_once:
            self._look()

    def finish(self) -> Feature:
        """Everything, one row a frame, with the frames they belong to."""
        if self._waiting:
            self._look()
        names = self._seen[0] if self._seen else {}
        arrays = {name: np.concatenate([part[name] for part in self._seen]) for name in names}
        return Feature({**arrays, "frame_indices": np.array(self._indices, np.int64)}, self.detail)

    def _look(self) -> None:
        self._seen.append(self.look(self._waiting))
        self._waiting = []


@dataclass(slots=True)
class Steps:
    """Distances of consecutive frames, a batch at a time."""

    torch: ModuleType
    describe: Callable[[Sequence[Frame]], Sequence[Any]]
    """One tensor a layer, one row a frame."""
    compare: Callable[[Sequence[Any], Sequence[Any]], Floats]
    """One row a pair, from what describes its earlier and its later frame."""
    _last: list[Any] = field(default_factory=list)

    def __call__(self, frames: Sequence[Frame]) -> dict[str, Floats]:
        """Distances of the frames of a batch to those before them; the very first has none."""
        with self.torch.inference_mode():
            layers = self.describe(frames)
            if self._last:
                layers = [self.torch.cat(both) for both in zip(self._last, layers, strict=True)]
            # A copy, since a view would hold the whole batch.
            self._last = [layer[-1:].clone() for layer in layers]
            return {"distances": self.compare([layer[:-1] for layer in layers], [layer[1:] for layer in layers])}


def request_steps(frames: Sampler, timeline: Timeline, rollout: Rollout, height: int | None) -> FrameRequest:
    """The sampled frames, of which there must be two."""
    indices = frames.indices(timeline, rollout)
    if len(indices) < 2:
        found = f"{len(indices)} of the {timeline.frame_count} frames were sampled"
        raise Unmeasurable(Reason.TOO_SHORT, f"{found}; a step needs two. Sample more frames or a longer video.")
    return FrameRequest(frozenset(indices), height)
