"""What changed where the camera came back: numbers, and pictures that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, Any, ClassVar

import numpy as np

from lookaway.core import (
    Extractor,
    ExtractorBase,
    Feature,
    Features,
    Frame,
    FrameRequest,
    Json,
    Mask,
    Pairs,
    PairSelector,
    Pixels,
    Reason,
    Rollout,
    Timeline,
    Trajectory,
    Unmeasurable,
    revisited_points,
    view_overlaps,
)
from lookaway.io.pictures import jpeg_bytes
from lookaway.perception.opencv import load_opencv
from lookaway.perception.poses.sift_matches import sift_points
from lookaway.perception.revisit.alignment import (
    Alignment,
    View,
    align,
    pose_homography,
    swept_homographies,
    warp,
)
from lookaway.perception.revisit.change_map import ViewChanges, find_changes
from lookaway.perception.revisit.hints import Carried, carried_frames, count_copied, count_moved, find_carried
from lookaway.perception.similarity.frame_fidelity import ssim

GRID = (48, 28)
"""Columns and rows of the points of a view that are asked whether they were left."""
NEGLIGIBLE_EXTENT = 0.02
"""Median depths; a shorter path is that of a camera that only turns."""
MIN_COMPARED = 0.05
"""Part of the picture; two views that have less in common are not compared."""
CARRIED_HEIGHT = 128
"""Frame height at which carried things are looked for."""
PICTURE_GAP = 4


@dataclass(frozen=True, slots=True)
class RevisitChanges(ExtractorBase):
    """The first visit of a view laid over the return, and what differs in what was left and seen again.

    Two frames of a pair are aligned by matched points, by edges where too few points match, or by the poses; where the
    camera moves, planes at several depths are tried at every place. The light of the first visit is made equal to that
    of the return; then patches are compared by colour. Sizes are parts of the frame's height, so that the size of the
    video does not matter. A pair with too little in common is skipped, and the detail says why; where no pair is left,
    nothing is measured.
    """

    name: ClassVar[str] = "revisit_changes"
    version: ClassVar[int] = 2
    software: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "numpy")
    seconds_per_frame: ClassVar[float] = 0.3
    bytes_per_frame: ClassVar[float] = 15_000.0
    arrays: ClassVar[Mapping[str, str]] = {
        "pairs": "int64 [pairs, 2]: first visit and return",
        "compared": "float64 [pairs]: per cent of the picture that was seen, left, seen again and compared",
        "changed_area": "float64 [pairs]: per cent of that which shows something else",
        "stops": "float64 [pairs, 3]: by which red, green and blue are brighter at the return",
        "look": "float64 [pairs]: Delta E that is left nearly everywhere after the light is made equal",
        "ssim": "float64 [pairs]: SSIM of the aligned pictures, over what is compared",
        "moved": "int64 [pairs]: matched points that went another way than the view",
        "copied": "int64 [pairs]: points that look like a thing that is still in its place",
        "inliers": "int64 [pairs]: matched points that agree with the alignment",
        "carried": "float64 [2]: per cent of the picture that went along with the camera, and how far it followed",
        "undone": "float64 [times]: per cent of the view changed since the first frame, before leaving and at the "
        "return; empty where the first frame shows too little of it",
        "pictures": "uint8 [bytes]: one JPEG for each pair, first visit, return and what changed side by side",
        "offsets": "int64 [pairs + 1]: where the picture of each pair begins",
    }

    poses: Annotated[Extractor, "where the camera was"]
    pairs: Annotated[PairSelector, "which returns are compared with which first visits"]
    height: Annotated[int, "frame height at which they are compared, where the video is not smaller"] = 256
    keypoints: Annotated[int, "strongest points kept in a frame"] = 1500

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """Poses, to choose pairs by."""
        return {"poses": self.poses}

    def load(self) -> RevisitChanges:
        """Nothing but OpenCV."""
        load_opencv()
        return self

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _Comparison:
        """Choose the frames of one rollout."""
        trajectory = Trajectory.from_feature(features["poses"])
        pairs = self.pairs.select(rollout, timeline.frame_count, trajectory)
        posed = {int(frame): place for place, frame in enumerate(trajectory.frame_indices)}
        places = [(posed[first], posed[second]) for first, second in pairs.frames.tolist()]
        moves = bool(trajectory.relative_centres(NEGLIGIBLE_EXTENT).any())
        sides = [] if moves else _sides(trajectory)
        wanted = {0, *(place for pair in places for place in pair), *(place for side in sides for place in side)}
        request = FrameRequest(
            frozenset(int(trajectory.frame_indices[place]) for place in wanted), min(self.height, timeline.height)
        )
        return _Comparison(self, load_opencv(), trajectory, pairs, places, sides, moves, request)


def _sides(trajectory: Trajectory) -> list[tuple[int, int]]:
    """Frames at both ends of a path, each with frames on the way to where its view is out of sight."""
    last = len(trajectory.frame_indices) - 1
    return [
        (end, frame) for end in (0, last) for frame in carried_frames(trajectory, view_overlaps(trajectory, end), end)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    recipe: RevisitChanges
    cv2: ModuleType
    trajectory: Trajectory
    pairs: Pairs
    places: list[tuple[int, int]]
    """Positions of each pair in the trajectory."""
    sides: list[tuple[int, int]]
    moves: bool
    request: FrameRequest
    frames: dict[int, Pixels] = field(default_factory=dict)

    def add_frame(self, frame: Frame) -> None:
        place = int(np.searchsorted(self.trajectory.frame_indices, frame.index))
        self.frames[place] = frame.pixels

    def finish(self) -> Feature:
        views = {place: self._view(place) for pair in self.places for place in pair}
        rows: list[dict[str, Any]] = []
        pictures: list[bytes] = []
        compared: list[tuple[int, int]] = []
        declined: list[Unmeasurable] = []
        for frames, (first, second) in zip(self.pairs.frames.tolist(), self.places, strict=True):
            try:
                alignment, changes, placed = self._compare(views[first], views[second], first, second)
            except Unmeasurable as reason:
                declined.append(reason)
                continue
            compared.append((first, second))
            rows.append(
                {
                    "pairs": frames,
                    "compared": 100 * float(changes.mask.mean()),
                    "changed_area": changes.changed_area,
                    "stops": changes.stops,
                    "look": changes.look,
                    "ssim": self._similarity(placed, views[second].pixels, changes.mask),
                    "moved": count_moved(alignment, views[second].size[1]),
                    "copied": count_copied(views[first], views[second], alignment, changes.changed),
                    "inliers": alignment.inliers,
                    "source": alignment.source,
                    "disagreement": alignment.disagreement,
                }
            )
            pictures.append(jpeg_bytes(side_by_side(self.cv2, placed, views[second].pixels, changes)))
        if not rows:
            raise declined[0]
        detail: dict[str, Json] = {
            "rule": self.pairs.rule,
            "aligned_by": [row.pop("source") for row in rows],
            "disagreement_heights": [row.pop("disagreement") for row in rows],
            "camera": "moves" if self.moves else "turns",
            "skipped_pairs": [str(reason) for reason in declined],
        }
        arrays = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        carried = self._carried()
        arrays["carried"] = np.array([carried.area, carried.weight])
        arrays["undone"] = np.array(self._undone(views, compared), np.float64)
        arrays["pictures"] = np.frombuffer(b"".join(pictures), np.uint8)
        arrays["offsets"] = np.cumsum([0, *(len(picture) for picture in pictures)])
        return Feature(arrays, detail)

    def _view(self, place: int) -> View:
        pixels = self.frames[place]
        points, descriptors = sift_points(self.cv2, pixels, self.recipe.keypoints)
        totals = np.maximum(descriptors.sum(axis=1, keepdims=True), 1e-9)
        return View(pixels, points, np.sqrt(descriptors / totals))

    def _compare(
        self, first: View, second: View, place_1: int, place_2: int, *, everywhere: bool = False
    ) -> tuple[Alignment, ViewChanges, Pixels]:
        """Alignment, what changed, and the first visit in the view of the return."""
        size = second.size
        by_poses = pose_homography(self.trajectory, place_2, place_1, size)
        alignment = align(self.cv2, first, second, by_poses)
        placed, mask = warp(self.cv2, first.pixels, alignment.homography, size)
        if not everywhere:
            mask &= self._was_left(place_1, place_2, size)
        if mask.mean() < MIN_COMPARED:
            raise Unmeasurable(
                Reason.GATE_CLOSED,
                f"frames {self.trajectory.frame_indices[[place_1, place_2]].tolist()} have {mask.mean():.1%} of the "
                f"picture in common that was left and seen again, expected {MIN_COMPARED:.0%}.",
            )
        firsts = [placed]
        if self.moves:
            homographies = swept_homographies(self.trajectory, place_2, place_1, size)
            firsts += [warp(self.cv2, first.pixels, homography, size)[0] for homography in homographies]
        return alignment, find_changes(self.cv2, firsts, second.pixels, mask), placed

    def _was_left(self, first: int, second: int, size: tuple[int, int]) -> Mask:
        left = revisited_points(self.trajectory, first, second, GRID).astype(np.uint8)
        return np.asarray(self.cv2.resize(left, size, interpolation=self.cv2.INTER_NEAREST) > 0)

    def _similarity(self, first: Pixels, second: Pixels, mask: Mask) -> float:
        similarity = ssim(self.cv2, first, second, window=11, sigma=1.5, precision=np.float32)
        return float(similarity[mask].mean())

    def _carried(self) -> Carried:
        """The largest carried area; nothing is looked for where the camera moves, since parallax looks the same."""
        found = [Carried()]
        for end, side in self.sides:
            first, second = (self._small(self.frames[place]) for place in (end, side))
            rotations = self.trajectory.rotations
            turn = rotations[end].T @ rotations[side]
            intrinsics = self.trajectory.intrinsics_for(first.shape[1], first.shape[0])[end]
            found.append(find_carried(self.cv2, (first, second), turn, intrinsics))
        return max(found, key=lambda carried: carried.area)

    def _small(self, pixels: Pixels) -> Pixels:
        height, width = pixels.shape[:2]
        if height <= CARRIED_HEIGHT:
            return pixels
        size = (round(width * CARRIED_HEIGHT / height), CARRIED_HEIGHT)
        return np.asarray(self.cv2.resize(pixels, size, interpolation=self.cv2.INTER_AREA))

    def _undone(self, views: Mapping[int, View], compared: Sequence[tuple[int, int]]) -> tuple[float, ...]:
        """What had changed since the first frame: before leaving, and at the return; nothing if that is not known."""
        # Where a video is played backwards, only the last return has undone everything.
        leaving, back = max(compared, key=lambda pair: pair[1])
        if leaving == 0:
            return 0.0, 0.0
        start = self._view(0)
        try:
            return (
                self._compare(start, views[leaving], 0, leaving, everywhere=True)[1].changed_area,
                self._compare(start, views[back], 0, back, everywhere=True)[1].changed_area,
            )
        except Unmeasurable:
            return ()


def side_by_side(cv2: ModuleType, first: Pixels, second: Pixels, changes: ViewChanges) -> Pixels:
    """First visit, return, and the return with what was not compared dimmed and what changed outlined."""
    shown = second.copy()
    shown[~changes.mask] = shown[~changes.mask] // 3
    outlines, _ = cv2.findContours(changes.changed.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(shown, outlines, -1, (255, 0, 96), 1 if len(shown) < 200 else 2)
    gap = np.full((len(shown), PICTURE_GAP, 3), 255, np.uint8)
    return np.concatenate([first, gap, second, gap, shown], axis=1)
