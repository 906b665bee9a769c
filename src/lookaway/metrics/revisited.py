"""The gate of consistency scores: whether a rollout tested memory, as far as the camera can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from lookaway.core import (
    Abstention,
    Feature,
    Features,
    Floats,
    Json,
    MetricBase,
    Outcome,
    Reason,
    Rollout,
    Score,
    Trajectory,
    ViewGrid,
    angles_degrees,
    find_visits,
    view_overlaps,
)

POSES, IMAGE_MOTION = "poses", "image motion"
NEVER_LEFT = "the camera never left the view"
DID_NOT_RETURN = "the camera did not come back to what it had left"


@dataclass(frozen=True, slots=True)
class Revisited(MetricBase):
    """1 where a view, or a good part of it, was seen, left and seen again; else 0.

    The mean over rollouts is the share that tested memory. The raw value is the largest part of a view, in per cent,
    that was seen, left and seen again. `detail` says how far the camera turned from its first pose, and moved in median
    depths, at which frames it was back, which `source` that is known from, and where it is 0, `why`.

    The source is the camera's poses. The picture must move too: where it stands still or hardly moves, poses are only
    what was requested. Without poses, the mean shift of the picture is followed, as if the scene was far away.

    Abstains: the reason of the poses where neither poses nor motion can be had; `pose_failed` where fewer than three
    frames are posed or, without poses, where motion cannot be followed: the picture zooms or rolls, most of it moves
    against the rest, little of it can be matched, or the camera went so far that it may have turned full circle.
    """

    name = "revisited"
    unit = "share"
    raw_unit = "%"
    uses = ("poses", "motion")

    min_revisited: Annotated[float, "part of a view that must be seen, left and seen again"] = 0.2
    max_views: Annotated[int, "views of the path that are compared, evenly spread over it"] = 64
    min_realised: Annotated[float, "part of the first view that the picture must leave where poses leave it"] = 0.1
    max_zoom: Annotated[float, "growth of the picture, as a logarithm, above which it does not only shift"] = 0.2
    max_roll_degrees: Annotated[float, "turn of the picture above which it does not only shift"] = 12.0
    max_against: Annotated[float, "mean part of the picture that may move against the whole"] = 0.5
    min_trusted: Annotated[float, "part of the picture that must be matched in a step"] = 0.05
    max_lost_steps: Annotated[float, "share of steps that may be matched less, and move as those around them"] = 0.1
    full_circle_widths: Annotated[float, "shift in frame widths that may be a full circle"] = 3.5
    min_posed: Annotated[int, "posed frames that it takes for a view to be seen, left and seen again"] = 3
    grid: Annotated[ViewGrid, "points of a view that are followed"] = ViewGrid()

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        motion = _Motion.of(features["motion"], self.min_trusted) if "motion" in features else None
        if "poses" in features or motion is None:
            return self._from_poses(Trajectory.from_feature(features["poses"]), motion)
        return self._from_motion(motion)

    def _from_poses(self, trajectory: Trajectory, motion: _Motion | None) -> Outcome:
        if len(trajectory.frame_indices) < self.min_posed:
            return Abstention(
                Reason.POSE_FAILED,
                f"{len(trajectory.frame_indices)} frames have a pose; leaving and returning takes {self.min_posed}.",
            )
        turned = float(angles_degrees(trajectory.rotations, trajectory.rotations[0]).max())
        ways = np.linalg.norm(trajectory.centres - trajectory.centres[0], axis=1)
        moved = float(ways.max() / np.median(trajectory.median_depth))
        detail: dict[str, Json] = {"source": POSES, "turned_degrees": turned, "moved": moved}
        found = self._visit(trajectory)
        if found.left >= self.min_revisited and motion is not None and self._stands_still(motion):
            went = f"turn {turned:.0f} degrees" if turned >= 1 else f"move {moved:.2f} median depths"
            why = f"the poses {went} but the picture does not move"
            found = replace(found, share=0.0, frames=(), why=why)
        return self._score(found, detail)

    def _from_motion(self, motion: _Motion) -> Outcome:
        if problem := self._unreadable(motion):
            return _unknown_path(problem)
        found = self._visit(motion.path)
        shift = motion.largest_shift
        width = motion.path.width / motion.path.height
        if found.why and shift / width >= self.full_circle_widths:
            return _unknown_path(f"the picture shifts by {shift / width:.1f} widths: it may have turned full circle")
        return self._score(found, {"source": IMAGE_MOTION, "shift_heights": shift})

    def _visit(self, trajectory: Trajectory) -> _Visit:
        """What the path revisits, without regard to whether the picture followed it."""
        path = _thinned(trajectory, self.max_views)
        visits = find_visits(path, self.grid)
        left = 1 - float(view_overlaps(path, 0, self.grid.whole).min())
        frames = path.frame_indices[visits.shares >= self.min_revisited]
        why = "" if len(frames) else NEVER_LEFT if left < self.min_revisited else DID_NOT_RETURN
        return _Visit(share=visits.most, left=left, frames=tuple(int(index) for index in frames), why=why)

    def _score(self, found: _Visit, detail: Mapping[str, Json]) -> Score:
        percent = 100 * found.share
        return Score(
            float(not found.why),
            raw=percent,
            detail={
                **detail,
                "revisited_percent": percent,
                "returned_frames": list(found.frames),
                "why": found.why or None,
            },
        )

    def _stands_still(self, motion: _Motion) -> bool:
        """Whether the picture is known to stay where it is, or nearly."""
        left = 1 - float(view_overlaps(_thinned(motion.path, self.max_views), 0, self.grid.whole).min())
        return left < self.min_realised and self._unreadable(motion) is None

    def _unreadable(self, motion: _Motion) -> str | None:
        """Why the picture's motion is not a shift that can be followed; `None` where it is."""
        if motion.lost > self.max_lost_steps:
            return f"the picture cannot be matched in {100 * motion.lost:.0f} % of the steps"
        if motion.largest_zoom > self.max_zoom:
            return f"the picture grows or shrinks {np.exp(motion.largest_zoom):.2f} times"
        if motion.largest_roll_degrees > self.max_roll_degrees:
            return f"the picture rolls by {motion.largest_roll_degrees:.0f} degrees"
        if motion.against > self.max_against:
            return f"{100 * motion.against:.0f} % of the picture moves against the rest"
        return None


