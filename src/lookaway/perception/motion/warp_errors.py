"""What is left of the difference of two frames after one was warped to the other by optical flow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, TypeAlias

import numpy as np

from lookaway.core import (
    Feature,
    Features,
    Floats,
    Frame,
    FrameRequest,
    Reason,
    Rollout,
    SampledExtractor,
    Sampler,
    Timeline,
    Unmeasurable,
)
from lookaway.io.phases import EveryInPhases
from lookaway.perception.similarity.compared_frames import GeneratedSize

Flow: TypeAlias = Callable[[Floats, Floats], Floats]
"""Motion [height, width, 2] to the right and down, in pixels, from one picture [height, width, 3] to another."""


def warp_error(earlier: Floats, later: Floats, flow: Floats, *, as_published: bool = False) -> float:
    """Mean absolute difference of two pictures of 0 to 1 after one was warped to the other by the flow between them.

    The later picture is sampled where the flow says that each pixel of the earlier one went; beyond the edges it goes
    on as its edge. MemoBench's own code samples the earlier picture there, which moves it the wrong way: what moves
    steadily is then off by twice its motion.
    """
    from scipy.ndimage import map_coordinates

    rows, columns = np.indices(earlier.shape[:2], np.float64)
    where = np.stack([rows + flow[..., 1], columns + flow[..., 0]])
    source, target = (earlier, later) if as_published else (later, earlier)
    warped = np.stack(
        [map_coordinates(source[..., channel], where, order=1, mode="nearest") for channel in range(3)], axis=-1
    )
    return float(np.abs(warped - target).mean())


@dataclass(frozen=True, slots=True)
class WarpErrors(SampledExtractor):
    """An extractor of warp errors; a subclass gives `load_flow`, and the fields that its flow depends on."""

    bytes_per_frame: ClassVar[float] = 16.0
    arrays: ClassVar[Mapping[str, str]] = {
        "errors": "float64 [steps]: mean absolute difference of channels from 0 to 1 after warping",
        "frame_indices": "int64 [steps + 1]: the sampled frames",
    }

    frames: Annotated[Sampler, "which frames are compared, each with the next"] = EveryInPhases(
        ("visible", "reappeared"), step=4
    )
    size: Annotated[GeneratedSize, "size at which flow is estimated"] = GeneratedSize()
    as_published: Annotated[bool, "warps the wrong way, as MemoBench's own code does"] = False

    @abstractmethod
    def load_flow(self) -> Flow:
        """The estimator of flow."""

    def load(self) -> LoadedWarpErrors:
        """Load the estimator."""
        return LoadedWarpErrors(self, self.load_flow())


@dataclass(frozen=True, slots=True)
class LoadedWarpErrors:
    """Warp errors with their estimator of flow loaded."""

    recipe: WarpErrors
    flow: Flow

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> WarpExtraction:
        """Start on one rollout."""
        request = self.recipe.request(timeline, rollout)
        if len(request.indices) < 2:
            raise Unmeasurable(Reason.TOO_SHORT, f"motion needs two frames, {len(request.indices)} are sampled.")
        return WarpExtraction(self, request)


@dataclass(slots=True)
class WarpExtraction:
    """Compares each sampled frame with the one before."""

    loaded: LoadedWarpErrors
    request: FrameRequest
    _earlier: Floats | None = None
    _errors: list[float] = field(default_factory=list)
    _indices: list[int] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        """Compare a frame with the one before."""
        recipe = self.loaded.recipe
        later = recipe.size.reduce(frame.pixels).astype(np.float64) / 255
        if self._earlier is not None:
            flow = self.loaded.flow(self._earlier, later)
            self._errors.append(warp_error(self._earlier, later, flow, as_published=recipe.as_published))
        self._earlier = later
        self._indices.append(frame.index)

    def finish(self) -> Feature:
        """The error of each step."""
        return Feature({"errors": np.array(self._errors), "frame_indices": np.array(self._indices, np.int64)})
