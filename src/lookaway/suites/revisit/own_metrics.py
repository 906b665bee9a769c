"""The numbers of this package for a return, bound to the pairs and poses that they share."""

from __future__ import annotations

from lookaway.core import BoundMetric, Extractor, Metric
from lookaway.metrics.aligned_similarity import AlignedDino, AlignedLpips, AlignedSsim, DinoLift, LpipsLift, SsimLift
from lookaway.metrics.camera_return import CameraCut, DeliveryLoss, ReachMissing, ReturnError
from lookaway.metrics.revisit_numbers import (
    CarriedArea,
    ChangedArea,
    CopiedPoints,
    LightChange,
    LookChange,
    MovedPoints,
    Remembered,
    Undone,
)
from lookaway.metrics.revisit_pairs import RevisitPairs
from lookaway.perception.poses.commanded_poses import CommandedPoses
from lookaway.perception.poses.delivered_poses import DeliveredPoses
from lookaway.perception.revisit.revisit_changes import RevisitChanges
from lookaway.perception.revisit.revisit_networks import RevisitLpips, RevisitTokens
from lookaway.suites.revisit.published import POSES
from lookaway.suites.two_protocols import FURTHER


def own_metrics() -> tuple[BoundMetric, ...]:
    """The numbers of the return first, then those of the camera, hints, and further similarities."""
    compared = RevisitChanges(poses=POSES, pairs=RevisitPairs())
    changes: dict[str, Extractor] = {"changes": compared}
    lpips: dict[str, Extractor] = {"revisit_lpips": RevisitLpips(changes=compared)}
    tokens: dict[str, Extractor] = {"revisit_tokens": RevisitTokens(changes=compared)}
    camera: dict[str, Extractor] = {"poses": POSES, "commanded_poses": CommandedPoses()}
    of_return = (Remembered(), ChangedArea(), LightChange(), LookChange(), AlignedSsim())
    further: tuple[tuple[Metric, dict[str, Extractor]], ...] = (
        (SsimLift(), changes),
        (AlignedLpips(), lpips),
        (LpipsLift(), lpips),
        (AlignedDino(), tokens),
        (DinoLift(), tokens),
    )
    hints = (MovedPoints(), CopiedPoints(), CarriedArea(), Undone())
    return (
        *(BoundMetric(name=metric.name, metric=metric, recipes=changes, is_consistency=True) for metric in of_return),
        BoundMetric(name="return_error", metric=ReturnError(), recipes=camera),
        BoundMetric(name="reach_missing", metric=ReachMissing(), recipes=camera),
        BoundMetric(name="cut", metric=CameraCut(), recipes={"poses": POSES}),
        *(BoundMetric(name=metric.name, metric=metric, recipes=changes) for metric in hints),
        *(
            BoundMetric(name=f"{FURTHER}{metric.name}", metric=metric, recipes=recipes, is_consistency=True)
            for metric, recipes in further
        ),
    )


def delivered_metrics() -> tuple[BoundMetric, ...]:
    """The camera against the path that the model was given, and what of the request that path lacks."""
    delivered = DeliveredPoses()
    camera: dict[str, Extractor] = {"poses": POSES, "commanded_poses": delivered}
    return (
        BoundMetric(name="delivered.return_error", metric=ReturnError(), recipes=camera),
        BoundMetric(name="delivered.reach_missing", metric=ReachMissing(), recipes=camera),
        BoundMetric(name="delivered.lost", metric=DeliveryLoss(), recipes={"delivered_poses": delivered}),
    )
