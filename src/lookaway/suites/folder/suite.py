"""The suite of all metrics without a network, for a plain folder of videos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lookaway.core import BoundMetric, Dataset, Extractor, Group, Metric, Option, Table
from lookaway.metrics.camera_interaction import CameraFollowing, CameraInteraction, CameraLeakage
from lookaway.metrics.fold_pairs import FoldPairs
from lookaway.metrics.match_errors import SpatialEpipolar, SpatialReprojection
from lookaway.metrics.match_shares import SpatialCapped, SpatialMatched, SpatialWithin
from lookaway.metrics.rendering_lighting import RenderingLighting, RenderingLightingSeconds
from lookaway.perception.poses.sift_matches import SiftMatches
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from lookaway.perception.quality.lab_means import LabMeans
from lookaway.statistics.cells import branch_notes, gated_cells
from lookaway.suites.folder.layout import read_videos
from lookaway.suites.gate import revisited_gate
from lookaway.suites.options import ALLOW_OUTSIDE, EXTRINSICS_CONVENTION, PATTERN


class Folder:
    """Any videos, with whatever metadata there is."""

    name: ClassVar[str] = "folder"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "A folder of videos: light, matches and camera, by supplied poses"
    options: ClassVar[tuple[Option, ...]] = (
        PATTERN,
        EXTRINSICS_CONVENTION,
        ALLOW_OUTSIDE,
    )

    def recognises(self, root: Path) -> bool:
        """Never: it is chosen by name, since `revisit` reads the same folders."""
        return False

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """All rollouts of the manifest or of a simulated world, or all videos that match the pattern."""
        rollouts, problems = read_videos(root, options["pattern"], allow_outside=options["allow_outside"])
        return Dataset(suite=self.name, root=root, rollouts=rollouts, problems=tuple(problems))

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """Every metric without a network, for a camera that leaves and returns."""
        poses = SuppliedPoses(convention=settings.get("extrinsics_convention", "world_to_camera"))
        matches = SiftMatches(poses=poses, pairs=FoldPairs())
        light: dict[str, Extractor] = {"lab_means": LabMeans(), "poses": poses}
        spatial: dict[str, Extractor] = {"poses": poses, "matches": matches}
        camera: dict[str, Extractor] = {"poses": poses}
        consistency: tuple[tuple[str, Metric, dict[str, Extractor]], ...] = (
            ("rendering_lighting", RenderingLighting(), light),
            ("rendering_lighting_seconds", RenderingLightingSeconds(), light),
            ("spatial_epipolar", SpatialEpipolar(), spatial),
            ("spatial_reprojection", SpatialReprojection(), spatial),
            ("spatial_matched", SpatialMatched(), {"matches": matches}),
            ("spatial_within_2px", SpatialWithin(camera="turns"), spatial),
            ("spatial_within_2px_moving", SpatialWithin(camera="moves"), spatial),
            ("spatial_capped", SpatialCapped(camera="turns"), spatial),
            ("spatial_capped_moving", SpatialCapped(camera="moves"), spatial),
        )
        following: tuple[Metric, ...] = (CameraInteraction(), CameraFollowing(), CameraLeakage())
        return (
            *(
                BoundMetric(name=name, metric=metric, recipes=recipes, is_consistency=True)
                for name, metric, recipes in consistency
            ),
            *(BoundMetric(name=metric.name, metric=metric, recipes=camera) for metric in following),
            revisited_gate("revisited", poses),
        )

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over rollouts that tested memory, with scene-clustered intervals, and the share of these."""
        return Table(suite=self.name, cells=gated_cells(groups), notes=branch_notes(groups))
