"""How like itself the target looks when the camera is back, seen from where it was before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Annotated, Any, ClassVar, TypeAlias

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
    Json,
    Mask,
    MaskTrack,
    Pairs,
    PairSelector,
    Reason,
    Rollout,
    Timeline,
    Trajectory,
    Unmeasurable,
)
from lookaway.perception.opencv import load_opencv
from lookaway.perception.similarity.frame_fidelity import SSIM, ssim
from lookaway.perception.similarity.region_embeddings import scaled_mask

Area: TypeAlias = tuple[slice, slice]
"""Rows and columns of a picture."""
ROUNDING_PIXELS = 1e-6
"""A camera that has not moved sees its own edge there, but for rounding."""


@dataclass(frozen=True, slots=True)
class PosedPicture:
    """A grey picture and the camera that took it."""

    picture: Floats
    """[height, width] float32"""
    camera_to_world: Floats
    """[4, 4]"""
    intrinsics: Floats
    """[3, 3] for the size of the picture."""


def warped_onto(
    cv2: ModuleType, onto: PosedPicture, depth: Floats, seen: PosedPicture, area: Area
) -> tuple[Floats, Mask]:
    """What `seen` shows at the pixels of an area of `onto`, and which of these it shows at all.

    Each pixel of the area is put into space by its depth, and looked up where the other camera sees that point: in
    front of it and inside its picture. Depth covers the whole picture, at any size; 0 is unknown. Occlusion in
    the other camera is not checked.
    """
    height, width = onto.picture.shape
    rows, columns = (axis + 0.5 for axis in np.mgrid[area].astype(np.float64))
    inverse, is_known = _inverse_depth(cv2, depth, columns / width, rows / height)
    rays = np.stack([columns, rows, np.ones_like(rows)], axis=-1) @ np.linalg.inv(onto.intrinsics).T
    motion = np.linalg.inv(seen.camera_to_world) @ onto.camera_to_world
    # The point is ray / inverse; times inverse it is seen at the same place, and nothing is divided by 0.
    points = (rays @ motion[:3, :3].T + inverse[..., None] * motion[:3, 3]) @ seen.intrinsics.T
    is_in_front = points[..., 2] > 0
    places = points[..., :2] / np.where(is_in_front, points[..., 2], 1.0)[..., None] - 0.5
    last = np.array(seen.picture.shape[::-1]) - 1
    is_inside = ((places >= -ROUNDING_PIXELS) & (places <= last + ROUNDING_PIXELS)).all(axis=-1)
    is_valid = is_known & is_in_front & is_inside
    looked_up = np.where(is_valid[..., None], places, 0.0)
    return _sampled(cv2, seen.picture, looked_up[..., 0], looked_up[..., 1]), is_valid


def _inverse_depth(cv2: ModuleType, depth: Floats, across: Floats, down: Floats) -> tuple[Floats, Mask]:
    """1 / depth at places given as parts of the picture, and where it is known.

    Of a plane, not depth but its inverse is linear over the picture.
    """
    is_known = np.isfinite(depth) & (depth > 0)
    inverse = np.where(is_known, 1 / np.where(is_known, depth, 1).astype(np.float64), 0)
    rows, columns = depth.shape
    places = across * columns - 0.5, down * rows - 0.5
    known = _sampled(cv2, is_known.astype(np.float32), *places)
    return _sampled(cv2, inverse.astype(np.float32), *places).astype(np.float64), known > 1 - ROUNDING_PIXELS


def _sampled(cv2: ModuleType, picture: Any, x: Floats, y: Floats) -> Floats:
    """Bilinear between the middles of pixels; the first one's is (0, 0)."""
    found: Floats = cv2.remap(
        picture, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return found


LUMA = np.array([0.299, 0.587, 0.114], np.float32)
"""Weights of red, green and blue in BT.601."""


@dataclass(frozen=True, slots=True)
class WarpedSimilarity(ExtractorBase):
    """SSIM between an early frame and a later one that is warped onto it, over the pixels of the target.

    Pixels of the earlier frame are put into space by its depth and camera, and looked up in the later frame. Counted
    are those inside the earlier frame's mask whose whole window is in front of the later camera and inside its picture.
    Where something blocks the later camera's view of a point, that is compared: depth of the later frame is not used.
    A later frame without the target is compared as well, since that is what forgetting looks like.

    With `blacks_out`, as in MBench's equation 4, both pictures are black but for those pixels of the mask that the
    later camera sees, and just these count: what surrounds the target has no part in it.

    Pairs are chosen among the frames that have a pose, a mask, be it empty, and depth. Those that count too few pixels
    are left out and listed in the detail.
    """

    name: ClassVar[str] = "warped_similarity"
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "numpy")
    seconds_per_frame: ClassVar[float] = 0.05
    bytes_per_frame: ClassVar[float] = 32.0
    constants: ClassVar[tuple[str, ...]] = (*SSIM, f"{__name__}:ROUNDING_PIXELS")
    arrays: ClassVar[Mapping[str, str]] = {
        "ssim": "float64 [pairs]: mean over the pixels that count",
        "pixels": "int64 [pairs]: how many they are",
        "frames": "int64 [pairs, 2]: frames of each pair, earlier one first",
    }

    poses: Annotated[Extractor, "where the camera was"]
    depth: Annotated[Extractor, "how far away things are, in units of the poses"]
    masks: Annotated[Extractor, "where the target is; of several things in a frame, all"]
    pairs: Annotated[PairSelector, "which frames are compared"]
    height: Annotated[int, "frame height at which they are compared"] = 480
    window: Annotated[int, "side of the window of SSIM, odd, in pixels"] = 7
    sigma: Annotated[float, "standard deviation of the Gaussian window, in pixels"] = 1.5
    min_pixels: Annotated[int, "a pair that counts fewer is left out"] = 64
    blacks_out: Annotated[
        bool, "whether pictures are multiplied by the mask before they are compared, or windows see what is around it"
    ] = False

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """Poses, depth and masks."""
        return {"poses": self.poses, "depth": self.depth, "masks": self.masks}

    def load(self) -> WarpedSimilarity:
        """Nothing but OpenCV."""
        if self.window < 1 or self.window % 2 == 0:
            raise ValueError(f"a window has a pixel in its middle, so that its side is odd, found {self.window}.")
        load_opencv()
        return self

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _WarpExtraction:
        """Start on one rollout."""
        depth, masks = features["depth"], MaskTrack.from_feature(features["masks"])
        shared = np.intersect1d(depth["frame_indices"], masks.frame_indices)
        trajectory = _only(Trajectory.from_feature(features["poses"]), shared)
        if len(trajectory.frame_indices) < 2:
            raise Unmeasurable(
                Reason.TOO_SHORT,
                f"{len(trajectory.frame_indices)} frames have a pose, a mask and depth, 2 or more are compared. "
                "Supply poses and depth of more frames.",
            )
        pairs = self.pairs.select(rollout, timeline.frame_count, trajectory)
        frames = frozenset(int(frame) for frame in pairs.frames.ravel())
        return _WarpExtraction(self, load_opencv(), trajectory, depth, masks, pairs, FrameRequest(frames, self.height))


