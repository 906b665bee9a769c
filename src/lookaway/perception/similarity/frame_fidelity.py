"""How far the pixels of each frame are from those of the frame it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any, ClassVar, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lookaway.core import (
    Abstention,
    ComparedFrames,
    Floats,
    Frame,
    FrameExtractor,
    FrameFunction,
    Json,
    Rollout,
    Timeline,
)
from lookaway.perception.opencv import load_opencv
from lookaway.perception.similarity.compared_frames import (
    Picture,
    ReferenceFrames,
    SharedSize,
    both_pictures,
    partner_of,
)

STEADY_MEAN, STEADY_CONTRAST = (0.01 * 255) ** 2, (0.03 * 255) ** 2
"""What keeps quotients finite where pictures are black or flat, as Wang et al. (2004) choose it for 8 bits."""
MIDDLE = 127.5
"""Taken off every pixel before squares are averaged, where single precision would lose the small differences."""
WHITE = 255.0
SSIM: Final = tuple(f"{__name__}:{name}" for name in ("STEADY_MEAN", "STEADY_CONTRAST", "MIDDLE"))
"""What the lock of whoever measures SSIM holds."""
ROWS_AT_ONCE = 64
"""Strips of so many rows stay in the processor's cache."""


def ssim(
    cv2: ModuleType,
    first: NDArray[Any],
    second: NDArray[Any],
    *,
    window: int,
    sigma: float,
    precision: DTypeLike = np.float64,
) -> Floats:
    """SSIM of two pictures from 0 to 255 around every pixel of every channel, in an array of their shape.

    By moments under a gaussian window of `window` pixels. Within half a window of the edges, pictures go on as
    mirrored.
    """

    def mean(picture: Floats) -> Floats:
        found: Floats = cv2.GaussianBlur(picture, (window, window), sigma, borderType=cv2.BORDER_REFLECT_101)
        return found

    return ssim_of_means(mean, first, second, precision=precision, variance_scale=1.0)


def ssim_of_means(
    mean: Callable[[Floats], Floats],
    first: NDArray[Any],
    second: NDArray[Any],
    *,
    precision: DTypeLike = np.float64,
    variance_scale: float,
) -> Floats:
    """SSIM by any local mean; `variance_scale` is n / (n - 1) for the variances of a sample of n."""
    # SSIM is a function of the moments of sum and difference alone: four means instead of five, and where pictures are
    # alike, the moments of their difference are exact.
    both: Floats = np.add(first, second, dtype=precision)
    apart: Floats = np.subtract(first, second, dtype=precision)
    both -= 2 * MIDDLE
    mean_both, mean_apart = mean(both), mean(apart)
    variance_both, variance_apart = mean(np.square(both, out=both)), mean(np.square(apart, out=apart))
    variance_both -= np.square(mean_both, out=both)
    level_apart = np.square(mean_apart, out=mean_apart)
    variance_apart -= level_apart
    if variance_scale != 1:
        variance_both *= variance_scale
        variance_apart *= variance_scale
    mean_both += 2 * MIDDLE
    level_both = np.square(mean_both, out=mean_both)

    above, below = np.subtract(level_both, level_apart, out=both), np.add(level_both, level_apart, out=level_both)
    above += 2 * STEADY_MEAN
    below += 2 * STEADY_MEAN
    structure = np.subtract(variance_both, variance_apart, out=apart)
    contrast = np.add(variance_both, variance_apart, out=variance_both)
    structure += 2 * STEADY_CONTRAST
    contrast += 2 * STEADY_CONTRAST
    above *= structure
    below *= contrast
    above /= below
    return above


def mean_structural_similarity(
    cv2: ModuleType, first: NDArray[Any], second: NDArray[Any], *, window: int, sigma: float
) -> float:
    """Mean of SSIM over all pixels and channels, in single precision, a strip of rows at a time."""
    half, height, total = window // 2, len(first), 0.0
    for start in range(0, height, ROWS_AT_ONCE):
        stop = min(start + ROWS_AT_ONCE, height)
        strip = slice(max(0, start - half), min(height, stop + half))
        similarity = ssim(cv2, first[strip], second[strip], window=window, sigma=sigma, precision=np.float32)
        total += float(similarity[start - strip.start : stop - strip.start].sum(dtype=np.float64))
    return total / first.size


@dataclass(frozen=True, slots=True)
class FrameFidelity(FrameExtractor):
    """Mean squared difference and SSIM of every compared frame and its partner.

    Both are taken over all pixels and the channels red, green and blue. SSIM has a gaussian window; near the edges the
    pictures go on as mirrored, and the whole map is averaged. One pair is in memory at a time.
    """

    name: ClassVar[str] = "frame_fidelity"
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "numpy")
    seconds_per_frame: ClassVar[float] = 0.02
    bytes_per_frame: ClassVar[float] = 32.0
    constants: ClassVar[tuple[str, ...]] = (*SSIM, f"{__name__}:WHITE", f"{__name__}:ROWS_AT_ONCE")
    arrays: ClassVar[Mapping[str, str]] = {
        "mse": "float64 [pairs]: mean squared difference of channels that go from 0 to 1",
        "ssim": "float64 [pairs]: mean structural similarity, 1 where frames are equal",
        "frame_indices": "int64 [pairs]: the frame of the generated video",
        "partner_indices": "int64 [pairs]: the frame that it is compared with",
    }

    compared: Annotated[ComparedFrames, "which frames are compared"] = ReferenceFrames()
    canvas: Annotated[
        SharedSize | None, "size at which they are; `None` keeps that of the videos, which must agree"
    ] = None
    window: Annotated[int, "side of the window of SSIM, odd, in pixels"] = 11
    sigma: Annotated[float, "standard deviation of the Gaussian window, in pixels"] = 1.5

    def __post_init__(self) -> None:
        if self.window < 1 or self.window % 2 == 0:
            raise ValueError(f"a window has a pixel in its middle, so that its side is odd, found {self.window}.")

    def declines(self, rollout: Rollout) -> Abstention | None:
        """There must be something to compare with."""
        return self.compared.declines(rollout)

    def load_function(self) -> FrameFunction:
        """Import OpenCV."""
        cv2 = load_opencv()

        def extract(frame: Frame) -> dict[str, float]:
            first, second = both_pictures(frame, self.canvas)
            squares = cv2.norm(first, second, cv2.NORM_L2SQR)
            structure = self.structure(cv2, first), self.structure(cv2, second)
            similarity = mean_structural_similarity(cv2, *structure, window=self.window, sigma=self.sigma)
            return {
                "mse": squares / first.size / WHITE**2,
                "ssim": similarity,
                "partner_indices": partner_of(frame).index,
            }

        return extract

    def structure(self, cv2: ModuleType, picture: Picture) -> Picture:
        """What of a picture SSIM compares: all three channels."""
        return picture

    def detail(self, timeline: Timeline) -> dict[str, Json]:
        """How many frames the video has."""
        return {"video_frames": timeline.frame_count}


@dataclass(frozen=True, slots=True)
class LumaFidelity(FrameFidelity):
    """Mean squared difference and SSIM of every compared frame and its partner, the latter of luma alone.

    The difference is taken over all pixels and the channels red, green and blue, SSIM over luma as OpenCV rounds it
    (BT.601), with a gaussian window. Near the edges the pictures go on as mirrored, and the whole map is averaged.
    """

    name: ClassVar[str] = "luma_fidelity"

    def structure(self, cv2: ModuleType, picture: Picture) -> Picture:
        """Luma."""
        found: Picture = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
        return found
