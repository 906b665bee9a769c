"""Pairs of frames from the first and the last prompt segments whose cameras agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import Indices, Pairs, Reason, Rollout, Trajectory, Unmeasurable, angles_degrees
from lookaway.core.frames import segment_bounds
from lookaway.metrics.fold_pairs import symmetric_pairs


@dataclass(frozen=True, slots=True)
class SegmentPairs:
    """Frames of the first `edge_segments` prompt segments with frames of the last ones, nearest cameras first.

    Pairs are ranked by exp(-distance / `distance_scale` - angle / `angle_scale_degrees`), distance in units of the
    path's extent or, without `divides_by_extent`, of the poses; then by how far apart they are in time. Without poses,
    frames are paired symmetrically about the middle of the clip, and the pairs say so. Where the prompt has too few
    segments to tell the first from the last, the clip is cut into `untold_segments` equal parts, and the pairs say so
    too.
    """

    version: ClassVar[int] = 1

    most: Annotated[int, "pairs kept"] = 5
    edge_segments: Annotated[int, "segments at either end that pairs are taken from"] = 2
    untold_segments: Annotated[int, "equal parts of a clip whose prompt tells too few; both ends fit in any case"] = 5
    distance_scale: Annotated[float, "camera distance that divides a pair's rank by e"] = 0.1
    angle_scale_degrees: Annotated[float, "camera angle that divides a pair's rank by e"] = 10.0
    min_span_frames: Annotated[int, "closer frames are neighbours, not a return"] = 2
    negligible_extent: Annotated[float, "a path shorter than this part of the median depth is jitter, not motion"] = (
        0.02
    )
    divides_by_extent: Annotated[
        bool, "whether translations are divided by the path's extent, or taken in the unit of the poses"
    ] = True

    def select(self, rollout: Rollout, frame_count: int, trajectory: Trajectory | None) -> Pairs:
        """Pairs of frames, or an `Unmeasurable` where there are none."""
        told, needed = len(rollout.case.prompt), 2 * self.edge_segments
        is_told, parts = told >= needed, max(self.untold_segments, needed)
        bounds = segment_bounds(frame_count, told if is_told else parts)
        early_stop, late_start = bounds[self.edge_segments - 1][1], bounds[-self.edge_segments][0]
        if trajectory is None:
            edge = min(early_stop, frame_count - late_start)
            frames = np.concatenate([np.arange(edge), np.arange(frame_count - edge, frame_count)])
            pairs = symmetric_pairs(frames, most=self.most, min_span_frames=self.min_span_frames)
            rule = "symmetric: no poses"
        else:
            pairs, rule = self._nearest(trajectory, early_stop, late_start), "segment"
        if not is_told:
            rule += f"; {parts} equal parts, the prompt has {told} of the {needed} segments needed"
        return Pairs(pairs, rule)

    def _nearest(self, trajectory: Trajectory, early_stop: int, late_start: int) -> Indices:
        frames = trajectory.frame_indices
        early, late = np.flatnonzero(frames < early_stop), np.flatnonzero(frames >= late_start)
        if not (early.size and late.size):
            raise Unmeasurable(Reason.TOO_SHORT, "the first or the last prompt segments hold no posed frame.")
        centres, rotations = trajectory.centres, trajectory.rotations
        if self.divides_by_extent:
            centres = trajectory.relative_centres(self.negligible_extent)
        distances = np.linalg.norm(centres[early, None] - centres[None, late], axis=-1)
        angles = angles_degrees(rotations[early, None], rotations[None, late])
        closeness = -distances / self.distance_scale - angles / self.angle_scale_degrees
        spans = frames[late][None] - frames[early][:, None]
        order = np.lexsort((-spans.ravel(), -closeness.ravel()))
        order = order[spans.ravel()[order] >= self.min_span_frames][: self.most]
        if order.size == 0:
            raise Unmeasurable(Reason.TOO_SHORT, "the first and the last prompt segments are neighbours.")
        rows, columns = np.unravel_index(order, spans.shape)
        return np.stack([frames[early[rows]], frames[late[columns]]], axis=1)
