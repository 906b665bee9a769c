"""MBench's public names, bound to measurements with MBench's constants. The protocol is this data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from lookaway.core import BoundMetric, Extractor, Metric, PairSelector, Sampler
from lookaway.io.pose_files.checks import Convention
from lookaway.io.pose_files.source import PosedFrames
from lookaway.io.sampling import BySegment, OverSegments, UniformFrames
from lookaway.judges.rating import CorrectnessRating, ProgressRating
from lookaway.judges.trigger_verdict import TriggerVerdict
from lookaway.metrics.camera_interaction import CameraFollowing, CameraInteraction, CameraLeakage
from lookaway.metrics.fold_pairs import FoldPairs
from lookaway.metrics.gates import Triggered
from lookaway.metrics.human_appearance import HumanAppearance
from lookaway.metrics.human_identity import HumanIdentity
from lookaway.metrics.judge_metrics import ProgressCorrectness, StateProgress
from lookaway.metrics.match_errors import SpatialEpipolar, SpatialReprojection
from lookaway.metrics.match_shares import SpatialCapped, SpatialMatched, SpatialWithin
from lookaway.metrics.object_geometry import ObjectGeometry
from lookaway.metrics.object_texture import ObjectTexture
from lookaway.metrics.prompt_interaction import PromptInteraction
from lookaway.metrics.rendering_lighting import RenderingLighting, RenderingLightingSeconds
from lookaway.metrics.rendering_style import RenderingStyle
from lookaway.metrics.segment_pairs import SegmentPairs
from lookaway.perception.depth.supplied_depth import SuppliedDepth
from lookaway.perception.faces.buffalo_faces import BuffaloFaces
from lookaway.perception.masks.body_boxes import BodyBoxes
from lookaway.perception.masks.grounding_dino_boxes import GroundingDinoBoxes
from lookaway.perception.masks.sam2_masks import Sam2Masks
from lookaway.perception.masks.sam2_track import Sam2Track
from lookaway.perception.poses.sift_matches import SiftMatches
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from lookaway.perception.quality.lab_means import LabMeans
from lookaway.perception.similarity.clip_similarity import ClipSimilarity
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from lookaway.perception.similarity.lpips_steps import LpipsSteps
from lookaway.perception.similarity.region_embeddings import RegionEmbeddings
from lookaway.perception.similarity.vgg_style import VggStyle
from lookaway.perception.similarity.warped_similarity import WarpedSimilarity
from lookaway.suites.gate import revisited_gate
from lookaway.suites.two_protocols import FURTHER, two_protocols

Bindings: TypeAlias = tuple[tuple[str, Metric, Mapping[str, Extractor]], ...]
"""Name, metric and recipes."""
FOLD_PAIRS = FoldPairs(
    most=20, degrees_per_extent=180.0, min_posed_frames=8, margin=0.1, min_span_frames=2, negligible_extent=0.02
)
SEGMENT_PAIRS = SegmentPairs(
    most=5,
    edge_segments=2,
    untold_segments=5,
    distance_scale=0.1,
    angle_scale_degrees=10.0,
    min_span_frames=2,
    negligible_extent=0.02,
)
ENTITY_FRAMES = 32
MEMORY_SUBSETS = ("human", "object", "environment")
"""Subsets whose metrics compare what is shown before and after looking away."""
STYLE_FRAMES = UniformFrames(32)
JUDGED_FRAMES = UniformFrames(8)
# Depth Anything 3 itself writes world-to-camera. Datasets say otherwise, or are put to a test when they are read.
DEFAULT_CONVENTION: Convention = "world_to_camera"


def action_protocol(settings: Mapping[str, Any], poses: Extractor | None = None) -> tuple[BoundMetric, ...]:
    """Setting A: a camera action and one caption. Poses are the supplied ones, unless others are named."""
    gate = revisited_gate("mbencha.revisited", poses or _poses(settings), MEMORY_SUBSETS)
    return two_protocols(_action_metrics(settings, poses), _action_metrics(settings, poses), gates=(gate,))


def _action_metrics(settings: Mapping[str, Any], poses: Extractor | None) -> tuple[BoundMetric, ...]:
    frames, poses = UniformFrames(ENTITY_FRAMES), poses or _poses(settings)
    bindings = (
        ("mbencha.causal.camera_interaction", CameraInteraction(negligible_extent=0.02)),
        (f"{FURTHER}causal.camera_following", CameraFollowing(negligible_extent=0.02)),
        (f"{FURTHER}causal.camera_leakage", CameraLeakage(negligible_extent=0.02)),
    )
    camera = (
        BoundMetric(name=name, metric=metric, recipes={"poses": poses}, subsets=("causal",))
        for name, metric in bindings
    )
    return (
        *_entity("mbencha", frames, Sam2Track(frames=PosedFrames(frames)), FOLD_PAIRS, poses),
        *_environment("mbencha", FOLD_PAIRS, poses),
        *_causal("mbencha"),
        *camera,
    )


def text_protocol(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    """Setting T: five caption segments, and a gate for each subset."""
    return two_protocols(_text_metrics(settings), _text_metrics(settings))


def _text_metrics(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    frames = OverSegments(ENTITY_FRAMES)
    gates = (
        BoundMetric(
            name=f"mbencht.{subset}.trigger",
            metric=Triggered(),
            recipes={"trigger_verdict": TriggerVerdict.about(subset, frames=JUDGED_FRAMES)},
            subsets=(subset,),
            is_gate=True,
        )
        for subset in ("human", "object", "environment", "causal")
    )
    target = Sam2Track(frames=PosedFrames(frames), prompt=GroundingDinoBoxes())
    return (
        *_entity("mbencht", frames, target, SEGMENT_PAIRS, _poses(settings)),
        *_environment("mbencht", SEGMENT_PAIRS, _poses(settings)),
        # In setting T only triggered rollouts count, whatever is measured.
        *(replace(bound, is_consistency=True) for bound in _causal("mbencht")),
        *gates,
    )


def _entity(
    prefix: str, frames: Sampler, target: Sam2Track, pairs: PairSelector, poses: Extractor
) -> tuple[BoundMetric, ...]:
    faces = BuffaloFaces(frames=frames)
    body_masks = Sam2Masks(boxes=BodyBoxes(faces=faces, widths=3.5, heights=7.0, above=0.5))
    bodies = RegionEmbeddings(masks=body_masks, embedding=Dinov2Embeddings())
    regions = RegionEmbeddings(masks=target, embedding=Dinov2Embeddings())
    geometry = WarpedSimilarity(
        poses=poses,
        depth=SuppliedDepth(frames=PosedFrames(frames), height=160),
        masks=target,
        pairs=pairs,
        height=480,
        window=7,
        sigma=1.5,
    )
    return (
        BoundMetric(
            name=f"{prefix}.entity.human_identity_consistency",
            metric=HumanIdentity(min_cosine=0.15),
            recipes={"faces": faces},
            subsets=("human",),
            is_consistency=True,
        ),
        BoundMetric(
            name=f"{prefix}.entity.human_appearance_consistency",
            metric=HumanAppearance(min_cosine=0.15),
            recipes={"faces": faces, "bodies": bodies},
            subsets=("human",),
            is_consistency=True,
        ),
        BoundMetric(
            name=f"{prefix}.entity.object_texture_consistency",
            metric=ObjectTexture(),
            recipes={"regions": regions},
            subsets=("object",),
            is_consistency=True,
        ),
        BoundMetric(
            name=f"{prefix}.entity.object_geometry_consistency",
            metric=ObjectGeometry(),
            recipes={"warped_similarity": geometry},
            subsets=("object",),
            is_consistency=True,
        ),
    )


def _environment(prefix: str, pairs: PairSelector, poses: Extractor) -> tuple[BoundMetric, ...]:
    matches = SiftMatches(poses=poses, pairs=pairs, height=480, keypoints=2048, ratio=0.8)
    lighting = RenderingLighting(pairs=pairs, lightness_weight=0.5, tau=10.0, segment_frames=8)
    spatial: dict[str, Extractor] = {"poses": poses, "matches": matches}
    light: dict[str, Extractor] = {"lab_means": LabMeans(height=240), "poses": poses}
    style: dict[str, Extractor] = {
        "style": VggStyle(frames=STYLE_FRAMES),
        "lpips": LpipsSteps(frames=STYLE_FRAMES),
        "dinov2": Dinov2Embeddings(frames=STYLE_FRAMES, patches=False),
    }
    seconds = RenderingLightingSeconds(pairs=pairs, lightness_weight=0.5, tau=10.0, segment_seconds=0.5)
    published: Bindings = (
        ("spatial_epipolar", SpatialEpipolar(scale_pixels=1.0, negligible_baseline=1e-3), spatial),
        ("spatial_reprojection", SpatialReprojection(scale_pixels=1.0, negligible_baseline=1e-3), spatial),
        ("rendering_style", RenderingStyle(), style),
        ("rendering_lighting", lighting, light),
    )
    further: Bindings = (
        ("spatial_matched", SpatialMatched(), {"matches": matches}),
        ("spatial_within_2px", SpatialWithin(camera="turns", limit_pixels=2.0), spatial),
        ("spatial_within_2px_moving", SpatialWithin(camera="moves", limit_pixels=2.0), spatial),
        ("spatial_capped", SpatialCapped(camera="turns", cap_pixels=5.0), spatial),
        ("spatial_capped_moving", SpatialCapped(camera="moves", cap_pixels=5.0), spatial),
        ("rendering_lighting_seconds", seconds, light),
    )
    names = (*(f"{prefix}.environment." for _ in published), *(f"{FURTHER}environment." for _ in further))
    return tuple(
        BoundMetric(
            name=f"{start}{name}", metric=metric, recipes=recipes, subsets=("environment",), is_consistency=True
        )
        for start, (name, metric, recipes) in zip(names, (*published, *further), strict=True)
    )


def _causal(prefix: str) -> tuple[BoundMetric, ...]:
    progress, correctness = ProgressRating(frames=JUDGED_FRAMES), CorrectnessRating(frames=JUDGED_FRAMES)
    both: dict[str, Extractor] = {"progress_rating": progress, "correctness_rating": correctness}
    bindings = (
        ("prompt_interaction", PromptInteraction(), {"similarity": ClipSimilarity(frames=BySegment(8))}),
        ("state_progress", StateProgress(), {"progress_rating": progress}),
        ("progress_correctness", ProgressCorrectness(), both),
    )
    return tuple(
        BoundMetric(name=f"{prefix}.causal.{name}", metric=metric, recipes=recipes, subsets=("causal",))
        for name, metric, recipes in bindings
    )


def _poses(settings: Mapping[str, Any]) -> SuppliedPoses:
    return SuppliedPoses(convention=settings.get("extrinsics_convention", DEFAULT_CONVENTION))
