"""When the target is visible, and why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats
from lookaway.world.nouns import Scene
from lookaway.world.states import StateTable
from lookaway.world.turns import project, rotation

Cause = Literal["visible", "occluded", "out_of_view", "absent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Visible `[0, d_start)`, disappeared `[d_start, r_start)`, reappeared `[r_start, frames)`.

    The target has disappeared when none of its pixels is left, and has reappeared when the edge of the frame no longer
    cuts it off. A target that never disappears has `d_start = r_start = frames`.
    """

    d_start: int
    r_start: int
    frames: int
    causes: tuple[Cause, ...]
    """For every frame."""

    @property
    def is_lost(self) -> bool:
        """Whether the target disappears at all."""
        return self.d_start < self.frames

    @property
    def returns(self) -> bool:
        """Whether it reappears."""
        return self.r_start < self.frames


def find_phases(masks: Sequence[NDArray[np.bool_]], table: StateTable, scene: Scene, intrinsics: Floats) -> Phases:
    """From the masks of the target."""
    frames = len(masks)
    seen = np.array([mask.any() for mask in masks])
    causes = tuple(_cause(bool(seen[i]), table, i, scene, masks[i].shape, intrinsics) for i in range(frames))
    start, end = _longest_run(~seen)
    if start == end:
        return Phases(d_start=frames, r_start=frames, frames=frames, causes=causes)
    whole = [index for index in range(end, frames) if masks[index].any() and not is_cut(masks[index])]
    return Phases(d_start=start, r_start=whole[0] if whole else frames, frames=frames, causes=causes)


def _longest_run(flags: NDArray[np.bool_]) -> tuple[int, int]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    runs = [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]
    return max(runs, key=lambda run: run[1] - run[0], default=(0, 0))


def is_cut(mask: NDArray[np.bool_]) -> bool:
    """Whether the mask touches the edge of the frame."""
    return bool(mask[0].any() or mask[-1].any() or mask[:, 0].any() or mask[:, -1].any())


def _cause(
    is_seen: bool, table: StateTable, frame: int, scene: Scene, shape: tuple[int, ...], intrinsics: Floats
) -> Cause:
    if is_seen:
        return "visible"
    if table.opacity[frame, 0] < 0.5:
        return "absent"
    centre = table.part_position[frame, : len(scene.target.parts)].mean(axis=0)
    middle = table.position[frame, 0] + rotation(table.quaternion[frame, 0]).apply(centre)
    pixels, depth = project(middle[None], table.camera[frame], intrinsics)
    (column, row), height, width = pixels[0], *shape
    is_inside = depth[0] > 0 and 0 <= column < width and 0 <= row < height
    return "occluded" if is_inside else "out_of_view"
