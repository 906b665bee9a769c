"""Pairs of frames on the way out and on the way back of a returning camera."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np

from lookaway.core import Floats, Indices, Pairs, Reason, Rollout, Trajectory, Unmeasurable, angles_degrees

EQUALLY_NEAR_DECIMALS: Final = 6
"""Digits of a distance between cameras that count: what is left is rounding, and may not choose a partner."""


def symmetric_pairs(frames: Indices, *, most: int, min_span_frames: int) -> Indices:
    """Pairs (i, N-1-i) of the given frames, widest first.

    >>> symmetric_pairs(np.arange(6), most=2, min_span_frames=2)
    array([[0, 5],
           [1, 4]])
    """
    half = len(frames) // 2
    pairs = np.stack([frames[:half], frames[::-1][:half]], axis=1)
    pairs = pairs[pairs[:, 1] - pairs[:, 0] >= min_span_frames][:most]
    if len(pairs) == 0:
        raise Unmeasurable(
            Reason.TOO_SHORT, f"{len(frames)} frames give no pair that is {min_span_frames} or more frames apart."
        )
    return pairs.astype(np.int64)


@dataclass(frozen=True, slots=True)
class FoldPairs:
    """Frames before the turnaround with the frames after it whose cameras are nearest, each frame in one pair at most.

    The turnaround is the frame whose camera is farthest from the first: translation divided by the path's extent, plus
    rotation in degrees divided by `degrees_per_extent`. The nearest two cameras are paired first, then the nearest of
    the frames that are left: an exact return keeps its partner, and a frame whose partner is taken gets the next one
    or, where the way back has fewer frames, none. Of equally near pairs the one farthest apart in time comes first.
    Without `shares_no_partner` every frame before the turnaround has the nearest one after it, whoever else has it;
    without `divides_by_extent` translations are taken in the unit of the poses. Both together are MBench's equation 18.
    Where there is no clear turnaround, or no poses at all, frames are paired symmetrically about the middle of the
    clip, and the pairs say so.
    """

    version: ClassVar[int] = 2
    constants: ClassVar[tuple[str, ...]] = (f"{__name__}:EQUALLY_NEAR_DECIMALS",)
    of_video: ClassVar[bool] = True

    most: Annotated[int, "pairs kept, those farthest apart in time"] = 20
    degrees_per_extent: Annotated[float, "rotation that counts as much as the path's whole extent"] = 180.0
    min_posed_frames: Annotated[int, "fewer posed frames than this show no turnaround"] = 8
    margin: Annotated[float, "a turnaround within this part of either end is none"] = 0.1
    min_span_frames: Annotated[int, "closer frames are neighbours, not a return"] = 2
    negligible_extent: Annotated[float, "a path shorter than this part of the median depth is jitter, not motion"] = (
        0.02
    )
    shares_no_partner: Annotated[bool, "whether a frame is in one pair at most, or partners may repeat"] = True
    divides_by_extent: Annotated[
        bool, "whether translations are divided by the path's extent, or taken in the unit of the poses"
    ] = True

    def select(self, rollout: Rollout, frame_count: int, trajectory: Trajectory | None) -> Pairs:
        """Pairs of frames, or an `Unmeasurable` where there are none."""
        if trajectory is None:
            return Pairs(self._symmetric(np.arange(frame_count)), "symmetric: no poses")
        turnaround = self._turnaround(trajectory)
        if turnaround is None:
            return Pairs(self._symmetric(trajectory.frame_indices), "symmetric: no clear turnaround")
        return Pairs(self._fold(trajectory, turnaround), "fold")

    def _symmetric(self, frames: Indices) -> Indices:
        return symmetric_pairs(frames, most=self.most, min_span_frames=self.min_span_frames)

    def _turnaround(self, trajectory: Trajectory) -> int | None:
        count = len(trajectory.frame_indices)
        if count < self.min_posed_frames:
            return None
        farthest = int(np.argmax(self._distances(trajectory, np.array([0]))[0]))
        last = count - 1
        is_clear = min(farthest, last - farthest) >= max(1, self.margin * last)
        return farthest if is_clear else None

    def _fold(self, trajectory: Trajectory, turnaround: int) -> Indices:
        frames = trajectory.frame_indices
        outbound, inbound = frames[:turnaround], frames[turnaround + 1 :]
        distances = self._distances(trajectory, np.arange(turnaround))[:, turnaround + 1 :]
        if self.shares_no_partner:
            rows, columns = _nearest_first(distances, inbound[None] - outbound[:, None])
        else:
            rows, columns = np.arange(len(outbound)), _nearest_of_each(distances)
        pairs = np.stack([outbound[rows], inbound[columns]], axis=1)
        spans = pairs[:, 1] - pairs[:, 0]
        widest = np.argsort(-spans, kind="stable")[: self.most]
        kept = pairs[widest[spans[widest] >= self.min_span_frames]]
        if len(kept) == 0:
            raise Unmeasurable(Reason.TOO_SHORT, "the camera returns within neighbouring frames only.")
        return np.asarray(kept)

    def _distances(self, trajectory: Trajectory, rows: Indices) -> Floats:
        """[rows, N] distance between cameras."""
        centres, rotations = trajectory.centres, trajectory.rotations
        if self.divides_by_extent:
            centres = trajectory.relative_centres(self.negligible_extent)
        steps = np.linalg.norm(centres[rows, None] - centres[None], axis=-1)
        turns = angles_degrees(rotations[rows, None], rotations[None])
        return np.asarray(steps + turns / self.degrees_per_extent)


def _nearest_of_each(distances: Floats) -> Indices:
    """The nearest column of each row; of equally near ones the last, which is the farthest in time."""
    rounded = np.round(distances, EQUALLY_NEAR_DECIMALS)
    is_nearest = rounded == rounded.min(axis=1, keepdims=True)
    return np.asarray(distances.shape[1] - 1 - is_nearest[:, ::-1].argmax(axis=1))


def _nearest_first(distances: Floats, spans: Indices) -> tuple[Indices, Indices]:
    """Rows, increasing, and the column of each, no column twice: the least distance first, then the widest span."""
    order = np.lexsort((-spans.ravel(), np.round(distances, EQUALLY_NEAR_DECIMALS).ravel()))
    columns: dict[int, int] = {}
    taken: set[int] = set()
    for row, column in zip(*(index.tolist() for index in np.unravel_index(order, distances.shape)), strict=True):
        if row not in columns and column not in taken:
            columns[row] = column
            taken.add(column)
            if len(columns) == min(distances.shape):
                break
    rows = sorted(columns)
    return np.array(rows, np.int64), np.array([columns[row] for row in rows], np.int64)
