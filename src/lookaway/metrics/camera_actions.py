"""The camera actions that prompts ask for, as directions of motion."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

Motion: TypeAlias = tuple[float, float, float, float, float, float]
"""Translation x, y, z and rotation about x, y, z of the camera's own axes: x right, y down, z forward."""

# Left and right turn the camera, they do not move it sideways: that is the benchmarks' own meaning.
MOTIONS: Final[dict[str, Motion]] = {
    "forward": (0, 0, 1, 0, 0, 0),
    "backward": (0, 0, -1, 0, 0, 0),
    "left": (0, 0, 0, 0, -1, 0),
    "right": (0, 0, 0, 0, 1, 0),
    "up": (0, 0, 0, 1, 0, 0),
    "down": (0, 0, 0, -1, 0, 0),
}
WAITS: Final = frozenset({"static", "wait", "hold", "stay"})


def parse_action(action: str) -> tuple[Motion | None, ...] | None:
    """The phases of an action, `None` for a phase that waits; `None` for an action that is not known.

    >>> parse_action("left_then_wait_then_right")
    ((0, 0, 0, 0, -1, 0), None, (0, 0, 0, 0, 1, 0))
    >>> parse_action("left_360")
    ((0, 0, 0, 0, -1, 0),)
    >>> parse_action("moonwalk") is None
    True
    """
    phases: list[Motion | None] = []
    for phase in action.lower().split("_then_"):
        word = re.sub(r"_\d+$", "", phase)
        if word not in MOTIONS and word not in WAITS:
            return None
        phases.append(MOTIONS.get(word))
    return tuple(phases)
