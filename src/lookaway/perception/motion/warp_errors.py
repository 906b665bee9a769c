"""What is left of the difference of two frames after one was warped to the other by optical flow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np

from lookaway.core import (
    Abstention,
    Compute,
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
from lookaway.perception.networks.pretrained import dtype_of
from lookaway.perception.networks.raft_network import MIN_SIDE, STRIDE, RaftConfig, load_raft
from lookaway.perception.similarity.compared_frames import GeneratedSize
from lookaway.perception.weights import Weights, published

Flow: TypeAlias = Callable[[Floats, Floats], Floats]
"""Motion [height, width, 2] to the right and down, in pixels, from one picture [height, width, 3] to another."""


def warp_error(earlier: Floats, later: Floats, flow: Floats, *, samples_earlier: bool = False) -> float:
    """Mean absolute difference of two pictures of 0 to 1 after one was warped to the other by the flow between them.

    The later picture is sampled where the flow says that each pixel of the earlier one went; beyond the edges it goes
    on as its edge. MemoBench samples the earlier picture there, which moves it the wrong way: what moves
    steadily is then off by twice its motion.
    """
    from scipy.ndimage import map_coordinates

    rows, columns = np.indices(earlier.shape[:2], np.float64)
    where = np.stack([rows + flow[..., 1], columns + flow[..., 0]])
    source, target = (earlier, later) if samples_earlier else (later, earlier)
    warped = np.stack(
        [map_coordinates(source[..., channel], where, order=1, mode="nearest") for channel in range(3)], axis=-1
    )
    return float(np.abs(warped - target).mean())


@dataclass(frozen=True, slots=True)
class WarpErrors(SampledExtractor):
    """An extractor of warp errors; a subclass gives `load_flow`, and the fields that its flow depends on."""

    of_video: ClassVar[bool] = True
    bytes_per_frame: ClassVar[float] = 16.0
    arrays: ClassVar[Mapping[str, str]] = {
        "errors": "float64 [steps]: mean absolute difference of channels from 0 to 1 after warping",
        "frame_indices": "int64 [steps + 1]: the sampled frames",
    }

    frames: Annotated[Sampler, "which frames are compared, each with the next"] = EveryInPhases(
        ("visible", "reappeared"), step=4
    )
    size: Annotated[GeneratedSize, "size at which flow is estimated"] = GeneratedSize()
    samples_earlier: Annotated[bool, "warps the wrong way, as MemoBench's paper and code do"] = False

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
            self._errors.append(warp_error(self._earlier, later, flow, samples_earlier=recipe.samples_earlier))
        self._earlier = later
        self._indices.append(frame.index)

    def finish(self) -> Feature:
        """The error of each step."""
        return Feature({"errors": np.array(self._errors), "frame_indices": np.array(self._indices, np.int64)})


@dataclass(frozen=True, slots=True)
class RaftWarpErrors(WarpErrors):
    """Warp errors by the flow of RAFT, large, after twelve refinements.

    Pictures go to the network between -1 and 1, as it was trained, and are padded by their edges. MemoBench's own code
    gives it pictures between 0 and 1: so does `from_zero`.
    """

    name: ClassVar[str] = "raft_warp_errors"
    software: ClassVar[tuple[str, ...]] = ("torch", "scipy", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 12.0

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "raft-large"))
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()
    config: Annotated[RaftConfig, "what the network is besides its parameters"] = RaftConfig()
    from_zero: Annotated[bool, "gives the network pictures from 0 to 1, as MemoBench's own code does"] = False

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once the weights are there."""
        return self.weights.declines()

    def request(self, timeline: Timeline, rollout: Rollout) -> FrameRequest:
        """The sampled frames, where they are large enough for the network."""
        width, height = self.size.size_of(timeline)
        if min(_padded(width), _padded(height)) < MIN_SIDE:
            found = f"frames are {width} x {height} where flow is estimated"
            raise Unmeasurable(Reason.INVALID_INPUT, f"{found}; RAFT needs {MIN_SIDE} pixels each way.")
        return WarpErrors.request(self, timeline, rollout)

    def load_flow(self) -> Flow:
        """RAFT, from picture to picture."""
        network = load_raft(self.weights, self.config, self.compute)
        torch = network.torch

        def to_input(picture: Floats) -> Any:
            height, width = picture.shape[:2]
            sides = ((0, _padded(height) - height), (0, _padded(width) - width), (0, 0))
            padded = np.pad(picture if self.from_zero else 2 * picture - 1, sides, mode="edge")
            batch = torch.from_numpy(padded).permute(2, 0, 1)[None]
            return batch.to(self.compute.device, dtype_of(torch, self.compute))

        def flow(earlier: Floats, later: Floats) -> Floats:
            found = network(to_input(earlier), to_input(later))[0].permute(1, 2, 0)
            return np.asarray(found.double().cpu().numpy()[: earlier.shape[0], : earlier.shape[1]])

        return flow


def _padded(side: int) -> int:
    return -(-side // STRIDE) * STRIDE
