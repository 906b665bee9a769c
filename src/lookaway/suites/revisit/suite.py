"""The suite for anybody's clips: a camera that looks away and comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lookaway.core import BoundMetric, Dataset, Extractor, Group, Option, Table
from lookaway.io.sampling import UniformFrames
from lookaway.metrics.camera_return import CameraCut, ReachMissing, ReturnError
from lookaway.metrics.revisit_numbers import (
    AlignedSsim,
    CarriedArea,
    ChangedArea,
    CopiedPoints,
    LightChange,
    LookChange,
    MovedPoints,
    Remembered,
    Undone,
)
from lookaway.metrics.revisit_pairs import RevisitPairs
from lookaway.perception.poses.requested_poses import RequestedPoses
from lookaway.perception.poses.tracked_poses import TrackedPoses
from lookaway.perception.revisit.revisit_changes import RevisitChanges
from lookaway.statistics.cells import gated_cells
from lookaway.suites.folder.layout import FolderReader, is_world, world_rollouts
from lookaway.suites.gate import revisited_gate
from lookaway.suites.options import ALLOW_OUTSIDE, PATTERN

POSES = TrackedPoses(frames=UniformFrames(48), height=256, keypoints=400)


class Revisit:
    """Any videos. Poses come from the frames, so that nothing else is needed."""

    name: ClassVar[str] = "revisit"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Revisit: does a place look the same when the camera comes back?"
    options: ClassVar[tuple[Option, ...]] = (PATTERN, ALLOW_OUTSIDE)

    def recognises(self, root: Path) -> bool:
        """No: it reads the same folders as `folder`, and is chosen by name."""
        return False

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """All rollouts of the manifest or of a simulated world, or all videos that match the pattern."""
        if options["pattern"] is None and is_world(root):
            rollouts, problems = world_rollouts(root)
        else:
            reader = FolderReader(root, options["pattern"], allow_outside=options["allow_outside"])
            rollouts, problems = reader.rollouts(), reader.problems
        return Dataset(suite=self.name, root=root, rollouts=rollouts, problems=tuple(problems))

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """The numbers of the return first, then those of the camera, then hints."""
        changes: dict[str, Extractor] = {"changes": RevisitChanges(poses=POSES, pairs=RevisitPairs())}
        camera: dict[str, Extractor] = {"poses": POSES, "request": RequestedPoses()}
        of_return = (Remembered(), ChangedArea(), LightChange(), LookChange(), AlignedSsim())
        hints = (MovedPoints(), CopiedPoints(), CarriedArea(), Undone())
        return (
            revisited_gate("revisited", POSES),
            *(
                BoundMetric(name=metric.name, metric=metric, recipes=changes, is_consistency=True)
                for metric in of_return
            ),
            BoundMetric(name="return_error", metric=ReturnError(), recipes=camera),
            BoundMetric(name="reach_missing", metric=ReachMissing(), recipes=camera),
            BoundMetric(name="cut", metric=CameraCut(), recipes={"poses": POSES}),
            *(BoundMetric(name=metric.name, metric=metric, recipes=changes) for metric in hints),
        )

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over tested rollouts, and the share that is tested."""
        return Table(suite=self.name, cells=gated_cells(groups))
