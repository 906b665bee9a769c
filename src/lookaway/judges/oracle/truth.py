"""The truth about a whole clip, whichever frames are shown: whether it poses the memory test, and how well it does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, angles_degrees
from lookaway.io.clip_card import ClipArrays
from lookaway.judges.oracle.clip_index import KnownClip
from lookaway.judges.oracle.parsed_question import CannotAnswer

ABSENT_BELOW = 0.5
"""A target with less opacity counts as absent."""
AWAY_DEGREES, BACK_DEGREES = 20.0, 15.0
AWAY_SHARE, BACK_SHARE = 0.3, 0.2
"""Shares of the first distance to the target. The smallest turn of the world's cameras is 30 degrees; the strongest
drift, 14 degrees, still shows the first view."""
CLOCKS: dict[str, tuple[int, ...]] = {"none": (), "spatial": (0,), "in_place": (1,), "both": (0, 1)}
"""The columns of `progress` that each event uses."""
ON_EVENT_OR_TARGET = frozenset(
    {
        "frozen_while_unseen",
        "state_reset",
        "vanish",
        "identity_texture",
        "identity_colour",
        "identity_shape",
        "teleport",
        "duplicate",
        "dragged_along",
    }
)
"""Faults of the world that affect the event or its target; the others affect the place, the camera or time."""


def poses_target_test(clip: KnownClip) -> bool:
    """Whether the target is seen, then neither it nor its place, and then the target or its place again.

    The place of a target that has vanished (opacity below a half) is in view where its true position falls into the
    picture. So a target that is gone when the camera returns does pose the test, and one that is always in sight does
    not.
    """
    truth = clip.truth
    is_seen = truth.visible_area[:, 0] > 0
    is_looked_at = is_seen | ((truth.opacity[:, 0] < ABSENT_BELOW) & _is_in_view(clip))
    if not is_seen.any():
        return False
    after_first = is_looked_at[int(np.argmax(is_seen)) :]
    return bool(after_first[int(np.argmin(after_first)) :].any() and not after_first.all())


def poses_place_test(clip: KnownClip) -> bool:
    """Whether the executed camera leaves its first view, by a turn or by a move, and comes back to it later."""
    path = clip.truth.camera_to_world
    turned = angles_degrees(path[:, :3, :3], path[0, :3, :3])
    moved = np.linalg.norm(path[:, :3, 3] - path[0, :3, 3], axis=1)
    distance = float(np.linalg.norm(clip.truth.position[0, 0] - path[0, :3, 3]))
    is_away = (turned >= AWAY_DEGREES) | (moved >= AWAY_SHARE * distance)
    is_back = (turned <= BACK_DEGREES) & (moved <= BACK_SHARE * distance)
    return bool(is_away.any() and is_back[int(np.argmax(is_away)) :].any())


def poses_event_test(clip: KnownClip) -> bool:
    """Whether something happens to the target, and the target poses its test: in this world at least 15 % of every
    clock pass while the target is out of sight."""
    return clip.card.event != "none" and poses_target_test(clip)


def progress_share(clip: KnownClip) -> float:
    """Progress in the last frame as a share of the expected progress, from 0 to 1.

    Expected is the progress of the fault-free clip of the same case, or 1, where every clock of the world ends, if
    there is none. Of two clocks, the slower one counts. An absent target shows no progress; if nothing should happen,
    the share is 1.
    """
    truth, should = clip.truth, clip.remembered_truth
    if truth.opacity[-1, 0] < ABSENT_BELOW:
        return 0.0
    ends = np.ones(2) if should is None else should.progress[-1]
    shares = [truth.progress[-1, clock] / ends[clock] for clock in CLOCKS[clip.card.event] if ends[clock] > 0]
    return float(np.clip(min(shares, default=1.0), 0.0, 1.0))


def unseen_share(clip: KnownClip) -> float:
    """Progress made out of sight as a share of the expected progress, from 0 to 1.

    Each clock is compared from the last frame before the target should be lost to the frame in which it should be
    back; the slower one counts. A target that is absent at the return shows no progress. If the target should never be
    lost from sight, or the world has no fault-free clip of the case, the end of the clip counts.
    """
    should, card = clip.remembered_truth, clip.remembered.card if clip.remembered else clip.card
    lost, back = card.phases.disappeared
    if should is None or not 0 < lost < back < card.frames:
        return progress_share(clip)
    if clip.truth.opacity[back, 0] < ABSENT_BELOW:
        return 0.0
    before = should.progress[lost - 1]
    expected, made = should.progress[back] - before, clip.truth.progress[back] - before
    shares = [made[clock] / expected[clock] for clock in CLOCKS[clip.card.event] if expected[clock] > 0]
    return float(np.clip(min(shares, default=1.0), 0.0, 1.0))


def progress_rating(clip: KnownClip) -> int:
    """1 + round(4 s), with s the share of its progress that the event has made out of sight."""
    return 1 + round(4 * unseen_share(clip))


def correctness_rating(clip: KnownClip) -> int:
    """1 + round(4 (1 - s)), with s the severity of the worst fault that affects the event or its target.

    A clip without a fault may still be none of a memory, such as a frozen one: it is rated by its progress.
    """
    if not clip.card.injections:
        return progress_rating(clip)
    severities = [found.severity for found in clip.card.injections if found.fault in ON_EVENT_OR_TARGET]
    return 1 + round(4 * (1 - max(severities, default=0.0)))


def _is_in_view(clip: KnownClip) -> NDArray[np.bool_]:
    """[frames] whether the place of the target falls into the picture, hidden or not."""
    truth = clip.truth
    offsets = truth.position[:, 0] - truth.camera_to_world[:, :3, 3]
    seen_from_camera = np.einsum("nji,nj->ni", truth.camera_to_world[:, :3, :3], offsets)
    depth = seen_from_camera[:, 2]
    pixels = (seen_from_camera @ truth.intrinsics.T)[:, :2] / np.where(depth > 0, depth, np.inf)[:, None]
    is_inside = (pixels >= 0) & (pixels < (clip.card.width, clip.card.height))
    return np.asarray((depth > 0) & is_inside.all(axis=1))


SAME_PLACE = 0.5
"""A thing is in place within this many of its diameters."""
MOST, HALF = 0.75, 0.5
"""Minimum shares of an event for it to have happened, and for it to have continued."""
ANCHORS = ("anchor", "prop", "structure")


def is_in_place_while_seen(clip: KnownClip) -> bool:
    """Whether the target is where it should be in every frame that shows it."""
    return bool((_target_away(clip)[clip.truth.visible_area[:, 0] > 0] <= SAME_PLACE).all())


def is_in_place_at_the_end(clip: KnownClip) -> bool:
    """Whether the target is there in the last frame, and where it should be."""
    return bool(clip.truth.opacity[-1, 0] >= ABSENT_BELOW and _target_away(clip)[-1] <= SAME_PLACE)


def are_anchors_in_place(clip: KnownClip) -> bool:
    """Whether everything that should not move is where it should be in the last frame."""
    anchors = [index for index, thing in enumerate(clip.card.things) if thing.role in ANCHORS]
    sizes = np.array([clip.card.things[index].diameter_metres for index in anchors])
    away = np.linalg.norm(clip.truth.position[-1, anchors] - _should(clip).position[-1, anchors], axis=1)
    return bool((away <= SAME_PLACE * sizes).all())


def has_happened(clip: KnownClip) -> bool:
    """Whether at least three quarters of the event have happened by the last frame."""
    return progress_share(clip) >= MOST


def has_gone_on_unseen(clip: KnownClip) -> bool:
    """Whether the target is there at the return, with at least half of the progress expected out of sight."""
    _should(clip)
    return unseen_share(clip) >= HALF


def _target_away(clip: KnownClip) -> Floats:
    """[frames] distance of the target from its true place, in its diameters."""
    away = np.linalg.norm(clip.truth.position[:, 0] - _should(clip).position[:, 0], axis=1)
    return np.asarray(away / clip.card.target.diameter_metres)


def _should(clip: KnownClip) -> ClipArrays:
    if clip.remembered_truth is None:
        raise CannotAnswer(
            f"the world has no fault-free clip of {clip.card.case}, from which this question is answered. "
            "Render the model `perfect` too."
        )
    return clip.remembered_truth