@dataclass(frozen=True, slots=True)
class _WarpExtraction:
    recipe: WarpedSimilarity
    cv2: ModuleType
    trajectory: Trajectory
    depth: Feature
    masks: MaskTrack
    pairs: Pairs
    request: FrameRequest
    views: dict[int, PosedPicture] = field(default_factory=dict)

    def add_frame(self, frame: Frame) -> None:
        height, width = frame.pixels.shape[:2]
        position = _position(self.trajectory.frame_indices, frame.index)
        self.views[frame.index] = PosedPicture(
            np.asarray(frame.pixels @ LUMA),
            self.trajectory.camera_to_world[position],
            self.trajectory.intrinsics_for(width, height)[position],
        )

    def finish(self) -> Feature:
        compared = [(pair, *self._compared(*pair)) for pair in self.pairs.frames.tolist()]
        kept = [(pair, ssim, pixels) for pair, ssim, pixels in compared if pixels >= self._fewest]
        arrays: dict[str, NDArray[Any]] = {
            "ssim": np.array([ssim for _, ssim, _ in kept], np.float64),
            "pixels": np.array([pixels for _, _, pixels in kept], np.int64),
            "frames": np.array([pair for pair, _, _ in kept], np.int64).reshape(-1, 2),
        }
        too_few: list[Json] = [[*pair, pixels] for pair, _, pixels in compared if pixels < self._fewest]
        return Feature(arrays, {"rule": self.pairs.rule, "too_few_pixels": too_few})

    @property
    def _fewest(self) -> int:
        return max(1, self.recipe.min_pixels)

    def _compared(self, first: int, second: int) -> tuple[float, int]:
        """SSIM of a pair, and how many pixels count; 0 of both where none does."""
        recipe, cv2, onto = self.recipe, self.cv2, self.views[first]
        mask = self._mask(first, *onto.picture.shape)
        if not mask.any():
            return 0.0, 0
        area = _around(mask, recipe.window // 2)
        depth = self.depth["depth"][_position(self.depth["frame_indices"], first)]
        warped, is_valid = warped_onto(cv2, onto, depth, self.views[second], area)
        is_covered = is_valid if recipe.blacks_out else _whole_windows(cv2, is_valid, recipe.window)
        counts = mask[area] & is_covered
        if not counts.any():
            return 0.0, 0
        shown = counts if recipe.blacks_out else 1
        similarity = ssim(cv2, onto.picture[area] * shown, warped * shown, window=recipe.window, sigma=recipe.sigma)
        return float(similarity[counts].mean()), int(counts.sum())

    def _mask(self, frame: int, height: int, width: int) -> Mask:
        positions = np.flatnonzero(self.masks.frame_indices == frame).tolist()
        together = np.logical_or.reduce([self.masks.mask(position) for position in positions])
        return scaled_mask(together, height, width)


def _only(trajectory: Trajectory, frames: Indices) -> Trajectory:
    """The poses of some frames."""
    kept = np.isin(trajectory.frame_indices, frames)
    return replace(
        trajectory,
        camera_to_world=trajectory.camera_to_world[kept],
        intrinsics=trajectory.intrinsics[kept],
        frame_indices=trajectory.frame_indices[kept],
        median_depth=trajectory.median_depth[kept],
    )


def _position(frames: Indices, frame: int) -> int:
    return int(np.flatnonzero(frames == frame)[0])


def _around(mask: Mask, margin: int) -> Area:
    """The rows and columns of a mask that is not empty, and as much of a margin about them as the picture has."""
    rows, columns = (
        slice(max(0, int(places.min()) - margin), min(length, int(places.max()) + 1 + margin))
        for places, length in zip(np.nonzero(mask), mask.shape, strict=True)
    )
    return rows, columns


def _whole_windows(cv2: ModuleType, is_valid: Mask, window: int) -> Mask:
    """Where all pixels of a window are valid; beyond the edges none is."""
    square: Floats = np.ones((window, window), np.uint8)
    eroded = cv2.erode(is_valid.astype(np.uint8), square, borderType=cv2.BORDER_CONSTANT, borderValue=0)
    return np.asarray(eroded > 0)
