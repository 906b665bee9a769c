"""MemoBench's metrics, bound to measurements with MemoBench's constants: as its own code has them, and repaired."""

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
    VisualQuality,
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
SMOOTHNESS_TAU: Final = 0.15
MIN_TURN_DEGREES: Final = 90.0
POSES: Final = TrackedPoses(frames=UniformFrames(48), height=256, keypoints=400)
"""The camera of the gate, and of repaired camera controllability: it needs no weights."""
REFERENCE_POSES: Final = ReferencePoses(layout="memobench")
HAS_BANKS: Final = "has_question_banks"
"""Setting of a dataset with files of questions."""
AESTHETIC_RANGE: Final = (0.0, 10.0)
"""Scores that MemoBench's own code takes for 0 and 1; its paper has 1 to 10."""
TORCHVISION_CROP: Final = CentreCrop(224, 224, rounds_corner=True)
"""How the code's transforms of CLIP and ImageReward cut out the middle of a frame."""


def protocol(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    """All metrics whose networks are here: as in the code that made the published table, and without its defects."""
    gates = (revisited_gate("memobench.revisited", POSES),)
    return two_protocols(_published(settings), _corrected(settings), gates=gates)


def _published(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    """What MemoBench's code computes at f4edb0c."""
    frames = EveryFrame(SAMPLE_STEP)
    aesthetic = MlpAesthetics(frames=frames, fit=TORCHVISION_CROP, canvas=SIZE)
    return (
        *_fidelity(PhasedFrames(shares_ends=True), PhasedFrames(shares_ends=True, is_linear=True)),
        _object_identity(
            ObjectIdentity(top_share=0.4, repeats_to=IDENTITY_FRAMES),
            Dinov2Embeddings(
                frames=SpreadInPhases((REAPPEARED,), IDENTITY_FRAMES, with_first=True, shares_ends=True),
                fit=CentreCrop(256, 224, rounds_corner=True),
                reduced=SIZE,
            ),
        ),
        _geo3d(
            DepthConsistency(phases=SEEN, counts_short_phases=True, repeats_to=DEPTH_FRAMES),
            DepthAnything(frames=SpreadInPhases(SEEN, DEPTH_FRAMES, shares_ends=True), height=None, canvas=SIZE),
            PhaseBounds(shares_ends=True),
        ),
        _reappearance(
            ReappearanceScore(min_score=0.0),
            Sam3Detections(frames=EveryInPhases((REAPPEARED,), shares_ends=True), wording="clause"),
        ),
        _revisit_similarity(SpreadPartners(REAPPEARED, REVISIT_PAIRS, shares_ends=True), TORCHVISION_CROP),
        _motion_smoothness(
            MotionSmoothness(tau=SMOOTHNESS_TAU, phases=SEEN, averages_phases=True),
            RaftWarpErrors(
                frames=EveryInPhases(SEEN, SAMPLE_STEP, shares_ends=True),
                size=SIZE,
                samples_earlier=True,
                from_zero=True,
            ),
            PhaseBounds(shares_ends=True),
        ),
        BoundMetric(
            name="memobench.visual_quality",
            metric=VisualQuality(aesthetic_range=AESTHETIC_RANGE),
            recipes={"aesthetic": aesthetic, "image_quality": ClipIqa(frames=frames, canvas=SIZE)},
        ),
        *_quality(aesthetic),
        _reward(TORCHVISION_CROP),
        *_camera("net", MapAnythingPoses(frames=EveryFrame(1), reduced=SIZE)),
        *(_questions(AtFps(1.0), may_skip=True) if settings.get(HAS_BANKS) else ()),
    )


def _corrected(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    """The same with phases that do not overlap, the usual direction of a warp, whole frames and sure detections.

    The whole video is compared like its phases, so that the mean over it is that of theirs.
    """
    return (
        *_fidelity(PhasedFrames(), PhasedFrames()),
        _object_identity(
            ObjectIdentity(top_share=0.4),
            Dinov2Embeddings(frames=SpreadInPhases((REAPPEARED,), IDENTITY_FRAMES, with_first=True), fit=WholeFrame()),
        ),
        _geo3d(DepthConsistency(phases=SEEN), DepthAnything(frames=SpreadInPhases(SEEN, DEPTH_FRAMES)), PhaseBounds()),
        _reappearance(
            ReappearanceScore(min_score=0.5), Sam3Detections(frames=EveryInPhases((REAPPEARED,)), wording="subject")
        ),
        _revisit_similarity(SpreadPartners(REAPPEARED, REVISIT_PAIRS), CentreCrop(224, 224)),
        _motion_smoothness(
            MotionSmoothness(tau=SMOOTHNESS_TAU, phases=SEEN),
            RaftWarpErrors(frames=EveryInPhases(SEEN, SAMPLE_STEP), size=SIZE),
            PhaseBounds(),
        ),
        *_quality(LaionAesthetics(frames=EveryFrame(SAMPLE_STEP), fit=CentreCrop(224, 224), canvas=SIZE)),
        _reward(CentreCrop(224, 224)),
        *_camera("path", POSES),
        BoundMetric(
            name=f"{FURTHER}rotation_followed",
            metric=RotationFollowed(),
            recipes={"poses": POSES, "reference_poses": REFERENCE_POSES},
        ),
        *(_questions(AtFps(2.0)) if settings.get(HAS_BANKS) else ()),
        _object_texture(),
    )


def _fidelity(by_phase: PhasedFrames, whole: PhasedFrames) -> tuple[BoundMetric, ...]:
    """PSNR, SSIM and LPIPS in each phase, then in the whole video: that begins like its reference, whatever follows."""
    phases: dict[str, Extractor] = {"phases": PhaseBounds(shares_ends=by_phase.shares_ends)}
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


def _object_identity(metric: ObjectIdentity, tokens: Dinov2Embeddings) -> BoundMetric:
    return BoundMetric(name="memobench.object_identity", metric=metric, recipes={"tokens": tokens}, is_consistency=True)


def _geo3d(metric: DepthConsistency, depth: DepthAnything, phases: PhaseBounds) -> BoundMetric:
    recipes: dict[str, Extractor] = {"inverse_depth": depth, "phases": phases}
    return BoundMetric(name="memobench.geo3d", metric=metric, recipes=recipes, is_consistency=True)


def _reappearance(metric: ReappearanceScore, detections: Sam3Detections) -> BoundMetric:
    return BoundMetric(name="memobench.ors", metric=metric, recipes={"detections": detections}, is_consistency=True)


def _revisit_similarity(pairs: SpreadPartners, fit: CentreCrop) -> BoundMetric:
    return BoundMetric(
        name="memobench.gt_revisit_similarity",
        metric=ReferenceRevisitSimilarity(),
        recipes={"similarity": ClipPairSimilarity(compared=pairs, reduced=SIZE, fit=fit)},
        is_consistency=True,
    )


def _motion_smoothness(metric: MotionSmoothness, errors: RaftWarpErrors, phases: PhaseBounds) -> BoundMetric:
    return BoundMetric(
        name="memobench.motion_smoothness",
        metric=metric,
        recipes={"warp_errors": errors, "phases": phases},
        is_consistency=True,  # nothing is smoother than a video that stands still
    )


def _quality(aesthetic: LaionAesthetics) -> tuple[BoundMetric, ...]:
    """What single frames look like."""
    image_quality = ClipIqa(frames=EveryFrame(SAMPLE_STEP), canvas=SIZE)
    return (
        BoundMetric(name="memobench.image_quality", metric=ImageQuality(), recipes={"image_quality": image_quality}),
        BoundMetric(name="memobench.aesthetic", metric=AestheticQuality(), recipes={"aesthetic": aesthetic}),
    )


def _reward(fit: CentreCrop) -> BoundMetric:
    recipe = ImageRewards(frames=SpreadFrames(REWARD_FRAMES), reduced=SIZE, fit=fit)
    return BoundMetric(name="memobench.image_reward", metric=ImageReward(), recipes={"rewards": recipe})


def _camera(rotation: Rotation, poses: Extractor) -> tuple[BoundMetric, ...]:
    return (
        BoundMetric(
            name="memobench.camera_controllability",
            metric=CameraControllability(rotation=rotation, floor_degrees=10.0),
            recipes={"poses": poses, "reference_poses": REFERENCE_POSES},
        ),
        # Not a gate of the table: it is about the reference, and would keep a video that stands still.
        BoundMetric(
            name="memobench.motion_gate",
            metric=ReferenceTurned(min_degrees=MIN_TURN_DEGREES, rotation=rotation),
            recipes={"reference_poses": REFERENCE_POSES},
        ),
    )


def _questions(frames: AtFps, *, may_skip: bool = False) -> tuple[BoundMetric, ...]:
    """Pass rates of the questions of each dimension, all asked at once; the published judge samples one frame a second.

    In the code a question that a reply leaves out makes the denominator smaller. A video that stands still keeps
    everything in place: all but the following of instructions count behind the gate.
    """
    verdicts = QuestionVerdicts(frames=frames, may_skip=may_skip)
    return tuple(
        BoundMetric(
            name=f"memobench.vqa.{dimension.lower().replace(' ', '_')}",
            metric=QuestionPassRate(dimension=dimension),
            recipes={"question_verdicts": verdicts},
            is_consistency=dimension != "Instruction Following",
        )
        for dimension in DIMENSIONS
    )


def _object_texture() -> BoundMetric:
    """What the paper says of identity, for the target alone: its own metric is about all that is most alike."""
    target = Sam2Track(frames=SpreadInPhases(SEEN, IDENTITY_FRAMES), prompt=GroundingDinoBoxes())
    return BoundMetric(
        name=f"{FURTHER}object_texture",
        metric=ObjectTexture(),
        recipes={"regions": RegionEmbeddings(masks=target, embedding=Dinov2Embeddings())},
        is_consistency=True,
    )
