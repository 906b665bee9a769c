"""Finds the part of a camera's path that goes back the way it came."""

from __future__ import annotations

from typing import Final

import numpy as np

from lookaway.core import Floats

SAME_POSE: Final = 1e-6
"""How much two poses may differ, in metres and in the entries of a rotation."""
LEAST_WAY: Final = 0.05
"""How far the path must lead away, in the same measure: a camera that stands still mirrors itself everywhere."""


def mirrored_frames(camera_to_world: Floats) -> tuple[int, ...] | None:
    """Frames of the longest way out and back, of poses [N, 4, 4]: as many out as back, frame i as frame -1 - i.

    The frame at which the path turns has no other and is left out. `None` where no path leads out and comes back so.
    """
    count = len(camera_to_world)
    longest: list[tuple[int, int]] = []
    for total in range(1, 2 * count - 2):
        pairs = _pairs(camera_to_world, total)
        if len(pairs) > len(longest) and _leads_away(camera_to_world, pairs):
            longest = pairs
    if not longest:
        return None
    return (*(out for out, _ in reversed(longest)), *(back for _, back in longest))


def _pairs(poses: Floats, total: int) -> list[tuple[int, int]]:
    """Frames whose indices sum up to the same, from the turn on, as long as they see the same."""
    pairs = []
    for out in range((total - 1) // 2, max(0, total - len(poses) + 1) - 1, -1):
        back = total - out
        if np.abs(poses[out] - poses[back]).max() > SAME_POSE:
            break
        pairs.append((out, back))
    return pairs


def _leads_away(poses: Floats, pairs: list[tuple[int, int]]) -> bool:
    outs = poses[[out for out, _ in pairs]]
    return bool(np.abs(outs - outs[0]).max() > LEAST_WAY)
