"""What makes a clip a memory test. A scene that breaks a rule is drawn again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lookaway.world.clip import Clip
from lookaway.world.phases import is_cut

LEAST_AREA = 0.01
"""Of the picture, while the target is in sight as a whole."""
LEAST_UNSEEN = 0.25
"""Of the frames."""
LEAST_UNSEEN_PROGRESS = 0.15
"""Of each clock that runs."""


def broken_rule(clip: Clip, masks: Sequence[NDArray[np.bool_]]) -> str:
    """The first rule that the clean clip breaks, in words; empty where it keeps all."""
    areas = np.array([float(mask.mean()) for mask in masks])
    for name, frame in (("first", 0), ("last", len(areas) - 1)):
        if areas[frame] < LEAST_AREA:
            return f"the target fills {areas[frame]:.1%} of the {name} frame, expected {LEAST_AREA:.0%}"
        if is_cut(masks[frame]):
            return f"the edge of the picture cuts the target off in the {name} frame"
    if not clip.path.looks_away:
        return ""
    unseen = np.flatnonzero(areas == 0)
    if len(unseen) < LEAST_UNSEEN * len(areas):
        return f"the target is out of sight in {len(unseen)} of {len(areas)} frames, expected {LEAST_UNSEEN:.0%}"
    progress = clip.table.progress
    for clock, name in enumerate(("motion", "process")):
        gone = float(progress[unseen[-1], clock] - progress[unseen[0], clock])
        if progress[:, clock].any() and gone < LEAST_UNSEEN_PROGRESS:
            return f"{gone:.0%} of the {name} happens unseen, expected {LEAST_UNSEEN_PROGRESS:.0%}"
    return ""
