"""How the picture moves from one sampled frame to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, Any, ClassVar

import numpy as np

from lookaway.core import (
    ExtractorBase,
    Feature,
    Features,
    Floats,
    Frame,
    FrameRequest,
    Mask,
    Pixels,
    Reason,
    Rollout,
    Sampler,
    Timeline,
    Unmeasurable,
)
from lookaway.io.sampling import AtFps
from lookaway.perception.opencv import load_opencv


@dataclass(frozen=True, slots=True)
class DisFlow(ExtractorBase):
    """Dense optical flow by inverse search (DIS), in cells of some pixels, without any weights.

    The flow is estimated there and back. A cell is trusted where both agree and where there is something to see.
    """

    name: ClassVar[str] = "dis_flow"
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "numpy")
    seconds_per_frame: ClassVar[float] = 0.01
    bytes_per_frame: ClassVar[float] = 8000.0
    arrays: ClassVar[Mapping[str, str]] = {
        "flow": "float16 [steps, rows, columns, 2]: mean motion of each cell to the right and down, in pixels",
        "is_trusted": "bool [steps, rows, columns]: whether there and back agree in most of the cell",
        "seconds": "float64 [steps]: from the earlier to the later frame",
        "frame_indices": "int64 [frames]: the frames, one more than steps",
        "size": "int64 [2]: width and height of the frames in which pixels are counted",
    }

    frames: Annotated[Sampler, "which frames are compared, each with the next"] = AtFps(8)
    height: Annotated[int, "frame height at which flow is estimated"] = 240
    cell: Annotated[int, "side of a cell in pixels"] = 8
    disagreement: Annotated[float, "pixels by which there and back may differ"] = 0.5
    motion_parts: Annotated[float, "into which the motion is divided, of which one may differ beside that"] = 20.0
    min_agreeing: Annotated[float, "part of a cell in which both agree, from which on it is trusted"] = 0.5
    texture: Annotated[float, "grey levels by which a cell must vary (standard deviation) to be trusted"] = 2.0

    def load(self) -> _LoadedFlow:
        """Import OpenCV and set up its estimator."""
        cv2 = load_opencv()
        return _LoadedFlow(self, cv2, cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_FAST))


@dataclass(frozen=True, slots=True)
class _LoadedFlow:
    recipe: DisFlow
    cv2: ModuleType
    estimator: Any

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _FlowExtraction:
        indices = self.recipe.frames.indices(timeline, rollout)
        if len(indices) < 2:
            raise Unmeasurable(Reason.TOO_SHORT, f"motion needs two frames, {len(indices)} are sampled.")
        return _FlowExtraction(self, FrameRequest(frozenset(indices), self.recipe.height))

    def step(self, earlier: Pixels, later: Pixels) -> tuple[Floats, Mask]:
        """Flow of each cell, and whether it is trusted, from one grey picture to the next."""
        there = self.estimator.calc(earlier, later, None)
        back = self.estimator.calc(later, earlier, None)
        rows, columns = np.indices(earlier.shape, np.float32)
        returned = self.cv2.remap(
            back,
            columns + there[..., 0],
            rows + there[..., 1],
            self.cv2.INTER_LINEAR,
            borderMode=self.cv2.BORDER_CONSTANT,
            borderValue=(np.inf, np.inf),
        )
        error = np.linalg.norm(there + returned, axis=-1)
        agrees = error <= self.recipe.disagreement + np.linalg.norm(there, axis=-1) / self.recipe.motion_parts
        trusted = (self._cells(agrees).mean(axis=(1, 3)) >= self.recipe.min_agreeing) & (
            self._cells(earlier.astype(np.float32)).std(axis=(1, 3)) >= self.recipe.texture
        )
        return self._cells(there).mean(axis=(1, 3)).astype(np.float16), trusted

    def _cells(self, picture: Any) -> Any:
        """[rows, side, columns, side, ...]; what fills no whole cell at the right and below is left out."""
        side = self.recipe.cell
        rows, columns = picture.shape[0] // side, picture.shape[1] // side
        return picture[: rows * side, : columns * side].reshape(rows, side, columns, side, *picture.shape[2:])


@dataclass(slots=True)
class _FlowExtraction:
    loaded: _LoadedFlow
    request: FrameRequest
    grey: Pixels | None = None
    times: list[float] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)
    flows: list[Floats] = field(default_factory=list)
    trusted: list[Mask] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        grey = self.loaded.cv2.cvtColor(frame.pixels, self.loaded.cv2.COLOR_RGB2GRAY)
        if self.grey is not None:
            flow, trusted = self.loaded.step(self.grey, grey)
            self.flows.append(flow)
            self.trusted.append(trusted)
        self.grey = grey
        self.times.append(frame.time_seconds)
        self.indices.append(frame.index)

    def finish(self) -> Feature:
        assert self.grey is not None  # noqa: S101 - at least two frames were requested
        return Feature(
            {
                "flow": np.stack(self.flows),
                "is_trusted": np.stack(self.trusted),
                "seconds": np.diff(self.times),
                "frame_indices": np.array(self.indices, np.int64),
                "size": np.array(self.grey.shape[::-1]),
            }
        )
