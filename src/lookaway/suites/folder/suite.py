"""The suite for a plain folder of videos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lookaway.core import BoundMetric, Dataset, Extractor, Group, Option, Table
from lookaway.metrics.camera_interaction import CameraInteraction
from lookaway.metrics.fold_pairs import FoldPairs
from lookaway.metrics.match_errors import SpatialEpipolar, SpatialReprojection
from lookaway.metrics.rendering_lighting import RenderingLighting
from lookaway.perception.poses.sift_matches import SiftMatches
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from lookaway.perception.quality.lab_means import LabMeans
from lookaway.statistics.cells import gated_cells
from lookaway.suites.folder.layout import FolderReader, is_world, world_rollouts
from lookaway.suites.gate import revisited_gate
from lookaway.suites.options import ALLOW_OUTSIDE, EXTRINSICS_CONVENTION, PATTERN


class Folder:
    """Any videos, with whatever metadata there is."""

    name: ClassVar[str] = "folder"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "A folder of videos: a manifest or a pattern of paths"
    options: ClassVar[tuple[Option, ...]] = (
        PATTERN,
        EXTRINSICS_CONVENTION,
        ALLOW_OUTSIDE,
    )

    def recognises(self, root: Path) -> bool:
        """Whether there is a manifest or a simulated world; bare videos are read if no other suite matches."""
        return (root / "manifest.jsonl").is_file() or (root / "manifest.csv").is_file() or is_world(root)

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """All rollouts of the manifest or of a simulated world, or all videos that match the pattern."""
        if options["pattern"] is None and is_world(root):
            rollouts, problems = world_rollouts(root)
        else:
            reader = FolderReader(root, options["pattern"], allow_outside=options["allow_outside"])
            rollouts, problems = reader.rollouts(), reader.problems
        return Dataset(suite=self.name, root=root, rollouts=rollouts, problems=tuple(problems))

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """Every metric without a network, for a camera that leaves and returns."""
        poses = SuppliedPoses(convention=settings.get("extrinsics_convention", "world_to_camera"))
        spatial: dict[str, Extractor] = {"poses": poses, "matches": SiftMatches(poses=poses, pairs=FoldPairs())}
        return (
            BoundMetric(
                name="rendering_lighting",
                metric=RenderingLighting(),
                recipes={"lab_means": LabMeans(), "poses": poses},
                is_consistency=True,
            ),
            BoundMetric(name="spatial_epipolar", metric=SpatialEpipolar(), recipes=spatial, is_consistency=True),
            BoundMetric(
                name="spatial_reprojection", metric=SpatialReprojection(), recipes=spatial, is_consistency=True
            ),
            BoundMetric(name="camera_interaction", metric=CameraInteraction(), recipes={"poses": poses}),
            revisited_gate("revisited", poses),
        )

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over rollouts that tested memory, with scene-clustered intervals, and the share of these."""
        return Table(suite=self.name, cells=gated_cells(groups))
