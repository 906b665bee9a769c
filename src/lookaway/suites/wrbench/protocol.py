"""WRBench's metrics, bound to measurements with WRBench's constants. The protocol is this data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from lookaway.core import BoundMetric, Extractor
from lookaway.io.sampling import EveryFrame, SteppedFrames, UniformFrames
from lookaway.metrics.requested_camera import RequestedCameraAlignment, RequestedCameraPrecision
from lookaway.metrics.visual_integrity import VisualIntegrity
from lookaway.perception.networks.fits import CentreCrop, WholeFrame
from lookaway.perception.poses.network_poses import VggtPoses
from lookaway.perception.poses.requested_poses import RequestedPoses
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from lookaway.perception.poses.tracked_poses import TrackedPoses
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from lookaway.suites.gate import revisited_gate
from lookaway.suites.two_protocols import two_protocols
from lookaway.suites.wrbench.probes import probe_metrics

TURNS, MOVES, HOLDS = "yaw", "pan", "static"
"""Subsets: what the requested camera does."""
POSES: Final = TrackedPoses(frames=UniformFrames(48), height=256, keypoints=400)
"""The camera of D1 by default, and of what was revisited: it needs no weights."""
PUBLISHED_POSES: Final = VggtPoses(frames=EveryFrame(1))
SUPPLIED_POSES: Final = SuppliedPoses(layout="vggt", assumed_fov_degrees=60.0)
"""WRBench's pose cache: camera to world of every frame, without a lens; its own cameras see 60 degrees."""
CACHED_POSES: Final = "cached_poses"
"""Setting: the camera is that of the pose files that the list names."""
SAMPLING: Final = SteppedFrames(fps=3.0, max_frames=24)
EXAMPLE_SAMPLING: Final = "example_sampling"
"""Setting: visual integrity is sampled as in the published example configuration."""
PUBLISHED_EXAMPLE: Final = SteppedFrames(fps=2.0, max_frames=16)


def protocol(settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
    """All metrics, as in the published code and without its defects."""
    poses = SUPPLIED_POSES if settings.get(CACHED_POSES) else POSES
    # Its share is shown, but it is no gate here: WRBench has its own for what is seen again.
    revisited = replace(revisited_gate("wrbench.revisited", poses, (TURNS, MOVES)), is_gate=False)
    return two_protocols(_metrics(settings, True), _metrics(settings, False), gates=(revisited,))


def _metrics(settings: Mapping[str, Any], as_published: bool) -> tuple[BoundMetric, ...]:
    supplied = SUPPLIED_POSES if settings.get(CACHED_POSES) else None
    return (
        *_camera(supplied or (PUBLISHED_POSES if as_published else POSES), as_published),
        *_integrity(as_published, is_example=bool(settings.get(EXAMPLE_SAMPLING))),
        *probe_metrics(settings),
    )


def _camera(poses: Extractor, as_published: bool) -> tuple[BoundMetric, ...]:
    """D1. A camera that holds still is apart; the published CamPrec has it in the same mean."""
    both: dict[str, Extractor] = {"poses": poses, "requested_poses": RequestedPoses(undo_gain=not as_published)}
    alignment = RequestedCameraAlignment(as_published=as_published)
    return (
        BoundMetric(
            name="wrbench.camera_precision",
            metric=RequestedCameraPrecision(as_published=as_published),
            recipes=both,
            subsets=None if as_published else (TURNS, MOVES),
        ),
        BoundMetric(name="wrbench.camera_alignment", metric=alignment, recipes=both, subsets=(TURNS,)),
        BoundMetric(name="wrbench.static_hold", metric=alignment, recipes=both, subsets=(HOLDS,)),
    )


def _integrity(as_published: bool, *, is_example: bool) -> tuple[BoundMetric, ...]:
    """D2. Not behind the gate: it is about pictures that fall apart, in videos that never look away as well."""
    tokens = Dinov2Embeddings(
        frames=PUBLISHED_EXAMPLE if is_example else SAMPLING, fit=CentreCrop(256, 224) if as_published else WholeFrame()
    )
    return (BoundMetric(name="wrbench.visual_integrity", metric=VisualIntegrity(), recipes={"tokens": tokens}),)
