"""MIND's public names, bound to measurements with MIND's constants. The protocol is this data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lookaway.core import BoundMetric, ComparedFrames, Extractor
from lookaway.metrics.frame_metrics import AestheticQuality, FeatureError, ImagingQuality, Lpips, Mse, Psnr, Ssim
from lookaway.metrics.pose_alignment import Alignment
from lookaway.metrics.relative_pose import RelativeRotationError, RelativeTranslationError
from lookaway.perception.poses.reference_poses import ReferencePoses
from lookaway.perception.poses.supplied_poses import SuppliedPoses
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
"""PSNR of equal frames; the published code writes infinity."""
ASSUMED_FOV_DEGREES: Final = 90.0
"""`images.txt` has no intrinsics, and camera motion does not depend on them."""
POSES: Final = SuppliedPoses(layout="colmap", first_frame_number=None, assumed_fov_degrees=ASSUMED_FOV_DEGREES)
PUBLISHED_ALIGNMENT: Final = "sim3"
"""Alignment of camera paths in the published code, and by default."""


def protocol(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    """All metrics: exactly as in the published code, and over every frame."""
    gates = (revisited_gate("mind.revisited", POSES, MIRRORED),)
    return two_protocols(_metrics(settings, True), _metrics(settings, False), gates=gates)


def _metrics(settings: Mapping[str, Any], as_published: bool) -> tuple[BoundMetric, ...]:
    reference = ReferenceFrames(
        most=settings.get("video_max_time"),
        dropped_batch=DROPPED_BATCH if as_published else None,
        stated_end=as_published,
    )
    return (
        *_similarity("lcm", reference, COMPARED),
        *_visual(reference),
        BoundMetric(
            name="mind.dino.dino_mse",
            metric=FeatureError(),
            recipes={"feature_error": Dinov3Error(compared=reference, canvas=CANVAS, rescales_twice=as_published)},
            subsets=COMPARED,
        ),
        *_action(settings.get("alignment", PUBLISHED_ALIGNMENT), as_published),
        *mirrored_metrics(even_only=as_published),
    )


def mirrored_metrics(*, even_only: bool) -> tuple[BoundMetric, ...]:
    """Frames of a path that is retraced, each with its mirror image in time."""
    return _similarity("gsc", MirroredFrames(even_only=even_only), MIRRORED, is_consistency=True)


def _similarity(
    family: str, compared: ComparedFrames, subsets: tuple[str, ...], *, is_consistency: bool = False
) -> tuple[BoundMetric, ...]:
    fidelity: dict[str, Extractor] = {"fidelity": FrameFidelity(compared=compared, canvas=CANVAS, window=11, sigma=1.5)}
    lpips: dict[str, Extractor] = {"lpips": LpipsPairs(compared=compared, canvas=CANVAS, trunk="alex")}
    bindings = (
        ("mse", Mse(), fidelity),
        ("psnr", Psnr(ceiling_db=CEILING_DB), fidelity),
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


def _visual(frames: ReferenceFrames) -> tuple[BoundMetric, ...]:
    """Metrics of each compared frame."""
    return (
        BoundMetric(
            name="mind.visual.imaging",
            metric=ImagingQuality(),
            recipes={"quality": MusiqQuality(frames=frames, height=None, canvas=CANVAS)},
            subsets=COMPARED,
        ),
        BoundMetric(
            name="mind.visual.aesthetic",
            metric=AestheticQuality(),
            recipes={"aesthetic": LaionAesthetics(frames=frames, canvas=CANVAS)},
            subsets=COMPARED,
        ),
    )


def _action(alignment: Alignment, as_published: bool) -> tuple[BoundMetric, ...]:
    recipes: dict[str, Extractor] = {
        "poses": POSES,
        "reference_poses": ReferencePoses(
            layout="colmap", assumed_fov_degrees=ASSUMED_FOV_DEGREES, may_outlast_video=as_published
        ),
    }
    return tuple(
        BoundMetric(
            name=f"mind.action.{name}",
            metric=kind(
                alignment=alignment,
                max_frames=97,
                max_rotation_degrees=179.0,
                max_translation=1e9,
                min_steps=8,
                published_groups=as_published,
            ),
            recipes=recipes,
            subsets=COMPARED,
        )
        for name, kind in (("rpe_trans", RelativeTranslationError), ("rpe_rot", RelativeRotationError))
    )
