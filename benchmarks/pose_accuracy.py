"""Tracked poses against the truth of the simulated world, over families of scenes and camera paths.

With a folder, the clips below it are taken as they are; without one, the standard set is rendered and thrown away.
Angles are in degrees: of rotations relative to the first frame, and of the way from the first frame, in its axes.
Cost is the processor time of a clip, and its ratio to that of decoding the clip and finding its points.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lookaway.core import Case, Floats, Rollout, Trajectory, Unmeasurable, angles_degrees
from lookaway.engine.inline import Inline
from lookaway.io.video import Video
from lookaway.io.world_clips import WorldClip, open_world
from lookaway.perception.poses.tracked_poses import TrackedPoses
from lookaway.world.families import FAMILIES
from lookaway.world.grid import Grid
from lookaway.world.recipe import ClipRecipe
from lookaway.world.rendering import render_set

CAMERAS = (
    "static",
    *(f"yaw_{way}_{degrees}" for degrees in (30, 60, 120) for way in ("left", "right")),
    *("full_turn", "forward_backward", "orbit_left", "orbit_right", "pan_left", "pan_right"),
)
FORM = ClipRecipe(family="", event="none", camera="", seed=0, width=448, height=256, fps=12, seconds=3.0, wait=1.0)
MAX_TURN_ERROR, MAX_TURN_ERROR_MOVING = 0.5, 1.0
MAX_YAW_ERROR = 0.03
"""As a part of the largest yaw."""
MAX_DIRECTION_ERROR = 5.0
FAR = 0.2
"""Directions are compared where the camera is farther from its first place than this part of its longest way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How near the tracked poses of one clip are to the truth."""

    model: str
    turn: float
    """Median error of rotations."""
    yaw: float | None
    """Error of the largest yaw as a part of it, where the camera turns."""
    direction: float | None
    """Median error of directions, where the camera moves."""
    focal: float
    """As a part of the true one."""
    seconds: float
    ratio: float

    @property
    def is_within_limits(self) -> bool:
        """Whether the path is as good as promised."""
        if self.direction is not None:
            return self.turn < MAX_TURN_ERROR_MOVING and self.direction < MAX_DIRECTION_ERROR
        return self.turn < MAX_TURN_ERROR and (self.yaw or 0) < MAX_YAW_ERROR


def compare(tracked: Trajectory, truth: Trajectory) -> tuple[float, float | None, float | None]:
    """Errors of rotations, of the largest yaw, and of directions."""
    frames = tracked.frame_indices
    true_turns = truth.rotations[0].T @ truth.rotations[frames]
    turns = tracked.rotations[0].T @ tracked.rotations
    true_ways = (truth.centres[frames] - truth.centres[0]) @ truth.rotations[0]
    ways = (tracked.centres - tracked.centres[0]) @ tracked.rotations[0]
    lengths = np.linalg.norm(true_ways, axis=1)
    largest = float(np.abs(yaw_degrees(true_turns)).max())
    yaw = None
    if largest > 1:
        yaw = abs(float(np.abs(yaw_degrees(turns)).max()) / largest - 1)
    direction = None
    if lengths.max() > 1e-6:
        is_far = lengths > FAR * lengths.max()
        cosines = np.sum(ways * true_ways, axis=1) / np.maximum(np.linalg.norm(ways, axis=1) * lengths, 1e-12)
        direction = float(np.median(np.degrees(np.arccos(np.clip(cosines[is_far], -1, 1)))))
    return float(np.median(angles_degrees(turns, true_turns))), yaw, direction


def yaw_degrees(rotations: Floats) -> Floats:
    """Left is below 0."""
    return np.asarray(np.degrees(np.arctan2(rotations[..., 0, 2], rotations[..., 0, 0])))


def accuracy(clip: WorldClip) -> Accuracy:
    """Track one clip and compare."""
    perceiver = TrackedPoses().load()
    case = Case(id=clip.card.case, subset="", scene=clip.card.family)
    rollout = Rollout(case=case, model=clip.card.model, video=clip.video)
    start = time.process_time()
    with Video(clip.video) as video:
        watch = perceiver.start(rollout, video.timeline, {})
        for _, frame in video.frames([watch.request]):
            watch.add_frame(frame)
    seen = time.process_time()
    feature = watch.finish()
    end = time.process_time()
    tracked, truth = Trajectory.from_feature(feature), clip.trajectory()
    turn, yaw, direction = compare(tracked, truth)
    return Accuracy(
        model=str(feature.detail["model"]),
        turn=turn,
        yaw=yaw,
        direction=direction,
        focal=float(tracked.intrinsics[0, 0, 0] / truth.intrinsics[0, 0, 0]),
        seconds=end - start,
        ratio=(end - start) / (seen - start),
    )


def spread(values: Sequence[float | None]) -> str:
    """Median and 90th percentile."""
    known = [value for value in values if value is not None]
    return f"{np.median(known):7.3f} {np.quantile(known, 0.9):7.3f}" if known else f"{'-':>7} {'-':>7}"


def print_table(results: dict[str, list[Accuracy | Unmeasurable]]) -> None:
    """One line for each camera."""
    print(
        "camera            clips failed within   turn: median p90    yaw: median p90  direction: median p90   cost s  x"
    )
    for camera, found in results.items():
        measured = [one for one in found if isinstance(one, Accuracy)]
        within = sum(one.is_within_limits for one in measured) / len(found)
        print(
            f"{camera:22s} {len(found):5d} {len(found) - len(measured):6d} {within:6.2f}  "
            f"{spread([one.turn for one in measured])}   {spread([one.yaw for one in measured])}   "
            f"{spread([one.direction for one in measured])}   "
            f"{statistics.median(one.seconds for one in measured):7.2f} "
            f"{statistics.median(one.ratio for one in measured):5.2f}"
        )


def main() -> None:
    """Print every clip outside the limits, then the table."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder)
        if len(sys.argv) == 1:
            grid = Grid(families=tuple(FAMILIES), events=("none",), cameras=CAMERAS, seeds=(0,))
            render_set(grid.recipes(FORM), root, Inline())
        results: dict[str, list[Accuracy | Unmeasurable]] = defaultdict(list)
        for clip in open_world(root):
            try:
                found: Accuracy | Unmeasurable = accuracy(clip)
            except Unmeasurable as error:
                found = error
            results[f"{clip.card.camera} {clip.card.event}"].append(found)
            if not isinstance(found, Accuracy) or not found.is_within_limits:
                print(f"{clip.card.case}: {found!r}", flush=True)
        print_table(dict(sorted(results.items())))


if __name__ == "__main__":
    main()
