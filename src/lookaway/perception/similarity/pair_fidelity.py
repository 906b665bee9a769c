"""How far the pixels of two frames of one clip are from each other, for pairs that a selector chooses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import (
    Abstention,
    Extraction,
    Extractor,
    ExtractorBase,
    Feature,
    Features,
    Floats,
    Frame,
    FrameRequest,
    Pairs,
    Pending,
    RevisitSelector,
    Rollout,
    Timeline,
)
from lookaway.core.extractor_base import FrameExtraction
from lookaway.perception.opencv import load_opencv
from lookaway.perception.similarity.compared_frames import Canvas, both_pictures
from lookaway.perception.similarity.frame_fidelity import SSIM, WHITE, ssim_of_means


class RevisitExtractor(ExtractorBase):
    """An extractor that looks at the frames of pairs that a selector chooses, by poses, by flow or by neither."""

    __slots__ = ()

    of_video: ClassVar[bool] = True

    pairs: RevisitSelector
    poses: Extractor | None
    flow: Extractor | None

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """What pairs are chosen by."""
        sources = {"poses": self.poses, "flow": self.flow}
        return {name: recipe for name, recipe in sources.items() if recipe is not None}

    def declines(self, rollout: Rollout) -> Abstention | None:
        """There must be pairs."""
        return self.pairs.declines(rollout)


@dataclass(slots=True)
class PairExtraction:
    """Hands the later frame of each pair on, with the earlier one as its partner, as soon as both were seen."""

    pairs: Pairs
    inner: Extraction
    request: FrameRequest = field(init=False)
    _earlier: dict[int, Frame] = field(default_factory=dict)
    _awaited: Counter[int] = field(init=False)
    _joined: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.request = FrameRequest(frozenset(self.pairs.frames.ravel().tolist()))
        self._awaited = Counter(self.pairs.frames[:, 0].tolist())

    def add_frame(self, frame: Frame) -> None:
        """Take a frame, and hand on the pairs that it completes."""
        for first in self.pairs.frames[self.pairs.frames[:, 1] == frame.index, 0].tolist():
            self.inner.add_frame(replace(frame, partner=self._earlier[first]))
            self._joined.append((first, frame.index))
            self._awaited[first] -= 1
            if self._awaited[first] == 0:
                del self._earlier[first]
        if self._awaited[frame.index] > 0:
            self._earlier[frame.index] = frame

    def finish(self) -> Feature | Pending:
        """The feature of the pairs, in order of their later frames."""
        found = self.inner.finish()
        if not isinstance(found, Feature):
            raise TypeError("pairs are compared in this process.")
        arrays = {name: array for name, array in found.arrays.items() if not name.endswith("_indices")}
        frames = np.array(self._joined, np.int64).reshape(-1, 2)
        return Feature({**arrays, "frames": frames}, {**found.detail, "rule": self.pairs.rule})


@dataclass(frozen=True, slots=True)
class SsimWindow:
    """What SSIM takes its means and variances over: published protocols differ, and so do their numbers."""

    side: Annotated[int, "side of the window, odd, in pixels"] = 11
    sigma: Annotated[float | None, "standard deviation of a gaussian window in pixels; `None` weighs all alike"] = None
    is_cropped: Annotated[bool, "leaves out windows that reach over the edge; else pictures go on as mirrored"] = False
    is_sample: Annotated[bool, "divides variances by n - 1 instead of n"] = False
    is_grey: Annotated[bool, "compares the means of red, green and blue instead of each"] = False

    def __post_init__(self) -> None:
        if self.side < 1 or self.side % 2 == 0:
            raise ValueError(f"a window has a pixel in its middle, so that its side is odd, found {self.side}.")

    def similarity(self, cv2: ModuleType, first: NDArray[Any], second: NDArray[Any]) -> float:
        """Mean SSIM of two pictures [height, width, 3] from 0 to 255."""
        if self.is_grey:
            first, second = first.mean(axis=2, dtype=np.float64), second.mean(axis=2, dtype=np.float64)

        def mean(picture: Floats) -> Floats:
            size = (self.side, self.side)
            found: Floats = (
                cv2.blur(picture, size, borderType=cv2.BORDER_REFLECT)
                if self.sigma is None
                else cv2.GaussianBlur(picture, size, self.sigma, borderType=cv2.BORDER_REFLECT_101)
            )
            return found

        count = self.side**2
        scale = count / (count - 1) if self.is_sample and count > 1 else 1.0
        whole = ssim_of_means(mean, first, second, variance_scale=scale)
        margin = self.side // 2 if self.is_cropped else 0
        return float(whole[margin : len(whole) - margin, margin : whole.shape[1] - margin].mean())


@dataclass(frozen=True, slots=True)
class PairFidelity(RevisitExtractor):
    """Mean squared difference and SSIM of the two frames of each chosen pair, in double precision.

    Frames are compared at the size that the video has, unless a canvas is named. Those of pairs that are not yet
    complete are held in memory.
    """

    name: ClassVar[str] = "pair_fidelity"
    software: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "numpy")
    seconds_per_frame: ClassVar[float] = 0.05
    bytes_per_frame: ClassVar[float] = 32.0
    constants: ClassVar[tuple[str, ...]] = (*SSIM, f"{ssim_of_means.__module__}:WHITE")
    arrays: ClassVar[Mapping[str, str]] = {
        "mse": "float64 [pairs]: mean squared difference of channels that go from 0 to 1",
        "ssim": "float64 [pairs]: mean structural similarity, 1 where frames are equal",
        "frames": "int64 [pairs, 2]: frames of each pair, earlier one first",
    }

    pairs: Annotated[RevisitSelector, "which frames are compared"]
    poses: Annotated[Extractor | None, "where the camera was, where pairs are chosen by that"] = None
    flow: Annotated[Extractor | None, "how the picture moves, where pairs are chosen by that"] = None
    window: Annotated[SsimWindow, "the window of SSIM"] = SsimWindow()
    canvas: Annotated[Canvas | None, "size at which frames are compared; `None` keeps that of the video"] = None

    def load(self) -> PairFidelity:
        """Nothing but OpenCV."""
        load_opencv()
        return self

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> PairExtraction:
        """Start on one rollout."""
        cv2, pairs = load_opencv(), self.pairs.choose(rollout, timeline, features)

        def extract(frame: Frame) -> dict[str, float]:
            second, first = both_pictures(frame, self.canvas)
            squares = cv2.norm(first, second, cv2.NORM_L2SQR)
            return {"mse": squares / first.size / WHITE**2, "ssim": self.window.similarity(cv2, first, second)}

        return PairExtraction(pairs, FrameExtraction(extract, ("mse", "ssim"), FrameRequest(frozenset()), {}))
