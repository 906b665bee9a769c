"""Frames to a network in batches: never more frames in memory than one batch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import (
    Abstention,
    Compute,
    Extractor,
    ExtractorBase,
    Feature,
    Features,
    Floats,
    Frame,
    FrameRequest,
    Json,
    Pixels,
    Reason,
    Rollout,
    SampledExtractor,
    Sampler,
    Timeline,
    Unmeasurable,
)
from lookaway.perception.weights import Weights

Network = TypeVar("Network")
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


BatchFunction: TypeAlias = Callable[[Sequence[Frame]], Mapping[str, NDArray[Any]]]
"""From a batch of frames to one row a frame of each array."""


@dataclass(slots=True)
class BatchedExtraction:
    """Collects frames, sends them through a network a batch at a time, and joins the rows."""

    request: FrameRequest
    frames_at_once: int
    extract: BatchFunction
    detail: Mapping[str, Json] = field(default_factory=dict)
    indices_name: str = "frame_indices"
    """Name of the array of all frames."""
    _waiting: list[Frame] = field(default_factory=list)
    _indices: list[int] = field(default_factory=list)
    _rows: list[Mapping[str, NDArray[Any]]] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        """Take a frame; a full batch goes through the network at once."""
        self._waiting.append(frame)
        self._indices.append(frame.index)
        if len(self._waiting) >= self.frames_at_once:
            self._extract_waiting()

    def finish(self) -> Feature:
        """All rows, and the indices of all frames."""
        if self._waiting:
            self._extract_waiting()
        names = self._rows[0] if self._rows else {}
        arrays = {name: np.concatenate([part[name] for part in self._rows]) for name in names}
        return Feature({**arrays, self.indices_name: np.array(self._indices, np.int64)}, self.detail)

    def _extract_waiting(self) -> None:
        self._rows.append(self.extract(self._waiting))
        self._waiting = []


class NetworkExtractor(ExtractorBase):
    """An extractor with a network, which declines while the weights are missing."""

    __slots__ = ()

    weights: Weights

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once the weights are there."""
        return self.weights.declines()


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How the frames of one rollout go through a network."""

    frames_at_once: int
    extract: BatchFunction
    detail: Mapping[str, Json] = field(default_factory=dict)
    indices_name: str = "frame_indices"


class BatchExtractor(NetworkExtractor, SampledExtractor, Generic[Network]):
    """An extractor whose network gives rows for each frame, a batch of frames at a time."""

    __slots__ = ()

    @abstractmethod
    def network(self) -> Network:
        """The loaded network."""

    @abstractmethod
    def batches(self, network: Network, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network; or an `Unmeasurable`."""

    def load(self) -> LoadedBatchExtractor[Network]:
        """Load the network."""
        return LoadedBatchExtractor(self, self.network())


@dataclass(frozen=True, slots=True)
class LoadedBatchExtractor(Generic[Network]):
    """A batch extractor with its network loaded."""

    recipe: BatchExtractor[Network]
    network: Network

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> BatchedExtraction:
        """Start on one rollout."""
        batches = self.recipe.batches(self.network, rollout, timeline)
        request = self.recipe.request(timeline, rollout)
        return BatchedExtraction(request, batches.frames_at_once, batches.extract, batches.detail, batches.indices_name)


@dataclass(slots=True)
class StepDistances:
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


Embedder: TypeAlias = Callable[[Sequence[Pixels]], Floats]
"""Pictures of any sizes to [pictures, channels]."""


class Embedding(Extractor, Protocol):
    """An extractor of one vector a frame, whose network others can use on pictures of their own."""

    def lacks(self) -> Abstention | None:
        """Why the network cannot be loaded."""
        ...

    def embedder(self) -> Embedder:
        """The loaded network."""
        ...
