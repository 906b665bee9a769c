"""MBench's public names, bound to measurements with MBench's constants. The protocols are this data.

MBench released no scorer. A published name therefore has the reading of the paper's numbered equation, then of its
README; a corrected one has our repair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from lookaway.core import BoundMetric, Extractor, Metric, PairSelector, Sampler
from lookaway.io.pose_files.checks import Convention
from lookaway.io.pose_files.source import PosedFrames
from lookaway.io.sampling import BySegment, EveryFrame, OverSegments, UniformFrames
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
ACTION, TEXT = "mbencha", "mbencht"
"""How names of the two settings begin."""
REPAIRED_FOLD_PAIRS = FoldPairs(
    most=20, degrees_per_extent=180.0, min_posed_frames=8, margin=0.1, min_span_frames=2, negligible_extent=0.02
)
FOLD_PAIRS = replace(REPAIRED_FOLD_PAIRS, shares_no_partner=False, divides_by_extent=False)
"""Equation 18."""
REPAIRED_SEGMENT_PAIRS = SegmentPairs(
    most=5,
    edge_segments=2,
    untold_segments=5,
    distance_scale=0.1,
    angle_scale_degrees=10.0,
    min_span_frames=2,
    negligible_extent=0.02,
)
SEGMENT_PAIRS = replace(REPAIRED_SEGMENT_PAIRS, divides_by_extent=False)
"""Appendix B.1."""
ACTION_FRAMES, TEXT_FRAMES = UniformFrames(32), OverSegments(32)
"""Frames in which people and things are looked for."""
EVERY_POSED_FRAME = PosedFrames(EveryFrame())
"""Appendix B.1: poses of every frame, of which fold pairs are chosen."""
MEMORY_SUBSETS = ("human", "object", "environment")
"""Subsets whose metrics compare what is shown before and after looking away."""
STYLE_FRAMES = UniformFrames(32)
JUDGED_FRAMES = UniformFrames(8)
# Depth Anything 3 itself writes world-to-camera. Datasets say otherwise, or are put to a test when they are read.
DEFAULT_CONVENTION: Convention = "world_to_camera"


def action_protocol(settings: Mapping[str, Any], poses: Extractor | None = None) -> tuple[BoundMetric, ...]:
    """Setting A: a camera action and one caption. Poses are the supplied ones, unless others are named."""
    poses = poses or _poses(settings)
    gate = revisited_gate(f"{ACTION}.revisited", poses, MEMORY_SUBSETS)
    return two_protocols(_published_action(poses), _corrected_action(poses), gates=(gate,))


def text_protocol(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    """Setting T: five caption segments, and a gate for each subset."""
    poses = _poses(settings)
    return two_protocols(_published_text(poses), _corrected_text(poses))


def _published_action(poses: Extractor) -> tuple[BoundMetric, ...]:
    whole = Sam2Track(frames=EVERY_POSED_FRAME)
    return (
        *_published_people(ACTION, BuffaloFaces(frames=ACTION_FRAMES)),
        *_published_object(ACTION, Sam2Track(frames=PosedFrames(ACTION_FRAMES)), _warped(poses, whole, FOLD_PAIRS)),
        *_published_environment(ACTION, poses, FOLD_PAIRS),
        *_causal(ACTION, ProgressCorrectness(raw_is_product=True)),
        # Equations 16 and 17.
        _camera(
            f"{ACTION}.causal.camera_interaction",
            CameraInteraction(negligible_turn_degrees=0.0, negligible_extent=0.0, divides_by_extent=False),
            poses,
        ),
    )


def _corrected_action(poses: Extractor) -> tuple[BoundMetric, ...]:
    return (
        *_corrected_people(ACTION, BuffaloFaces(frames=ACTION_FRAMES)),
        *_corrected_object(ACTION, Sam2Track(frames=PosedFrames(ACTION_FRAMES)), poses, REPAIRED_FOLD_PAIRS),
        *_corrected_environment(ACTION, poses, REPAIRED_FOLD_PAIRS),
        *_causal(ACTION, ProgressCorrectness()),
        _camera(f"{ACTION}.causal.camera_interaction", CameraInteraction(negligible_extent=0.02), poses),
        _camera(f"{FURTHER}causal.camera_following", CameraFollowing(negligible_extent=0.02), poses),
        _camera(f"{FURTHER}causal.camera_leakage", CameraLeakage(negligible_extent=0.02), poses),
    )


def _published_text(poses: Extractor) -> tuple[BoundMetric, ...]:
    # Appendix B.3: the box that Grounding DINO finds is a point prompt of SAM 2.
    target = Sam2Track(frames=PosedFrames(TEXT_FRAMES), prompt=GroundingDinoBoxes(), point=True)
    return (
        *_published_people(TEXT, BuffaloFaces(frames=TEXT_FRAMES)),
        *_published_object(TEXT, target, _warped(poses, target, SEGMENT_PAIRS)),
        *_published_environment(TEXT, poses, SEGMENT_PAIRS),
        *_triggered(_causal(TEXT, ProgressCorrectness(raw_is_product=True))),
        *_triggers(),
    )


def _corrected_text(poses: Extractor) -> tuple[BoundMetric, ...]:
    target = Sam2Track(frames=PosedFrames(TEXT_FRAMES), prompt=GroundingDinoBoxes())
    return (
        *_corrected_people(TEXT, BuffaloFaces(frames=TEXT_FRAMES)),
        *_corrected_object(TEXT, target, poses, REPAIRED_SEGMENT_PAIRS),
        *_corrected_environment(TEXT, poses, REPAIRED_SEGMENT_PAIRS),
        *_triggered(_causal(TEXT, ProgressCorrectness())),
        *_triggers(),
    )


def _published_people(prefix: str, faces: BuffaloFaces) -> tuple[BoundMetric, ...]:
    """Equation 6: the mean over all tracks of the cosine with the mean of embeddings as they are."""
    identity = HumanIdentity(min_cosine=0.15, counts_single_sights=True, weighs_alike=False)
    appearance = HumanAppearance(min_cosine=0.15, counts_single_sights=True, weighs_alike=False)
    return _people(prefix, identity, appearance, faces)


def _corrected_people(prefix: str, faces: BuffaloFaces) -> tuple[BoundMetric, ...]:
    return _people(prefix, HumanIdentity(min_cosine=0.15), HumanAppearance(min_cosine=0.15), faces)


def _published_object(prefix: str, target: Sam2Track, warped: WarpedSimilarity) -> tuple[BoundMetric, ...]:
    """Equations 5 and 4."""
    texture = ObjectTexture(counts_single_sights=True, weighs_alike=False)
    return _object(prefix, texture, target, replace(warped, blacks_out=True))


def _corrected_object(prefix: str, target: Sam2Track, poses: Extractor, pairs: PairSelector) -> tuple[BoundMetric, ...]:
    return _object(prefix, ObjectTexture(), target, _warped(poses, target, pairs))


def _published_environment(prefix: str, poses: Extractor, pairs: PairSelector) -> tuple[BoundMetric, ...]:
    # Equation 13: every frame with the one before.
    bindings = _spatial_and_rendering(poses, pairs, style_frames=EveryFrame())
    return _consistency(f"{prefix}.environment.", bindings, "environment")


def _corrected_environment(prefix: str, poses: Extractor, pairs: PairSelector) -> tuple[BoundMetric, ...]:
    matches = _matches(poses, pairs)
    spatial: dict[str, Extractor] = {"poses": poses, "matches": matches}
    seconds = RenderingLightingSeconds(pairs=pairs, lightness_weight=0.5, tau=10.0, segment_seconds=0.5)
    further: Bindings = (
        ("spatial_matched", SpatialMatched(), {"matches": matches}),
        ("spatial_within_2px", SpatialWithin(camera="turns", limit_pixels=2.0), spatial),
        ("spatial_within_2px_moving", SpatialWithin(camera="moves", limit_pixels=2.0), spatial),
        ("spatial_capped", SpatialCapped(camera="turns", cap_pixels=5.0), spatial),
        ("spatial_capped_moving", SpatialCapped(camera="moves", cap_pixels=5.0), spatial),
        ("rendering_lighting_seconds", seconds, _light(poses)),
    )
    return (
        *_consistency(f"{prefix}.environment.", _spatial_and_rendering(poses, pairs, STYLE_FRAMES), "environment"),
        *_consistency(f"{FURTHER}environment.", further, "environment"),
    )


def _people(
    prefix: str, identity: HumanIdentity, appearance: HumanAppearance, faces: BuffaloFaces
) -> tuple[BoundMetric, ...]:
    body_masks = Sam2Masks(boxes=BodyBoxes(faces=faces, widths=3.5, heights=7.0, above=0.5))
    bodies = RegionEmbeddings(masks=body_masks, embedding=Dinov2Embeddings())
    bindings: Bindings = (
        ("human_identity_consistency", identity, {"faces": faces}),
        ("human_appearance_consistency", appearance, {"faces": faces, "bodies": bodies}),
    )
    return _consistency(f"{prefix}.entity.", bindings, "human")


def _object(
    prefix: str, texture: ObjectTexture, target: Sam2Track, warped: WarpedSimilarity
) -> tuple[BoundMetric, ...]:
    regions = RegionEmbeddings(masks=target, embedding=Dinov2Embeddings())
    bindings: Bindings = (
        ("object_texture_consistency", texture, {"regions": regions}),
        ("object_geometry_consistency", ObjectGeometry(), {"warped_similarity": warped}),
    )
    return _consistency(f"{prefix}.entity.", bindings, "object")


def _spatial_and_rendering(poses: Extractor, pairs: PairSelector, style_frames: Sampler) -> Bindings:
    """Equations 7 to 13."""
    # What LPIPS and DINOv2 are for is not said: they stand beside the score.
    style: dict[str, Extractor] = {
        "style": VggStyle(frames=style_frames),
        "lpips": LpipsSteps(frames=style_frames),
        "dinov2": Dinov2Embeddings(frames=style_frames, patches=False),
    }
    spatial: dict[str, Extractor] = {"poses": poses, "matches": _matches(poses, pairs)}
    lighting = RenderingLighting(pairs=pairs, lightness_weight=0.5, tau=10.0, segment_frames=8)
    return (
        ("spatial_epipolar", SpatialEpipolar(scale_pixels=1.0, negligible_baseline=1e-3), spatial),
        ("spatial_reprojection", SpatialReprojection(scale_pixels=1.0, negligible_baseline=1e-3), spatial),
        ("rendering_style", RenderingStyle(), style),
        ("rendering_lighting", lighting, _light(poses)),
    )


def _consistency(start: str, bindings: Bindings, subset: str) -> tuple[BoundMetric, ...]:
    return tuple(
        BoundMetric(name=f"{start}{name}", metric=metric, recipes=recipes, subsets=(subset,), is_consistency=True)
        for name, metric, recipes in bindings
    )


def _causal(prefix: str, correctness: ProgressCorrectness) -> tuple[BoundMetric, ...]:
    """Equations 14 and 15."""
    progress, correct = ProgressRating(frames=JUDGED_FRAMES), CorrectnessRating(frames=JUDGED_FRAMES)
    bindings: Bindings = (
        ("prompt_interaction", PromptInteraction(), {"similarity": ClipSimilarity(frames=BySegment(8))}),
        ("state_progress", StateProgress(), {"progress_rating": progress}),
        ("progress_correctness", correctness, {"progress_rating": progress, "correctness_rating": correct}),
    )
    return tuple(
        BoundMetric(name=f"{prefix}.causal.{name}", metric=metric, recipes=recipes, subsets=("causal",))
        for name, metric, recipes in bindings
    )


def _camera(name: str, metric: Metric, poses: Extractor) -> BoundMetric:
    return BoundMetric(name=name, metric=metric, recipes={"poses": poses}, subsets=("causal",))


def _triggered(metrics: tuple[BoundMetric, ...]) -> tuple[BoundMetric, ...]:
    """In setting T only triggered rollouts count, whatever is measured."""
    return tuple(replace(bound, is_consistency=True) for bound in metrics)


def _triggers() -> tuple[BoundMetric, ...]:
    return tuple(
        BoundMetric(
            name=f"{TEXT}.{subset}.trigger",
            metric=Triggered(),
            recipes={"trigger_verdict": TriggerVerdict.about(subset, frames=JUDGED_FRAMES)},
            subsets=(subset,),
            is_gate=True,
        )
        for subset in ("human", "object", "environment", "causal")
    )


def _warped(poses: Extractor, masks: Sam2Track, pairs: PairSelector) -> WarpedSimilarity:
    depth = SuppliedDepth(frames=masks.frames, height=160)
    return WarpedSimilarity(poses=poses, depth=depth, masks=masks, pairs=pairs, height=480, window=7, sigma=1.5)


def _matches(poses: Extractor, pairs: PairSelector) -> SiftMatches:
    return SiftMatches(poses=poses, pairs=pairs, height=480, keypoints=2048, ratio=0.8)


def _light(poses: Extractor) -> dict[str, Extractor]:
    return {"lab_means": LabMeans(height=240), "poses": poses}


def _poses(settings: Mapping[str, Any]) -> SuppliedPoses:
    return SuppliedPoses(convention=settings.get("extrinsics_convention", DEFAULT_CONVENTION))
