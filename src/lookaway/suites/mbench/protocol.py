"""MBench's public names, bound to measurements with MBench's constants. The protocol is this data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookaway.core import BoundMetric, Extractor, PairSelector
from lookaway.io.pose_files.checks import Convention
from lookaway.metrics.camera_interaction import CameraInteraction
from lookaway.metrics.fold_pairs import FoldPairs
from lookaway.metrics.rendering_lighting import RenderingLighting
from lookaway.metrics.segment_pairs import SegmentPairs
from lookaway.metrics.spatial_epipolar import SpatialEpipolar
from lookaway.metrics.spatial_reprojection import SpatialReprojection
from lookaway.perception.lab_means import LabMeans
from lookaway.perception.sift_matches import SiftMatches
from lookaway.perception.supplied_poses import SuppliedPoses

FOLD_PAIRS = FoldPairs(
    most=20, degrees_per_extent=180.0, fewest_posed_frames=8, margin=0.1, min_span_frames=2, negligible_extent=0.02
)
SEGMENT_PAIRS = SegmentPairs(
    most=5, edge_segments=2, distance_scale=0.1, angle_scale_degrees=10.0, min_span_frames=2, negligible_extent=0.02
)
# Depth Anything 3 itself writes world-to-camera; a dataset that stores the inverse says so in its dataset.yaml.
DEFAULT_CONVENTION: Convention = "world_to_camera"


def action_protocol(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    """Setting A: a camera action and one caption."""
    camera = BoundMetric(
        name="mbencha.causal.camera_interaction",
        metric=CameraInteraction(negligible_extent=0.02),
        recipes={"poses": _poses(settings)},
        subsets=("causal",),
    )
    return (*_environment("mbencha", FOLD_PAIRS, settings), camera)


def text_protocol(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    """Setting T: five caption segments."""
    return _environment("mbencht", SEGMENT_PAIRS, settings)


def _environment(prefix: str, pairs: PairSelector, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    poses = _poses(settings)
    matches = SiftMatches(poses=poses, pairs=pairs, height=480, keypoints=2048, ratio=0.8)
    lighting = RenderingLighting(pairs=pairs, lightness_weight=0.5, tau=10.0, segment_frames=8)
    spatial: dict[str, Extractor] = {"poses": poses, "matches": matches}
    light: dict[str, Extractor] = {"lab_means": LabMeans(height=240), "poses": poses}
    bindings = (
        ("spatial_epipolar", SpatialEpipolar(scale_pixels=1.0, negligible_baseline=1e-3), spatial),
        ("spatial_reprojection", SpatialReprojection(scale_pixels=1.0, negligible_baseline=1e-3), spatial),
        ("rendering_lighting", lighting, light),
    )
    return tuple(
        BoundMetric(name=f"{prefix}.environment.{name}", metric=metric, recipes=recipes, subsets=("environment",))
        for name, metric, recipes in bindings
    )


def _poses(settings: Mapping[str, Any]) -> SuppliedPoses:
    return SuppliedPoses(convention=settings.get("extrinsics_convention", DEFAULT_CONVENTION))
