"""Where one shot ends and another begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Annotated, Any, ClassVar

import numpy as np

from lookaway.core import Compute, Feature, Features, Floats, Frame, FrameRequest, Pixels, Rollout, Timeline
from lookaway.perception.networks.batching import NetworkExtractor
from lookaway.perception.networks.pretrained import load_parameters, load_torch
from lookaway.perception.networks.transnet_network import HEIGHT, NUMBERS, WIDTH, cut_probabilities, transnet
from lookaway.perception.opencv import load_opencv
from lookaway.perception.weights import Weights, published

WINDOW, MARGIN = 100, 25
"""Frames that the network sees at once, and those at either end of them that it only sees for the others' sake."""


@dataclass(frozen=True, slots=True)
class TransnetCuts(NetworkExtractor):
    """How probable a cut is after each frame, by TransNet V2; what counts as a cut is for metrics to say."""

    name: ClassVar[str] = "transnet_cuts"
    constants: ClassVar[tuple[str, ...]] = (f"{__name__}:WINDOW", f"{__name__}:MARGIN", *NUMBERS)
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("torch", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 0.03
    bytes_per_frame: ClassVar[float] = 12.0
    arrays: ClassVar[Mapping[str, str]] = {
        "probabilities": "float32 [frames]: that a shot ends with this frame",
        "frame_indices": "int64 [frames]: every frame",
    }

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "transnetv2"))
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def load(self) -> _LoadedCuts:
        """Load the network."""
        torch = load_torch(self.compute)
        network = load_parameters(torch, transnet(torch), self.weights, self.compute)
        return _LoadedCuts(load_opencv(), torch, network, self.compute)


@dataclass(frozen=True, slots=True)
class _LoadedCuts:
    cv2: ModuleType
    torch: ModuleType
    network: Any
    compute: Compute

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _CutExtraction:
        return _CutExtraction(self, FrameRequest(frozenset(range(timeline.frame_count)), HEIGHT))

    def __call__(self, window: list[Pixels]) -> Floats:
        with self.torch.inference_mode():
            frames = self.torch.from_numpy(np.stack(window)).to(self.compute.device)
            probabilities: Floats = cut_probabilities(self.torch, self.network, frames).cpu().numpy()
            return probabilities[MARGIN:-MARGIN]


@dataclass(slots=True)
class _CutExtraction:
    """Holds one window of frames; before the first and after the last, they are repeated."""

    loaded: _LoadedCuts
    request: FrameRequest
    _window: list[Pixels] = field(default_factory=list)
    _indices: list[int] = field(default_factory=list)
    _probabilities: list[Floats] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        cv2 = self.loaded.cv2
        self._window = self._window or [_small(cv2, frame.pixels)] * MARGIN
        self._window.append(_small(cv2, frame.pixels))
        self._indices.append(frame.index)
        if len(self._window) == WINDOW:
            self._look()

    def finish(self) -> Feature:
        while sum(map(len, self._probabilities)) < len(self._indices):
            self._window += [self._window[-1]] * (WINDOW - len(self._window))
            self._look()
        probabilities = np.concatenate(self._probabilities)[: len(self._indices)]
        return Feature({"probabilities": probabilities, "frame_indices": np.array(self._indices, np.int64)})

    def _look(self) -> None:
        self._probabilities.append(self.loaded(self._window))
        self._window = self._window[WINDOW - 2 * MARGIN :]


def _small(cv2: ModuleType, pixels: Pixels) -> Pixels:
    small: Pixels = cv2.resize(pixels, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
    return small
