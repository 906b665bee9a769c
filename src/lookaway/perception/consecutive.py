"""Compares each sampled frame with the one before it, holding no more than a batch and one frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from lookaway.core import Floats, Frame, FrameRequest, Reason, Rollout, Timeline, Unmeasurable
from lookaway.io.sampling import Sampler


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
