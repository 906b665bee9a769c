"""Pairs of frames that show one view before the camera left it and after it came back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import (
    Pairs,
    Reason,
    Rollout,
    Trajectory,
    Unmeasurable,
    ViewGrid,
    Visits,
    find_visits,
    revisited_shares,
)


@dataclass(frozen=True, slots=True)
class RevisitPairs:
    """Frames after the return, spread over time, each with the latest earlier frame of the same view.

    What counts is the share of a view that was seen, was out of view at a frame between, and is seen again. Where the
    camera moves, a partner must also have been taken from nearly the same place, since views from two places cannot be
    laid over each other.
    """

    version: ClassVar[int] = 1
    of_video: ClassVar[bool] = True

    most: Annotated[int, "returns that are compared"] = 3
    min_revisited: Annotated[float, "share of a view that must be seen, left and seen again"] = 0.2
    near_best: Annotated[float, "a return shows at least this part of the largest revisited share"] = 0.8
    max_baseline: Annotated[float, "distance between the two places, in median depths of the view"] = 0.12
    negligible_extent: Annotated[float, "a path shorter than this part of the median depth is jitter, not motion"] = (
        0.02
    )
    grid: Annotated[ViewGrid, "points of a view that are followed"] = ViewGrid()

    def select(self, rollout: Rollout, frame_count: int, trajectory: Trajectory | None) -> Pairs:
        """Pairs of frames, or an `Unmeasurable` where there are none."""
        if trajectory is None:
            raise Unmeasurable(Reason.POSE_FAILED, "without poses, returns cannot be found.")
        visits = find_visits(trajectory, self.grid)
        if visits.most < self.min_revisited:
            raise Unmeasurable(
                Reason.GATE_CLOSED,
                f"at most {visits.most:.0%} of a view was seen, left and seen again, expected "
                f"{self.min_revisited:.0%}: the camera never left, or did not come back.",
            )
        if trajectory.relative_centres(self.negligible_extent).any():
            partners, rule = self._from_one_place(trajectory, visits), "revisited from nearly one place"
        else:
            returns = np.flatnonzero(visits.shares >= self.near_best * visits.most)
            partners, rule = {int(frame): int(visits.partners[frame]) for frame in returns}, "revisited by turning"
        frames = np.array(sorted(partners))
        taken = frames[np.unique(np.linspace(0, len(frames) - 1, self.most).round().astype(int))]
        places = np.array([[partners[int(frame)], frame] for frame in taken])
        return Pairs(trajectory.frame_indices[places], rule)

    def _from_one_place(self, trajectory: Trajectory, visits: Visits) -> dict[int, int]:
        """The partner of each return that has one near enough: the nearest, and of equally near ones the latest."""
        partners, nearest = {}, np.inf
        for frame in np.flatnonzero(visits.shares >= self.min_revisited).tolist():
            steps = trajectory.centres[:frame] - trajectory.centres[frame]
            baselines = np.linalg.norm(steps, axis=1) / trajectory.median_depth[frame]
            enough = max(self.min_revisited, 0.6 * float(visits.shares[frame]))
            shows = revisited_shares(trajectory, frame, self.grid) >= enough
            if not shows.any():
                continue
            nearest = min(nearest, float(baselines[shows].min()))
            fits = np.flatnonzero(shows & (baselines <= self.max_baseline))
            if len(fits):
                partners[frame] = int(min(fits, key=lambda place: (round(float(baselines[place]), 2), -place)))
        if not partners:
            raise Unmeasurable(
                Reason.GATE_CLOSED,
                f"the camera came back to a view, but no nearer than {nearest:.2f} median depths to the place it had "
                f"seen it from, expected {self.max_baseline:g}: two such views cannot be laid over each other.",
            )
        return partners
