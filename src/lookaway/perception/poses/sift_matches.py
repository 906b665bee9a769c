"""Points that two frames of a pair have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import (
    Extractor,
    ExtractorBase,
    Feature,
    Features,
    Floats,
    Frame,
    FrameRequest,
    Indices,
    Pairs,
    PairSelector,
    Rollout,
    Timeline,
    Trajectory,
)
from lookaway.perception.opencv import load_opencv


def sift_points(cv2: ModuleType, pixels: NDArray[np.uint8], most: int) -> tuple[Floats, Floats]:
    """The strongest SIFT points [P, 2] in pixels from the corner, and their descriptors [P, 128], strongest first."""
    # OpenCV's default way to double the image moves every point by a quarter of a pixel.
    sift = cv2.SIFT_create(nfeatures=most, enable_precise_upscale=True)
    keypoints, descriptors = sift.detectAndCompute(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), None)
    if descriptors is None:
        return np.zeros((0, 2), np.float32), np.zeros((0, 128), np.float32)
    strongest = np.argsort([-point.response for point in keypoints], kind="stable")[:most]
    # OpenCV counts from the centre of the first pixel.
    return np.array([keypoints[index].pt for index in strongest], np.float32) + 0.5, descriptors[strongest]


@dataclass(frozen=True, slots=True)
class SiftMatches(ExtractorBase):
    """SIFT points of the frames of each pair, matched mutually with a ratio test; no model is fitted to them.

    A robust fit would throw away just those matches that show wrong geometry, so there is none. Smaller videos are not
    enlarged for matching. Points are in pixels of frames of the given height, counted from the corner of the image.
    """

    name: ClassVar[str] = "sift_matches"
    version: ClassVar[int] = 3
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "numpy")
    seconds_per_frame: ClassVar[float] = 0.1
    bytes_per_frame: ClassVar[float] = 4000.0
    arrays: ClassVar[Mapping[str, str]] = {
        "pairs": "int64 [pairs, 2]: frames of each pair, earlier one first",
        "points_1": "float32 [matches, 2]: x and y in the earlier frame",
        "points_2": "float32 [matches, 2]: x and y in the later frame",
        "offsets": "int64 [pairs + 1]: where the matches of each pair begin",
        "points": "int64 [pairs, 2]: points in the earlier and in the later frame, matched or not",
        "size": "int64 [2]: width and height of the frames in whose pixels points are counted",
    }

    poses: Annotated[Extractor, "where the camera was, to choose pairs by"]
    pairs: Annotated[PairSelector, "which frames are matched"]
    height: Annotated[
        int, "frame height in whose pixels points are counted; found at it where the video is not smaller"
    ] = 480
    keypoints: Annotated[int, "strongest points kept in a frame"] = 2048
    ratio: Annotated[float, "a match must be nearer than this part of the second nearest, seen from both frames"] = 0.8

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """Poses, to choose pairs by."""
        return {"poses": self.poses}

    def load(self) -> SiftMatches:
        """Nothing but OpenCV."""
        load_opencv()
        return self

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _SiftExtraction:
        """Start on one rollout."""
        pairs = self.pairs.select(rollout, timeline.frame_count, Trajectory.from_feature(features["poses"]))
        frames = frozenset(int(frame) for frame in pairs.frames.ravel())
        request = FrameRequest(frames, min(self.height, timeline.height))
        return _SiftExtraction(self, load_opencv(), pairs, request)


@dataclass(frozen=True, slots=True)
class _SiftExtraction:
    recipe: SiftMatches
    cv2: ModuleType
    pairs: Pairs
    request: FrameRequest
    size: list[int] = field(default_factory=list)
    """Width and height in whose pixels points are counted, once a frame was seen."""
    seen: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)

    def add_frame(self, frame: Frame) -> None:
        height, width = frame.pixels.shape[:2]
        self.size[:] = max(1, round(width * self.recipe.height / height)), self.recipe.height
        points, descriptors = sift_points(self.cv2, frame.pixels, self.recipe.keypoints)
        self.seen[frame.index] = (points * (np.array(self.size) / (width, height)).astype(np.float32), descriptors)

    def finish(self) -> Feature:
        firsts, seconds, offsets, counts = [], [], [0], []
        for first, second in self.pairs.frames.tolist():
            (points_1, descriptors_1), (points_2, descriptors_2) = self.seen[first], self.seen[second]
            rows, columns = mutual_matches(descriptors_1, descriptors_2, self.recipe.ratio)
            firsts.append(points_1[rows])
            seconds.append(points_2[columns])
            offsets.append(offsets[-1] + len(rows))
            counts.append([len(points_1), len(points_2)])
        arrays = {
            "pairs": self.pairs.frames,
            "points_1": np.concatenate(firsts),
            "points_2": np.concatenate(seconds),
            "offsets": np.array(offsets),
            "points": np.array(counts),
            "size": np.array(self.size),
        }
        return Feature(arrays, {"rule": self.pairs.rule})


def mutual_matches(first: Floats, second: Floats, ratio: float) -> tuple[Indices, Indices]:
    """Rows of either set of descriptors that are each other's nearest, clearly so seen from both sides."""
    if len(first) < 2 or len(second) < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    # In place: with 2,048 points a side every temporary is 16 MB, and fetching that from the system is the larger cost.
    distances = first @ second.T
    distances *= -2
    distances += np.einsum("ij,ij->i", first, first)[:, None]
    distances += np.einsum("ij,ij->i", second, second)[None]
    nearest, is_clear = _nearest(distances, ratio)
    rows = np.flatnonzero(is_clear)
    # Only columns that a row points at are asked, in a copy: the least of a row is found several times faster.
    columns, places = np.unique(nearest[rows], return_inverse=True)
    back, is_clear_back = _nearest(np.ascontiguousarray(distances[:, columns].T), ratio)
    kept = (back[places] == rows) & is_clear_back[places]
    return rows[kept], nearest[rows[kept]]


def _nearest(distances: Floats, ratio: float) -> tuple[Indices, NDArray[np.bool_]]:
    """The nearest in each row, and whether it is nearer than a part of the second nearest; distances are squared."""
    rows = np.arange(len(distances))
    nearest = distances.argmin(axis=1)
    least = distances[rows, nearest]
    distances[rows, nearest] = np.inf
    second = distances.min(axis=1)
    distances[rows, nearest] = least
    return nearest, least < ratio**2 * second
