"""MIND's public names, bound to measurements with MIND's constants. The protocol is this data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lookaway.core import BoundMetric, ComparedFrames, Extractor
from lookaway.metrics.frame_metrics import AestheticQuality, FeatureError, ImagingQuality, Lpips, Mse, Psnr, Ssim
from lookaway.metrics.relative_pose import RelativeRotationError, RelativeTranslationError
from lookaway.perception.poses.reference_poses import ReferencePoses
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from lookaway.perception.poses.vipe_poses import VipePoses
from lookaway.perception.quality.aesthetic_quality import LaionAesthetics
from lookaway.perception.quality.musiq_quality import MusiqQuality
from lookaway.perception.similarity.compared_frames import Canvas, MirroredFrames, ReferenceFrames
from lookaway.perception.similarity.dinov3_embeddings import Dinov3Error
from lookaway.perception.similarity.frame_fidelity import FrameFidelity
from lookaway.perception.similarity.lpips_pairs import LpipsPairs
from lookaway.suites.gate import revisited_gate
from lookaway.suites.mind.layout import COMPARED_TESTS, MIRROR_TEST, PERSPECTIVES
from lookaway.suites.two_protocols import two_protocols

CANVAS: Final = Canvas(720, 1280)
COMPARED: Final = tuple(f"{perspective}/{test}" for perspective in PERSPECTIVES for test in COMPARED_TESTS)
MIRRORED: Final = tuple(f"{perspective}/{MIRROR_TEST}" for perspective in PERSPECTIVES)
DROPPED_BATCH: Final = 100
"""The published code ignores the last batch of a clip."""
CEILING_DB: Final = 100.0
"""PSNR of equal frames as corrected; the published code writes infinity, which is no score."""
POSED_FRAMES: Final = 97
ASSUMED_FOV_DEGREES: Final = 90.0
"""`images.txt` has no intrinsics, and camera motion does not depend on them."""
POSES: Final = SuppliedPoses(layout="colmap", first_frame_number=None, assumed_fov_degrees=ASSUMED_FOV_DEGREES)
PUBLISHED_ALIGNMENT: Final = "sim3"
"""Alignment of camera paths in the published code, and by default."""


def protocol(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    """All metrics: as the published code has them, and without its defects."""
    gates = (revisited_gate("mind.revisited", POSES, MIRRORED),)
    return two_protocols(_published(settings), _corrected(settings), gates=gates)


def _published(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    frames = ReferenceFrames(most=settings.get("video_max_time"), dropped_batch=DROPPED_BATCH, stated_end=True)
    return (
        *_similarity("lcm", frames, COMPARED, Psnr(ceiling_db=None)),
        _imaging(frames),
        _aesthetic(LaionAesthetics(frames=frames, canvas=CANVAS, halves_on_gpu=True)),
        _dino(Dinov3Error(compared=frames, canvas=CANVAS, rescales_twice=True)),
        *_action(
            settings,
            VipePoses(first_frames=POSED_FRAMES, is_made_beforehand=True),
            ReferencePoses(layout="colmap", assumed_fov_degrees=ASSUMED_FOV_DEGREES, counts_images=True),
            published_groups=True,
            needs_whole_reference=True,
        ),
        *published_mirror(),
    )


def _corrected(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    frames = ReferenceFrames(most=settings.get("video_max_time"))
    return (
        *_similarity("lcm", frames, COMPARED, Psnr(ceiling_db=CEILING_DB)),
        _imaging(frames),
        _aesthetic(LaionAesthetics(frames=frames, canvas=CANVAS)),
        _dino(Dinov3Error(compared=frames, canvas=CANVAS)),
        *_action(settings, POSES, ReferencePoses(layout="colmap", assumed_fov_degrees=ASSUMED_FOV_DEGREES)),
        *corrected_mirror(),
    )


def published_mirror() -> tuple[BoundMetric, ...]:
    """Frames of a path that is retraced, each with its mirror image in time; an odd number of them is an error."""
    frames = MirroredFrames(even_only=True)
    return _similarity("gsc", frames, MIRRORED, Psnr(ceiling_db=None), is_consistency=True)


def corrected_mirror() -> tuple[BoundMetric, ...]:
    """The same, without the middle one of an odd number."""
    return _similarity("gsc", MirroredFrames(), MIRRORED, Psnr(ceiling_db=CEILING_DB), is_consistency=True)


def _similarity(
    family: str, compared: ComparedFrames, subsets: tuple[str, ...], psnr: Psnr, *, is_consistency: bool = False
) -> tuple[BoundMetric, ...]:
    fidelity: dict[str, Extractor] = {"fidelity": FrameFidelity(compared=compared, canvas=CANVAS, window=11, sigma=1.5)}
    lpips: dict[str, Extractor] = {"lpips": LpipsPairs(compared=compared, canvas=CANVAS, trunk="alex")}
    bindings = (
        ("mse", Mse(), fidelity),
        ("psnr", psnr, fidelity),
        ("ssim", Ssim(), fidelity),
        ("lpips", Lpips(), lpips),
    )
    return tuple(
        BoundMetric(
            name=f"mind.{family}.{name}",
            metric=metric,
            recipes=recipes,
            subsets=subsets,
            is_consistency=is_consistency,
        )
        for name, metric, recipes in bindings
    )


def _imaging(frames: ReferenceFrames) -> BoundMetric:
    return BoundMetric(
        name="mind.visual.imaging",
        metric=ImagingQuality(),
        recipes={"quality": MusiqQuality(frames=frames, height=None, canvas=CANVAS)},
        subsets=COMPARED,
    )


def _aesthetic(recipe: LaionAesthetics) -> BoundMetric:
    return BoundMetric(
        name="mind.visual.aesthetic", metric=AestheticQuality(), recipes={"aesthetic": recipe}, subsets=COMPARED
    )


def _dino(recipe: Dinov3Error) -> BoundMetric:
    return BoundMetric(
        name="mind.dino.dino_mse", metric=FeatureError(), recipes={"feature_error": recipe}, subsets=COMPARED
    )


def _action(
    settings: Mapping[str, Any], poses: Extractor, reference_poses: Extractor, **of_the_code: bool
) -> tuple[BoundMetric, ...]:
    """The option `alignment` is for both protocols."""
    return tuple(
        BoundMetric(
            name=f"mind.action.{name}",
            metric=kind(
                alignment=settings.get("alignment", PUBLISHED_ALIGNMENT),
                max_frames=POSED_FRAMES,
                max_rotation_degrees=179.0,
                max_translation=1e9,
                min_steps=8,
                **of_the_code,
            ),
            recipes={"poses": poses, "reference_poses": reference_poses},
            subsets=COMPARED,
        )
        for name, kind in (("rpe_trans", RelativeTranslationError), ("rpe_rot", RelativeRotationError))
    )
