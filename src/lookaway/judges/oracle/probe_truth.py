"""What is true of a clip when it is compared, frame by frame, with the clip that it should have been."""

from __future__ import annotations

import numpy as np

from lookaway.core import Floats
from lookaway.io.clip_arrays import ClipArrays
from lookaway.judges.oracle.cannot_answer import CannotAnswer
from lookaway.judges.oracle.known_clip import KnownClip
from lookaway.judges.oracle.truth import ABSENT_BELOW, progress_share, unseen_share

SAME_PLACE = 0.5
"""Diameters of a thing within which it is where it should be."""
MOST, HALF = 0.75, 0.5
"""Shares of an event from which on it has come about, and from which on it went on."""
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
    """Whether at least three quarters of the event have come about in the last frame."""
    return progress_share(clip) >= MOST


def has_gone_on_unseen(clip: KnownClip) -> bool:
    """Whether the target is there at the return, with at least half of the progress that it should have made unseen."""
    _should(clip)
    return unseen_share(clip) >= HALF


def _target_away(clip: KnownClip) -> Floats:
    """[frames] distance of the target from its true place, in its diameters."""
    away = np.linalg.norm(clip.truth.position[:, 0] - _should(clip).position[:, 0], axis=1)
    return np.asarray(away / clip.card.target.diameter_metres)


def _should(clip: KnownClip) -> ClipArrays:
    if clip.remembered_truth is None:
        raise CannotAnswer(
            f"the world holds no clip of {clip.card.case} without faults, which this question is answered from; "
            "render the model `perfect` too."
        )
    return clip.remembered_truth
