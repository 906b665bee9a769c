"""What changed where the camera came back: numbers, and pictures that show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import (
    Extractor,
    ExtractorBase,
    Feature,
    Features,
    Frame,
    FrameRequest,
    Json,
    Pairs,
    PairSelector,
    Pixels,
    Reason,
    Rollout,
    Timeline,
    Trajectory,
    Unmeasurable,
    ViewGrid,
    view_overlaps,
)
from lookaway.io.pictures import jpeg_bytes
from lookaway.perception.opencv import load_opencv
from lookaway.perception.poses.sift_matches import sift_points
from lookaway.perception.revisit.aligned_views import AlignedViews, Controls, ViewAligner, choose_controls
from lookaway.perception.revisit.alignment import Alignment, View, align, pose_homography, swept_homographies, warp
from lookaway.perception.revisit.change_map import ViewChanges, find_changes
from lookaway.perception.revisit.hints import (
    NOTHING_CARRIED,
    Carried,
    ThingLimits,
    carried_frames,
    count_copied,
    count_moved,
    find_carried,
)
from lookaway.perception.revisit.own_motion import (
    PairLimits,
    VisitFrames,
    choose_visit_frames,
    motion_within,
    set_aside,
)
from lookaway.perception.similarity.frame_fidelity import SSIM, ssim

PICTURE_GAP = 4
OUTLINE = (255, 0, 96)
"""The colour of what changed, red, green and blue."""
STRIPES = 6
"""Pixels from stripe to stripe of what is set aside."""


@dataclass(frozen=True, slots=True)
class RevisitChanges(ExtractorBase):
    """The first visit of a view laid over the return, and what differs in what was left and seen again.

    Two frames of a pair are aligned by matched points, by edges where too few points match, or by the poses; where the
    camera moves, planes at several depths are tried at every place. The light of the first visit is made equal to that
    of the return; then patches are compared by colour. Sizes are parts of the frame's height, so that the size of the
    video does not matter. Where the camera only turns and something changed, frames of one visit are compared in the
    same way: places that change within both visits, such as water, leaves and fire, are set aside, unless they differ
    more than twice as much between the visits. A pair with too little in common is skipped, and the detail says why;
    where no pair is left, nothing is measured.
    """

    name: ClassVar[str] = "revisit_changes"
    version: ClassVar[int] = 3
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "numpy")
    seconds_per_frame: ClassVar[float] = 0.15
    usual_frames: ClassVar[int] = 20
    bytes_per_frame: ClassVar[float] = 15_000.0
    constants: ClassVar[tuple[str, ...]] = SSIM
    arrays: ClassVar[Mapping[str, str]] = {
        "pairs": "int64 [pairs, 2]: first visit and return",
        "compared": "float64 [pairs]: per cent of the picture that was seen, left, seen again and compared",
        "changed_area": "float64 [pairs]: per cent of that which shows something else",
        "set_aside": "float64 [pairs]: per cent of it that changes within both visits as well and is set aside",
        "stops": "float64 [pairs, 3]: by which red, green and blue are brighter at the return",
        "look": "float64 [pairs]: Delta E that is left nearly everywhere after the light is made equal",
        "ssim": "float64 [pairs]: SSIM of the aligned pictures, over what is compared",
        "homographies": "float64 [pairs, 3, 3]: from pixels of the return to those of the first visit",
        "controls": "int64 [controls, 3]: row of a pair, frame of another view, and neighbour of the first visit",
        "control_homographies": "float64 [controls, 3, 3]: from pixels of the neighbour to those of the first visit",
        "control_ssim": "float64 [controls, 2]: SSIM of the first visit with the other view and with the neighbour",
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
    negligible_extent: Annotated[float, "median depths; a shorter path is that of a camera that only turns"] = 0.02
    limits: Annotated[PairLimits, "what tells whether two frames of one view differ"] = PairLimits()
    things: Annotated[ThingLimits, "what tells a thing that moved, was copied or was carried along"] = ThingLimits()

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
        part, own_motion = self.limits.part, self.limits.own_motion
        moves = bool(trajectory.relative_centres(self.negligible_extent).any())
        sides = [] if moves else _sides(trajectory, part.views, self.things)
        controls = [choose_controls(trajectory, *pair, part) for pair in places]
        visits = [
            VisitFrames() if moves else choose_visit_frames(trajectory, *pair, part, own_motion) for pair in places
        ]
        wanted = {
            *(0, *(place for pair in (*places, *sides) for place in pair)),
            *(place for found in controls if found for place in (found.floor, found.ceiling)),
            *(place for found in visits for place in (*found.first, *found.second)),
        }
        request = FrameRequest(
            frozenset(int(trajectory.frame_indices[place]) for place in wanted), min(self.height, timeline.height)
        )
        return _Comparison(self, load_opencv(), trajectory, pairs, places, controls, visits, sides, moves, request)


def _sides(trajectory: Trajectory, grid: ViewGrid, limits: ThingLimits) -> list[tuple[int, int]]:
    """Frames at both ends of a path, each with frames on the way to where its view is out of sight."""
    last = len(trajectory.frame_indices) - 1
    return [
        (end, frame)
        for end in (0, last)
        for frame in carried_frames(view_overlaps(trajectory, end, grid.whole), end, limits)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    recipe: RevisitChanges
    cv2: ModuleType
    trajectory: Trajectory
    pairs: Pairs
    places: list[tuple[int, int]]
    """Positions of each pair in the trajectory."""
    controls: list[Controls | None]
    """What the first visit of each pair is also compared with."""
    visits: list[VisitFrames]
    """Further frames of both visits of each pair; none where the camera moves."""
    sides: list[tuple[int, int]]
    moves: bool
    request: FrameRequest
    frames: dict[int, Pixels] = field(default_factory=dict)

    @property
    def limits(self) -> PairLimits:
        """Those of the recipe."""
        return self.recipe.limits

    def add_frame(self, frame: Frame) -> None:
        place = int(np.searchsorted(self.trajectory.frame_indices, frame.index))
        self.frames[place] = frame.pixels

    def finish(self) -> Feature:
        views = {place: self._view(place) for pair in self.places for place in pair}
        rows: list[dict[str, Any]] = []
        controls: list[dict[str, Any]] = []
        pictures: list[bytes] = []
        compared: list[tuple[int, int]] = []
        declined: list[Unmeasurable] = []
        for number, (first, second) in enumerate(self.places):
            try:
                alignment, changes, pair = self._compare(views[first], views[second], first, second)
            except Unmeasurable as reason:
                declined.append(reason)
                continue
            changes = self._without_own_motion(number, views, alignment, changes)
            compared.append((first, second))
            controls += self._control(number, len(rows), views[first], pair, alignment)
            rows.append(
                {
                    "pairs": self.pairs.frames[number],
                    "compared": 100 * float(changes.mask.mean()),
                    "changed_area": changes.changed_area,
                    "set_aside": changes.set_aside,
                    "stops": changes.stops,
                    "look": changes.look(self.limits.changes),
                    "ssim": self._similarity(pair),
                    "homographies": alignment.homography,
                    "moved": count_moved(alignment, views[second].size[1], self.recipe.things),
                    "copied": count_copied(views[first], views[second], alignment, changes.changed, self.recipe.things),
                    "inliers": alignment.inliers,
                    "source": alignment.source,
                    "disagreement": alignment.disagreement,
                }
            )
            pictures.append(jpeg_bytes(side_by_side(self.cv2, pair.first, pair.second, changes)))
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
        arrays |= _control_arrays(controls)
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

    @property
    def _aligner(self) -> ViewAligner:
        return ViewAligner(self.cv2, self.trajectory, self.frames, self.limits.part)

    def _compare(
        self, first: View, second: View, place_1: int, place_2: int, *, everywhere: bool = False
    ) -> tuple[Alignment, ViewChanges, AlignedViews]:
        """Alignment, what changed, and the first visit laid over the return."""
        size = second.size
        by_poses = pose_homography(self.trajectory, place_2, place_1, size, self.limits.alignment.depth)
        alignment = align(self.cv2, first, second, by_poses, self.limits.alignment)
        pair = self._aligner.lay_over(place_1, place_2, alignment.homography, everywhere=everywhere)
        if pair.mask.mean() < self.limits.part.min_compared:
            raise Unmeasurable(
                Reason.GATE_CLOSED,
                f"frames {self.trajectory.frame_indices[[place_1, place_2]].tolist()} have {pair.mask.mean():.1%} of "
                f"the picture in common that was left and seen again, expected {self.limits.part.min_compared:.0%}.",
            )
        firsts = [pair.first]
        if self.moves:
            homographies = swept_homographies(self.trajectory, place_2, place_1, size, self.limits.alignment.depths)
            firsts += [warp(self.cv2, first.pixels, homography, size)[0] for homography in homographies]
        return alignment, find_changes(self.cv2, firsts, second.pixels, pair.mask, self.limits.changes), pair

    def _without_own_motion(
        self, number: int, views: dict[int, View], alignment: Alignment, changes: ViewChanges
    ) -> ViewChanges:
        """What changed in a pair, without what moves by itself; that is looked for where something changed."""
        visits, (first, second) = self.visits[number], self.places[number]
        if not (changes.changed.any() and visits.first and visits.second):
            return changes
        views |= {place: self._view(place) for place in (*visits.first, *visits.second) if place not in views}
        before = motion_within(self.cv2, self.trajectory, views, first, visits.first, self.limits)
        after = motion_within(self.cv2, self.trajectory, views, second, visits.second, self.limits)
        return set_aside(self.cv2, changes, (before, after), alignment.homography, self.limits)

    def _control(
        self, number: int, row: int, first: View, pair: AlignedViews, alignment: Alignment
    ) -> Iterator[dict[str, Any]]:
        """Similarity of the first visit to another view and to its neighbour, where there are both.

        `number` is that of the pair, `row` its number among those that are compared.
        """
        found, (place, _) = self.controls[number], self.places[number]
        if found is None:
            return
        by_poses = pose_homography(self.trajectory, found.ceiling, place, first.size, self.limits.alignment.depth)
        homography = align(self.cv2, first, self._view(found.ceiling), by_poses, self.limits.alignment).homography
        ceiling = self._aligner.ceiling(pair, place, found.ceiling, (alignment.homography, homography))
        if ceiling.mask.mean() >= self.limits.part.min_compared:
            floor = self._aligner.floor(pair, found.floor)
            indices = self.trajectory.frame_indices
            yield {
                "controls": (row, indices[found.floor], indices[found.ceiling]),
                "control_homographies": homography,
                "control_ssim": (self._similarity(floor), self._similarity(ceiling)),
            }

    def _similarity(self, views: AlignedViews) -> float:
        similarity = ssim(self.cv2, views.first, views.second, window=11, sigma=1.5, precision=np.float32)
        return float(similarity[views.mask].mean())

    def _carried(self) -> Carried:
        """The largest carried area; nothing is looked for where the camera moves, since parallax looks the same."""
        found = [NOTHING_CARRIED]
        for end, side in self.sides:
            first, second = (self._small(self.frames[place]) for place in (end, side))
            rotations = self.trajectory.rotations
            turn = rotations[end].T @ rotations[side]
            intrinsics = self.trajectory.intrinsics_for(first.shape[1], first.shape[0])[end]
            found.append(
                find_carried(self.cv2, (first, second), turn, intrinsics, self.recipe.things, self.limits.changes)
            )
        return max(found, key=lambda carried: carried.area)

    def _small(self, pixels: Pixels) -> Pixels:
        (height, width), small = pixels.shape[:2], self.recipe.things.height
        if height <= small:
            return pixels
        size = (round(width * small / height), small)
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


def _control_arrays(controls: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    shapes: dict[str, tuple[type, tuple[int, ...]]] = {
        "controls": (np.int64, (3,)),
        "control_homographies": (np.float64, (3, 3)),
        "control_ssim": (np.float64, (2,)),
    }
    return {
        name: np.array([found[name] for found in controls], kind).reshape(-1, *shape)
        for name, (kind, shape) in shapes.items()
    }


def side_by_side(cv2: ModuleType, first: Pixels, second: Pixels, changes: ViewChanges) -> Pixels:
    """First visit, return, and the return with what changed outlined.

    What was not compared is dark; what was set aside has grey stripes.
    """
    shown = second.copy()
    shown[~changes.mask] = shown[~changes.mask] // 3
    rows, columns = np.indices(changes.aside.shape)
    striped = changes.aside & ((rows + columns) % STRIPES == 0)
    shown[striped] = shown[striped] // 2 + 64
    outlines, _ = cv2.findContours(changes.changed.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(shown, outlines, -1, OUTLINE, 1 if len(shown) < 200 else 2)
    gap = np.full((len(shown), PICTURE_GAP, 3), 255, np.uint8)
    return np.concatenate([first, gap, second, gap, shown], axis=1)
