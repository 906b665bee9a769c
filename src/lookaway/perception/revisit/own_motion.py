"""What moves by itself, such as water, leaves and fire: it changes within a visit as it does between two visits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from lookaway.core import Floats, Mask, Trajectory, revisited_points, view_overlaps
from lookaway.perception.revisit.aligned_views import GRID
from lookaway.perception.revisit.alignment import View, align, pose_homography, warp
from lookaway.perception.revisit.change_map import CHANGED, MIN_BLOB, ViewChanges, find_changes, keep_blobs

MOVES = 6.0
"""Delta E above which a place changes within a visit; lower than between visits, as a visit shows part of a motion."""
REACH = 0.025
"""Frame heights; what moves at a place reaches so far at other times."""
WIDE_REACH = 0.1
"""The same for one of the two visits: waves that rise here in one visit may rise beside it in the other."""
MUCH_MORE = 2.0
"""A place that differs between the visits by so many times what it does within them has changed all the same."""
MOST_FRAMES = 4
"""Further frames of each visit that are looked at."""
MIN_SHOWN = 0.5
"""Share of what is compared that a frame of a visit shows."""


@dataclass(frozen=True, slots=True)
class VisitFrames:
    """Further frames of both visits of a pair, as positions in the trajectory."""

    first: tuple[int, ...] = ()
    second: tuple[int, ...] = ()


def choose_visit_frames(trajectory: Trajectory, first: int, second: int) -> VisitFrames:
    """Frames before the view is left and after the return, spread over the time in which it is seen."""
    compared = revisited_points(trajectory, first, second, GRID)
    if second - first < 2 or not compared.any():
        return VisitFrames()
    shown = view_overlaps(trajectory, second, compared)
    away = first + 1 + int(np.argmin(shown[first + 1 : second]))
    is_seen = shown >= MIN_SHOWN
    return VisitFrames(_around(first, is_seen[:away], 0), _around(second, is_seen[away + 1 :], away + 1))


def _around(frame: int, is_seen: Mask, start: int) -> tuple[int, ...]:
    """Frames without a gap before and after a frame; `is_seen` begins at frame `start`."""
    gaps = [start - 1, *(start + np.flatnonzero(~is_seen)).tolist(), start + len(is_seen)]
    low, high = max(gap for gap in gaps if gap < frame), min(gap for gap in gaps if gap > frame)
    found = [other for other in range(low + 1, high) if other != frame]
    taken = np.unique(np.linspace(0, len(found) - 1, min(MOST_FRAMES, len(found))).round().astype(int))
    return tuple(found[place] for place in taken)


def motion_within(
    cv2: ModuleType, trajectory: Trajectory, views: Mapping[int, View], frame: int, others: Sequence[int]
) -> Floats:
    """[height, width] Delta E by which a place of a frame differs at most in other frames of the visit.

    It is 0 where nothing moves. Frames are aligned and compared as first visit and return are.
    """
    view = views[frame]
    most = np.zeros(view.pixels.shape[:2], np.float32)
    for other in others:
        by_poses = pose_homography(trajectory, frame, other, view.size)
        homography = align(cv2, views[other], view, by_poses).homography
        placed, shown = warp(cv2, views[other].pixels, homography, view.size)
        if shown.any():
            np.maximum(most, find_changes(cv2, [placed], view.pixels, shown).differences, out=most)
    is_moving = keep_blobs(cv2, most > MOVES, MIN_BLOB * most.size)
    return np.where(is_moving, most, np.float32(0))


def set_aside(cv2: ModuleType, changes: ViewChanges, motions: tuple[Floats, Floats], homography: Floats) -> ViewChanges:
    """Changes without those of places that change within both visits, in one of them at the place or near it.

    Motions are those of the first visit and of the return, each in its own view; the homography leads from pixels of
    the return to those of the first visit.
    """
    height, width = changes.mask.shape
    before, after = warp(cv2, motions[0], homography, (width, height))[0], motions[1]
    own = np.maximum(
        np.minimum(_spread(cv2, before, REACH), _spread(cv2, after, WIDE_REACH)),
        np.minimum(_spread(cv2, before, WIDE_REACH), _spread(cv2, after, REACH)),
    )
    aside = changes.mask & (own > MOVES) & (changes.differences <= MUCH_MORE * own)
    changed = keep_blobs(cv2, (changes.differences > CHANGED) & ~aside, MIN_BLOB * aside.size)
    return replace(changes, changed=changed, aside=aside)


def _spread(cv2: ModuleType, motion: Floats, reach: float) -> Floats:
    """The most motion within a reach of each place."""
    side = 2 * max(1, round(reach * len(motion))) + 1
    return np.asarray(cv2.dilate(motion, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side))))
