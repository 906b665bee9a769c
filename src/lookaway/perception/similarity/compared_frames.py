"""Which frame each frame of a generated video is compared with, and both as pictures of one size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core import (
    Abstention,
    ComparedFrames,
    Floats,
    Frame,
    Indices,
    Partners,
    Pixels,
    Reason,
    Reference,
    Rollout,
    Timeline,
    Unmeasurable,
    VideoError,
)
from lookaway.io.video import probe
from lookaway.perception.networks.batching import BatchExtractor, Network
from lookaway.perception.opencv import load_opencv

Picture: TypeAlias = NDArray[Any]
"""[height, width, 3] of RGB from 0 to 255: bytes as decoded, real numbers where it was scaled."""
WAITING_BYTES = 64 * 1024 * 1024
"""What frames may take that wait for a network."""
MAX_CUT_OFF = 8
"""A picture of which less than one part in so many would be left is not put on a canvas."""


@dataclass(frozen=True, slots=True)
class Canvas:
    """A size that every frame is brought to: scaled until it covers the canvas, then the middle is kept.

    Pixels are interpolated between their neighbours alone, without a filter against aliasing, and not rounded. Frames
    of another shape than the canvas lose their margins.
    """

    height: Annotated[int, "rows"]
    width: Annotated[int, "columns"]

    def __post_init__(self) -> None:
        if self.height < 1 or self.width < 1:
            raise ValueError(f"a canvas has rows and columns, found {self.height} x {self.width}.")

    def cover(self, pixels: Pixels) -> Floats:
        """One picture on the canvas: float32 [height, width, 3] from 0 to 255."""
        height, width = self._scaled(*pixels.shape[:2])
        picture = pixels.astype(np.float32)
        if pixels.shape[:2] != (height, width):
            cv2 = load_opencv()
            picture = cv2.resize(picture, (width, height), interpolation=cv2.INTER_LINEAR)
        top, left = round((height - self.height) / 2), round((width - self.width) / 2)
        return np.ascontiguousarray(picture[top : top + self.height, left : left + self.width])

    def pair(self, first: Pixels, second: Pixels) -> tuple[Picture, Picture]:
        """A generated frame and its partner, both on the canvas."""
        return self.cover(first), self.cover(second)

    def size_of(self, timeline: Timeline) -> tuple[int, int]:
        """Width and height at which frames of a video are compared."""
        return self.width, self.height

    def frames_at_once(self, timeline: Timeline) -> int:
        """How many frames of a video may wait for a network, as decoded, on the canvas and side by side in a batch."""
        decoded, real = 3 * timeline.width * timeline.height, 4 * 3 * self.height * self.width
        return max(1, WAITING_BYTES // (decoded + 2 * real))

    def _scaled(self, height: int, width: int) -> tuple[int, int]:
        scale = max(self.height / height, self.width / width)
        scaled = round(height * scale), round(width * scale)
        if scaled[0] * scaled[1] > MAX_CUT_OFF * self.height * self.width:
            raise Unmeasurable(
                Reason.INVALID_INPUT,
                f"frames of {width} x {height} would lose more than {MAX_CUT_OFF - 1} parts in {MAX_CUT_OFF} on a "
                f"canvas of {self.width} x {self.height}. Give videos of about its shape.",
            )
        return scaled


@dataclass(frozen=True, slots=True)
class GeneratedSize:
    """The size of the generated frame, reduced to a longest side; its partner is squeezed into the same, whatever its
    shape.

    Pixels are averaged over areas and rounded to bytes, as in MemoBench's own code. Frames are never enlarged.
    """

    longest_side: Annotated[int, "the most that the longer side of a generated frame may have, in pixels"] = 640

    def __post_init__(self) -> None:
        if self.longest_side < 1:
            raise ValueError(f"a side has a pixel at least, found {self.longest_side}.")

    def pair(self, first: Pixels, second: Pixels) -> tuple[Picture, Picture]:
        """A generated frame and its partner at one size."""
        reduced = self.reduce(first)
        return reduced, _resized(second, (reduced.shape[1], reduced.shape[0]))

    def reduce(self, pixels: Pixels) -> Picture:
        """A generated frame at its size."""
        return _resized(pixels, self._reduced(pixels.shape[1], pixels.shape[0]))

    def size_of(self, timeline: Timeline) -> tuple[int, int]:
        """Width and height at which frames of a video are compared."""
        return self._reduced(timeline.width, timeline.height)

    def frames_at_once(self, timeline: Timeline) -> int:
        """How many frames of a video may wait for a network, as decoded and at their size."""
        width, height = self.size_of(timeline)
        return max(1, WAITING_BYTES // (3 * timeline.width * timeline.height + 3 * width * height))

    def _reduced(self, width: int, height: int) -> tuple[int, int]:
        scale = min(1.0, self.longest_side / max(width, height))
        return max(1, round(width * scale)), max(1, round(height * scale))


def _resized(pixels: Pixels, size: tuple[int, int]) -> Picture:
    if (pixels.shape[1], pixels.shape[0]) == size:
        return pixels
    cv2 = load_opencv()
    found: Picture = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    return found


SharedSize: TypeAlias = Canvas | GeneratedSize
"""How two frames are brought to one size."""


def shown(pictures: Sequence[Pixels], size: SharedSize | None) -> Sequence[Picture]:
    """Pictures at a size; as they are without one."""
    if size is None:
        return pictures
    return [size.cover(picture) if isinstance(size, Canvas) else size.reduce(picture) for picture in pictures]


LARGEST_USUAL = 1920 * 1080
"""Pixels of a frame; the reference video may be larger than the generated one."""


@dataclass(frozen=True, slots=True)
class ReferenceFrames:
    """Each frame with the frame of the reference video at the same moment, as long as both videos last.

    Frame i is compared with frame `reference.start` + i. Frames are counted in the files, unless
    `stated_end` is set; where the reference video is shorter than stated, nothing is compared.
    """

    most: Annotated[int | None, "frames that are compared, from the first on; `None` is all"] = None
    dropped_batch: Annotated[
        int | None, "leaves out the last batch of so many frames, full or not, as MIND's own code does; `None` is none"
    ] = None
    stated_end: Annotated[
        bool, "takes the end of the reference video from the dataset instead of from the file, as MIND's own code does"
    ] = False

    def __post_init__(self) -> None:
        for name, value in (("most", self.most), ("dropped_batch", self.dropped_batch)):
            if value is not None and value < 1:
                raise ValueError(f"{name} is a number of frames, 1 or more, found {value}.")

    def declines(self, rollout: Rollout) -> Abstention | None:
        """A case with a reference video is needed."""
        try:
            _reference(rollout)
        except Unmeasurable as error:
            return Abstention(error.reason, str(error))
        return None

    def partners(self, timeline: Timeline, rollout: Rollout) -> Partners:
        """Partners in the reference video."""
        reference = _reference(rollout)
        try:
            there = probe(reference.video).frame_count
        except VideoError as error:
            raise VideoError(error.reason, f"the video to compare with: {error}") from error
        if there <= reference.start:
            raise Unmeasurable(
                Reason.TOO_SHORT,
                f"the reference video has {there} frames, and the generated video begins at frame "
                f"{reference.start} of it. Supply the whole reference video, or correct the frame.",
            )
        count = self._kept(self._shared(timeline, reference, there))
        return Partners(reference.video, {index: reference.start + index for index in range(count)})

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """The compared frames of the generated video, for extractors that need no partners."""
        return tuple(self.partners(timeline, rollout).indices)

    def _shared(self, timeline: Timeline, reference: Reference, there: int) -> int:
        """How many frames both videos have, by their files or by what the dataset says, and at most `most`."""
        end = reference.end if self.stated_end and reference.end is not None else there
        count = min(timeline.frame_count, end - reference.start)
        count = count if self.most is None else min(count, self.most)
        if reference.start + count > there:
            raise Unmeasurable(
                Reason.INVALID_INPUT,
                f"the dataset says that the reference video has {end} frames, but it has {there}, and {count} are to "
                f"be compared from frame {reference.start} on. Correct the number, or count the frames in the files.",
            )
        return count

    def _kept(self, count: int) -> int:
        if self.dropped_batch is None:
            return count
        kept = self.dropped_batch * (-(-count // self.dropped_batch) - 1)
        if kept == 0:
            raise Unmeasurable(
                Reason.TOO_SHORT,
                f"all {count} frames are in the last batch of {self.dropped_batch}, which is left out. "
                "Compare more frames, or keep the last batch.",
            )
        return kept


@dataclass(frozen=True, slots=True)
class MirroredFrames:
    """Each frame of the first half with the one as far from the end, for paths that go back the way they came.

    Frame i of N is compared with frame N - 1 - i. The middle one of an odd number has no other.
    """

    of_video: ClassVar[bool] = True

    even_only: Annotated[bool, "refuses an odd number of frames, as MIND's own code does"] = False

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do."""
        return None

    def partners(self, timeline: Timeline, rollout: Rollout) -> Partners:
        """Partners in the same video."""
        count = timeline.frame_count
        if count < 2:
            raise Unmeasurable(Reason.TOO_SHORT, "the way out and the way back need a frame each, but there is one.")
        if self.even_only and count % 2:
            raise Unmeasurable(
                Reason.INVALID_INPUT,
                f"{count} frames are not an even number. Give the way back as many as the way out, or compare odd "
                "numbers too.",
            )
        return Partners(rollout.video, {index: count - 1 - index for index in range(count // 2)})


class PairExtractor(BatchExtractor[Network]):
    """An extractor whose network compares each frame with its partner."""

    __slots__ = ()

    of_video: ClassVar[bool] = True

    compared: ComparedFrames

    def declines(self, rollout: Rollout) -> Abstention | None:
        """There must be something to compare with, and the weights."""
        return self.compared.declines(rollout) or self.weights.declines()


def pairs_at_once(timeline: Timeline) -> int:
    """How many pairs may wait for a network."""
    return max(1, WAITING_BYTES // (2 * 3 * max(timeline.width * timeline.height, LARGEST_USUAL)))


def partner_of(frame: Frame) -> Frame:
    """The frame that a frame is compared with."""
    if frame.partner is None:
        raise ValueError(f"frame {frame.index} was requested with a partner and has none.")
    return frame.partner


def partner_indices(frames: Sequence[Frame]) -> Indices:
    """The index of the partner of each frame."""
    return np.array([partner_of(frame).index for frame in frames], np.int64)


def both_pictures(frame: Frame, canvas: SharedSize | None) -> tuple[Picture, Picture]:
    """A frame and its partner on one canvas; without one they must have one size."""
    partner = partner_of(frame)
    if canvas is not None:
        return canvas.pair(frame.pixels, partner.pixels)
    if frame.pixels.shape != partner.pixels.shape:
        (height, width), (other_height, other_width) = frame.pixels.shape[:2], partner.pixels.shape[:2]
        raise Unmeasurable(
            Reason.INVALID_INPUT,
            f"frames are {width} x {height}, those they are compared with {other_width} x {other_height}, and pixels "
            "are compared at one size. Name a canvas, or encode both videos at one size.",
        )
    return frame.pixels, partner.pixels


def _reference(rollout: Rollout) -> Reference:
    case = rollout.case
    if case.reference is None:
        message = f"the case {case.id} names no reference video. Supply one for it."
        raise Unmeasurable(Reason.MISSING_INPUT, message)
    if case.reference.start < 0:
        message = (
            f"the generated video begins at frame {case.reference.start} of the reference video; frames count from 0."
        )
        raise Unmeasurable(Reason.INVALID_INPUT, message)
    return case.reference
