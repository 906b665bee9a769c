"""MemoBench's metrics, bound to measurements with MemoBench's constants. The protocol is this data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lookaway.core import BoundMetric, Extractor, Metric
from lookaway.io.phases import EveryInPhases, SpreadInPhases
from lookaway.io.sampling import AtFps, EveryFrame, SpreadFrames, UniformFrames
from lookaway.judges.question_verdicts import QuestionVerdicts
from lookaway.judges.question_writing import DIMENSIONS
from lookaway.metrics.camera_controllability import CameraControllability, ReferenceTurned, Rotation, RotationFollowed
from lookaway.metrics.frame_metrics import (
    AestheticQuality,
    ImageQuality,
    ImageReward,
    Lpips,
    Psnr,
    ReferenceRevisitSimilarity,
    Ssim,
)
from lookaway.metrics.judge_metrics import QuestionPassRate
from lookaway.metrics.object_texture import ObjectTexture
from lookaway.metrics.phase_mean import PhaseMean
from lookaway.metrics.reappearance import ReappearanceScore
from lookaway.metrics.seen_phases import DepthConsistency, MotionSmoothness, ObjectIdentity
from lookaway.perception.depth.depth_anything import DepthAnything
from lookaway.perception.masks.grounding_dino_boxes import GroundingDinoBoxes
from lookaway.perception.masks.sam2_track import Sam2Track
from lookaway.perception.masks.sam3_detections import Sam3Detections
from lookaway.perception.motion.warp_errors import RaftWarpErrors
from lookaway.perception.networks.fits import CentreCrop, WholeFrame
from lookaway.perception.phases import PhaseBounds, PhasedFrames, SpreadPartners
from lookaway.perception.poses.network_poses import MapAnythingPoses
from lookaway.perception.poses.reference_poses import ReferencePoses
from lookaway.perception.poses.tracked_poses import TrackedPoses
from lookaway.perception.quality.aesthetic_quality import LaionAesthetics, MlpAesthetics
from lookaway.perception.quality.clip_iqa import ClipIqa
from lookaway.perception.quality.image_reward import ImageRewards
from lookaway.perception.similarity.clip_similarity import ClipPairSimilarity
from lookaway.perception.similarity.compared_frames import GeneratedSize
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from lookaway.perception.similarity.frame_fidelity import LumaFidelity
from lookaway.perception.similarity.lpips_pairs import LpipsPairs
from lookaway.perception.similarity.region_embeddings import RegionEmbeddings
from lookaway.suites.gate import revisited_gate
from lookaway.suites.memobench.references import PHASES, REAPPEARED, VISIBLE
from lookaway.suites.two_protocols import FURTHER, two_protocols

SIZE: Final = GeneratedSize(640)
EQUAL_DB: Final = 99.0
"""PSNR of equal frames."""
SEEN: Final = (VISIBLE, REAPPEARED)
"""Phases in which the target is in view."""
SAMPLE_STEP: Final = 4
IDENTITY_FRAMES: Final = 9
DEPTH_FRAMES: Final = 3
"""Frames of each phase."""
REVISIT_PAIRS: Final = 3
REWARD_FRAMES: Final = 5
PUBLISHED_DEPTH_ROWS: Final = 518
SMOOTHNESS_TAU: Final = 0.15
MIN_TURN_DEGREES: Final = 90.0
POSES: Final = TrackedPoses(frames=UniformFrames(48), height=256, keypoints=400)
"""The camera of the gate, and by default of camera controllability: it needs no weights."""
REFERENCE_POSES: Final = ReferencePoses(layout="memobench")
HAS_BANKS: Final = "has_question_banks"
"""Setting of a dataset with files of questions."""


def protocol(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    """All metrics whose networks are here, as in the published code and without its defects."""
    gates = (revisited_gate("memobench.revisited", POSES),)
    return two_protocols(_metrics(settings, True), _metrics(settings, False), gates=gates)


def _metrics(settings: Mapping[str, Any], as_published: bool) -> tuple[BoundMetric, ...]:
    return (
        *_fidelity(as_published),
        *_consistency(as_published),
        *_reappearance(as_published),
        *_revisit_similarity(as_published),
        *_quality(as_published),
        *_reward(),
        *_camera(as_published),
        *(_questions(as_published) if settings.get(HAS_BANKS) else ()),
        *_further(as_published),
    )


def _fidelity(as_published: bool) -> tuple[BoundMetric, ...]:
    """PSNR, SSIM and LPIPS in each phase, then in the whole video: that begins like its reference, whatever follows."""
    by_phase = PhasedFrames(as_published=as_published)
    whole = PhasedFrames(as_published=as_published, is_linear=as_published)
    phases: dict[str, Extractor] = {"phases": PhaseBounds(as_published=as_published)}
    bound = []
    for phase in (*PHASES, None):
        compared = whole if phase is None else by_phase
        fidelity: dict[str, Extractor] = {"fidelity": LumaFidelity(compared=compared, canvas=SIZE)}
        lpips: dict[str, Extractor] = {"lpips": LpipsPairs(compared=compared, canvas=SIZE, trunk="alex")}
        metrics: tuple[tuple[Metric, dict[str, Extractor]], ...] = (
            (Psnr(ceiling_db=EQUAL_DB), fidelity),
            (Ssim(), fidelity),
            (Lpips(), lpips),
        )
        bound += [
            BoundMetric(
                name=f"memobench.{phase or 'all'}.{metric.name}",
                metric=metric if phase is None else PhaseMean(metric=metric, phase=phase),
                recipes=recipes if phase is None else {**recipes, **phases},
                is_consistency=phase != VISIBLE,
            )
            for metric, recipes in metrics
        ]
    return tuple(bound)


def _consistency(as_published: bool) -> tuple[BoundMetric, ...]:
    tokens = Dinov2Embeddings(
        frames=SpreadInPhases((REAPPEARED,), IDENTITY_FRAMES, with_first=True, as_published=as_published),
        fit=CentreCrop(256, 224) if as_published else WholeFrame(),
    )
    frames = SpreadInPhases(SEEN, DEPTH_FRAMES, as_published=as_published)
    depth = DepthAnything(frames=frames, height=PUBLISHED_DEPTH_ROWS) if as_published else DepthAnything(frames=frames)
    return (
        BoundMetric(
            name="memobench.object_identity",
            metric=ObjectIdentity(top_share=0.4),
            recipes={"tokens": tokens},
            is_consistency=True,
        ),
        BoundMetric(
            name="memobench.geo3d",
            metric=DepthConsistency(phases=SEEN, as_published=as_published),
            recipes={"inverse_depth": depth, "phases": PhaseBounds(as_published=as_published)},
            is_consistency=True,
        ),
    )


def _reappearance(as_published: bool) -> tuple[BoundMetric, ...]:
    detections = Sam3Detections(
        frames=EveryInPhases((REAPPEARED,), as_published=as_published),
        wording="published" if as_published else "subject",
    )
    return (
        BoundMetric(
            name="memobench.ors",
            metric=ReappearanceScore(min_score=0.0 if as_published else 0.5),
            recipes={"detections": detections},
            is_consistency=True,
        ),
    )


def _revisit_similarity(as_published: bool) -> tuple[BoundMetric, ...]:
    pairs = SpreadPartners(REAPPEARED, REVISIT_PAIRS, as_published)
    return (
        BoundMetric(
            name="memobench.gt_revisit_similarity",
            metric=ReferenceRevisitSimilarity(),
            recipes={"similarity": ClipPairSimilarity(compared=pairs, reduced=SIZE)},
            is_consistency=True,
        ),
    )


def _quality(as_published: bool) -> tuple[BoundMetric, ...]:
    """Motion smoothness in the phases that show the target, and what single frames look like."""
    errors = RaftWarpErrors(
        frames=EveryInPhases(SEEN, SAMPLE_STEP, as_published=as_published), size=SIZE, as_published=as_published
    )
    motion = BoundMetric(
        name="memobench.motion_smoothness",
        metric=MotionSmoothness(tau=SMOOTHNESS_TAU, phases=SEEN, as_published=as_published),
        recipes={"warp_errors": errors, "phases": PhaseBounds(as_published=as_published)},
        is_consistency=True,  # nothing is smoother than a video that stands still
    )
    quality = BoundMetric(
        name="memobench.image_quality",
        metric=ImageQuality(),
        recipes={"image_quality": ClipIqa(frames=EveryFrame(SAMPLE_STEP), canvas=SIZE)},
    )
    aesthetics = MlpAesthetics if as_published else LaionAesthetics
    recipe = aesthetics(frames=EveryFrame(SAMPLE_STEP), fit=CentreCrop(224, 224), canvas=SIZE)
    aesthetic = BoundMetric(name="memobench.aesthetic", metric=AestheticQuality(), recipes={"aesthetic": recipe})
    return (motion, quality, aesthetic)


def _reward() -> tuple[BoundMetric, ...]:
    recipe = ImageRewards(frames=SpreadFrames(REWARD_FRAMES), reduced=SIZE)
    return (BoundMetric(name="memobench.image_reward", metric=ImageReward(), recipes={"rewards": recipe}),)


def _camera(as_published: bool) -> tuple[BoundMetric, ...]:
    poses: Extractor = MapAnythingPoses(frames=EveryFrame(1)) if as_published else POSES
    rotation: Rotation = "net" if as_published else "path"
    return (
        BoundMetric(
            name="memobench.camera_controllability",
            metric=CameraControllability(rotation=rotation, floor_degrees=10.0),
            recipes={"poses": poses, "reference_poses": REFERENCE_POSES},
        ),
        BoundMetric(
            name=f"{FURTHER}rotation_followed",
            metric=RotationFollowed(),
            recipes={"poses": poses, "reference_poses": REFERENCE_POSES},
        ),
        # Not a gate of the table: it is about the reference, and would keep a video that stands still.
        BoundMetric(
            name="memobench.motion_gate",
            metric=ReferenceTurned(min_degrees=MIN_TURN_DEGREES, rotation=rotation),
            recipes={"reference_poses": REFERENCE_POSES},
        ),
    )


def _questions(as_published: bool) -> tuple[BoundMetric, ...]:
    """Pass rates of the questions of each dimension, all asked at once; the published judge samples one frame a second.

    A video that stands still keeps everything in place: all but the following of instructions count behind the gate.
    """
    verdicts = QuestionVerdicts(frames=AtFps(1.0 if as_published else 2.0))
    return tuple(
        BoundMetric(
            name=f"memobench.vqa.{dimension.lower().replace(' ', '_')}",
            metric=QuestionPassRate(dimension=dimension),
            recipes={"question_verdicts": verdicts},
            is_consistency=dimension != "Instruction Following",
        )
        for dimension in DIMENSIONS
    )


def _further(as_published: bool) -> tuple[BoundMetric, ...]:
    """What the paper says of identity, for the target alone: its own metric is about all that is most alike."""
    if as_published:
        return ()
    target = Sam2Track(frames=SpreadInPhases(SEEN, IDENTITY_FRAMES), prompt=GroundingDinoBoxes())
    return (
        BoundMetric(
            name=f"{FURTHER}object_texture",
            metric=ObjectTexture(),
            recipes={"regions": RegionEmbeddings(masks=target, embedding=Dinov2Embeddings())},
            is_consistency=True,
        ),
    )