@dataclass(frozen=True, slots=True)
class _Visit:
    share: float
    left: float
    """Largest part of the first view that was out of view at some frame."""
    frames: tuple[int, ...]
    why: str
    """Why memory was not tested; empty where it was."""


@dataclass(frozen=True, slots=True)
class _Motion:
    """The motion of the picture as a whole, summed up from the first frame on."""

    path: Trajectory
    """A camera that moves before a wall as the picture shifts; a frame height at the wall is 1."""
    lost: float
    """Share of steps that cannot be matched."""
    against: float
    """Mean part of the trusted picture that moves against the whole."""
    largest_zoom: float
    largest_roll_degrees: float

    @classmethod
    def of(cls, motion: Feature, min_trusted: float) -> _Motion:
        is_lost = motion["trusted"] < min_trusted
        steps = _filled(motion["shift"].astype(np.float64), is_lost)
        shifts = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
        width, height = (int(side) for side in motion["size"])
        count = len(shifts)
        camera_to_world = np.repeat(np.eye(4)[None], count, axis=0)
        camera_to_world[:, :2, 3] = -shifts
        lens = np.array([[height, 0.0, width / 2], [0.0, height, height / 2], [0.0, 0.0, 1.0]])
        indices = motion["frame_indices"]
        return cls(
            path=Trajectory(
                camera_to_world=camera_to_world,
                intrinsics=np.repeat(lens[None], count, axis=0),
                frame_indices=indices,
                median_depth=np.ones(count),
                width=width,
                height=height,
                frame_count=int(indices[-1]) + 1,
            ),
            lost=float(is_lost.mean()),
            against=float(motion["moving"].mean()),
            largest_zoom=float(np.abs(np.cumsum(np.log1p(motion["zoom"].astype(np.float64)))).max()),
            largest_roll_degrees=float(np.degrees(np.abs(np.cumsum(motion["roll"].astype(np.float64))).max())),
        )

    @property
    def largest_shift(self) -> float:
        """Largest distance of the picture from where it was first, in frame heights."""
        return float(np.linalg.norm(self.path.centres, axis=1).max())


def _unknown_path(problem: str) -> Abstention:
    message = f"there are no poses, and {problem}. Track the camera with: --use poses=tracked_poses"
    return Abstention(Reason.POSE_FAILED, message)


def _filled(shifts: Floats, is_lost: NDArray[np.bool_]) -> Floats:
    """The shift of each step; that of a lost step lies between those of the steps around it."""
    found = np.flatnonzero(~is_lost)
    if not len(found):
        return shifts
    places = np.arange(len(shifts))
    return np.stack([np.interp(places, found, axis[found]) for axis in shifts.T], axis=1)


def _thinned(trajectory: Trajectory, most: int) -> Trajectory:
    """The path with at most so many poses, evenly spread, the first and the last among them."""
    count = len(trajectory.frame_indices)
    if count <= most:
        return trajectory
    kept = np.linspace(0, count - 1, most).round().astype(np.int64)
    return replace(
        trajectory,
        camera_to_world=trajectory.camera_to_world[kept],
        intrinsics=trajectory.intrinsics[kept],
        frame_indices=trajectory.frame_indices[kept],
        median_depth=trajectory.median_depth[kept],
    )
