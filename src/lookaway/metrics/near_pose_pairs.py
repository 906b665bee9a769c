"""Pairs of frames far apart in time whose cameras are close."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import (
    Abstention,
    Features,
    Floats,
    Indices,
    Pairs,
    Reason,
    Rollout,
    Timeline,
    Trajectory,
    Unmeasurable,
    ViewGrid,
    angles_degrees,
    view_overlaps,
)


@dataclass(frozen=True, slots=True)
class NearPosePairs:
    """Pairs of posed frames with the nearest cameras, none close to another pair of the list.

    Candidates are posed frames at least `step_seconds` apart. A pair spans at least `min_span_seconds` and
    `min_span` of the clip. Its cameras are within `max_degrees` and `max_distance` of the path's extent, and its cost
    is the sum of both, each divided by its limit. Pairs are taken in order of cost, among equal ones the longer span
    first, unless either frame is within `spacing_seconds` of that of a taken pair. Where the camera only turns, the
    angle decides alone. Between the frames of a pair the view was left: some frame shows less than `max_overlap` of
    the first one's view.
    """

    version: ClassVar[int] = 1
    of_video: ClassVar[bool] = True

    most: Annotated[int, "pairs that are compared"] = 5
    step_seconds: Annotated[float, "between candidate frames"] = 0.25
    min_span_seconds: Annotated[float, "between the frames of a pair"] = 2.0
    min_span: Annotated[float, "between the frames of a pair, as part of the clip"] = 0.1
    max_degrees: Annotated[float, "between the cameras of a pair"] = 5.0
    max_distance: Annotated[float, "between the cameras of a pair, as part of the path's extent"] = 0.05
    spacing_seconds: Annotated[float, "between the frames of one pair and the next"] = 0.5
    max_overlap: Annotated[float, "part of a view that is still seen when it counts as left"] = 0.5
    negligible_extent: Annotated[float, "a path shorter than this part of the median depth is jitter, not motion"] = (
        0.02
    )
    equal_decimals: Annotated[int, "costs with equal decimals up to here are equal: rounding must not choose pairs"] = 4
    grid: Annotated[ViewGrid, "points of a view that are followed"] = ViewGrid()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any rollout with poses has pairs, or not."""
        return None

    def choose(self, rollout: Rollout, timeline: Timeline, features: Features) -> Pairs:
        """Pairs of frames, or an `Unmeasurable` where there are none."""
        trajectory = Trajectory.from_feature(features["poses"])
        times = timeline.times_seconds[trajectory.frame_indices]
        rows = _spaced(times, self.step_seconds)
        costs = self._costs(trajectory, rows)
        spans = times[rows][None] - times[rows][:, None]
        length = float(timeline.times_seconds[-1] - timeline.times_seconds[0])
        min_span = max(self.min_span_seconds, self.min_span * length)
        costs[spans < min_span] = np.inf
        if not np.isfinite(costs).any():
            raise Unmeasurable(
                Reason.GATE_CLOSED,
                f"never returned: no two frames {min_span:g} s or more apart have cameras within {self.max_degrees:g} "
                f"degrees and {self.max_distance:g} of the path's extent.",
            )
        taken = self._cheapest(costs, spans, times[rows], _Views(trajectory, times, rows, self))
        if not taken:
            raise Unmeasurable(
                Reason.GATE_CLOSED,
                f"never left: between frames with near cameras, every frame shows {self.max_overlap:g} or more of the "
                "view.",
            )
        return Pairs(trajectory.frame_indices[rows][np.array(taken)], "near poses")

    def _cheapest(self, costs: Floats, spans: Floats, times: Floats, views: _Views) -> list[tuple[int, int]]:
        """Pairs of finite cost between which the view was left, the cheapest first, none close to another."""
        order = np.lexsort((-spans.ravel(), np.round(costs.ravel(), self.equal_decimals)))
        taken: list[tuple[int, int]] = []
        for flat in order.tolist():
            first, second = divmod(flat, costs.shape[1])
            if len(taken) == self.most or not np.isfinite(costs[first, second]):
                break
            is_apart = all(
                abs(times[first] - times[i]) >= self.spacing_seconds
                and abs(times[second] - times[j]) >= self.spacing_seconds
                for i, j in taken
            )
            if is_apart and views.left_at(first) < times[second]:
                taken.append((first, second))
        return taken

    def _costs(self, trajectory: Trajectory, rows: Indices) -> Floats:
        """[rows, rows] cost of each pair; infinite beyond a limit."""
        centres = trajectory.relative_centres(self.negligible_extent)[rows]
        rotations = trajectory.rotations[rows]
        distances = np.linalg.norm(centres[:, None] - centres[None], axis=-1)
        angles = angles_degrees(rotations[:, None], rotations[None])
        costs = distances / self.max_distance + angles / self.max_degrees
        return np.where((distances <= self.max_distance) & (angles <= self.max_degrees), costs, np.inf)


@dataclass(slots=True)
class _Views:
    """When the views of candidate frames are first left; looked up only for those that are about to be paired."""

    trajectory: Trajectory
    times: Floats
    rows: Indices
    limits: NearPosePairs
    _found: dict[int, float] = field(default_factory=dict)

    def left_at(self, candidate: int) -> float:
        """Seconds at which a view is first left after its frame; infinite where it never is."""
        if candidate not in self._found:
            self._found[candidate] = self._look(int(self.rows[candidate]))
        return self._found[candidate]

    def _look(self, row: int) -> float:
        # Every posed frame would cost a minute for a clip of a minute that never leaves its view.
        looks = row + _spaced(self.times[row:], self.limits.min_span_seconds / 2)
        path = self.trajectory
        some = replace(
            path,
            camera_to_world=path.camera_to_world[looks],
            intrinsics=path.intrinsics[looks],
            frame_indices=path.frame_indices[looks],
            median_depth=path.median_depth[looks],
        )
        left = np.flatnonzero(view_overlaps(some, 0, self.limits.grid.whole) < self.limits.max_overlap)
        return float(self.times[looks[left[0]]]) if left.size else np.inf


def _spaced(times: Floats, step: float) -> Indices:
    """Rows from the first on, each at least a step after the one before."""
    rows = [0]
    for row in range(1, len(times)):
        if times[row] - times[rows[-1]] >= step - 1e-6:
            rows.append(row)
    return np.array(rows, np.int64)
