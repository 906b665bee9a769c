"""What moves by itself, such as water, leaves and fire: it changes within a visit as it does between two visits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Annotated

import numpy as np

from lookaway.core import Floats, Mask, Trajectory, revisited_points, view_overlaps
from lookaway.perception.revisit.aligned_views import ComparedPart
from lookaway.perception.revisit.alignment import AlignmentLimits, View, align, pose_homography, warp
from lookaway.perception.revisit.change_map import ChangeLimits, ViewChanges, find_changes, keep_blobs


@dataclass(frozen=True, slots=True)
class OwnMotion:
    """From where on a place moves by itself."""

    moves: Annotated[
        float, "Delta E above which a place changes within a visit; a visit shows but a part of a motion"
    ] = 6.0
    reach: Annotated[float, "frame heights; what moves at a place reaches so far at other times"] = 0.025
    wide_reach: Annotated[
        float, "the same for one of the two visits: waves that rise here in one may rise beside it in the other"
    ] = 0.1
    much_more: Annotated[
        float, "a place that differs between visits by so many times what it does within them has changed all the same"
    ] = 2.0
    max_frames: Annotated[int, "further frames of each visit that are looked at"] = 4
    min_shown: Annotated[float, "share of what is compared that a frame of a visit shows"] = 0.5


@dataclass(frozen=True, slots=True)
class PairLimits:
    """What tells whether two frames of one view differ."""

    alignment: Annotated[AlignmentLimits, "how two frames are laid over each other"] = AlignmentLimits()
    part: Annotated[ComparedPart, "what of them is compared"] = ComparedPart()
    changes: Annotated[ChangeLimits, "from where on a place has changed"] = ChangeLimits()
    own_motion: Annotated[OwnMotion, "from where on a place moves by itself"] = OwnMotion()


@dataclass(frozen=True, slots=True)
class VisitFrames:
    """Further frames of both visits of a pair, as positions in the trajectory."""

    first: tuple[int, ...] = ()
    second: tuple[int, ...] = ()


def choose_visit_frames(
    trajectory: Trajectory, first: int, second: int, part: ComparedPart, own: OwnMotion
) -> VisitFrames:
    """Frames before the view is left and after the return, spread over the time in which it is seen."""
    compared = revisited_points(trajectory, first, second, part.grid)
    if second - first < 2 or not compared.any():
        return VisitFrames()
    shown = view_overlaps(trajectory, second, compared)
    away = first + 1 + int(np.argmin(shown[first + 1 : second]))
    is_seen = shown >= own.min_shown
    return VisitFrames(
        _around(first, is_seen[:away], 0, own.max_frames),
        _around(second, is_seen[away + 1 :], away + 1, own.max_frames),
    )


def _around(frame: int, is_seen: Mask, start: int, most: int) -> tuple[int, ...]:
    """Frames without a gap before and after a frame; `is_seen` begins at frame `start`."""
    gaps = [start - 1, *(start + np.flatnonzero(~is_seen)).tolist(), start + len(is_seen)]
    low, high = max(gap for gap in gaps if gap < frame), min(gap for gap in gaps if gap > frame)
    found = [other for other in range(low + 1, high) if other != frame]
    taken = np.unique(np.linspace(0, len(found) - 1, min(most, len(found))).round().astype(int))
    return tuple(found[place] for place in taken)


def motion_within(
    cv2: ModuleType,
    trajectory: Trajectory,
    views: Mapping[int, View],
    frame: int,
    others: Sequence[int],
    limits: PairLimits,
) -> Floats:
    """[height, width] Delta E by which a place of a frame differs at most in other frames of the visit.

    It is 0 where nothing moves. Frames are aligned and compared as first visit and return are.
    """
    view = views[frame]
    most = np.zeros(view.pixels.shape[:2], np.float32)
    for other in others:
        by_poses = pose_homography(trajectory, frame, other, view.size, limits.alignment.depth)
        homography = align(cv2, views[other], view, by_poses, limits.alignment).homography
        placed, shown = warp(cv2, views[other].pixels, homography, view.size)
        if shown.any():
            np.maximum(most, find_changes(cv2, [placed], view.pixels, shown, limits.changes).differences, out=most)
    is_moving = keep_blobs(cv2, most > limits.own_motion.moves, limits.changes.min_blob * most.size)
    return np.where(is_moving, most, np.float32(0))


def set_aside(
    cv2: ModuleType, changes: ViewChanges, motions: tuple[Floats, Floats], homography: Floats, limits: PairLimits
) -> ViewChanges:
    """Changes without those of places that change within both visits, in one of them at the place or near it.

    Motions are those of the first visit and of the return, each in its own view; the homography leads from pixels of
    the return to those of the first visit.
    """
    height, width = changes.mask.shape
    own_motion, changed_from = limits.own_motion, limits.changes.changed
    before, after = warp(cv2, motions[0], homography, (width, height))[0], motions[1]
    own = np.maximum(
        np.minimum(_spread(cv2, before, own_motion.reach), _spread(cv2, after, own_motion.wide_reach)),
        np.minimum(_spread(cv2, before, own_motion.wide_reach), _spread(cv2, after, own_motion.reach)),
    )
    aside = changes.mask & (own > own_motion.moves) & (changes.differences <= own_motion.much_more * own)
    changed = keep_blobs(cv2, (changes.differences > changed_from) & ~aside, limits.changes.min_blob * aside.size)
    return replace(changes, changed=changed, aside=aside)


def _spread(cv2: ModuleType, motion: Floats, reach: float) -> Floats:
    """The most motion within a reach of each place."""
    side = 2 * max(1, round(reach * len(motion))) + 1
    return np.asarray(cv2.dilate(motion, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side))))
