"""The suite for anybody's clips: a camera that looks away and comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from lookaway.core import BoundMetric, Dataset, Extractor, Group, Metric, Option, Table, UserError
from lookaway.metrics.aligned_similarity import AlignedDino, AlignedLpips, AlignedSsim, DinoLift, LpipsLift, SsimLift
from lookaway.metrics.camera_return import CameraCut, ReachMissing, ReturnError
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
from lookaway.perception.revisit.revisit_changes import RevisitChanges
from lookaway.perception.revisit.revisit_networks import RevisitLpips, RevisitTokens
from lookaway.statistics.cells import gated_cells
from lookaway.suites.folder.layout import read_videos
from lookaway.suites.gate import revisited_gate
from lookaway.suites.options import ALLOW_OUTSIDE, AS_PUBLISHED, PATTERN
from lookaway.suites.revisit.published import POSES, VARIANTS, published_metrics
from lookaway.suites.revisit.sana_layout import SanaReader, looks_like_sana

OWN: Final = "revisit"
"""The protocol of this package."""
FURTHER: Final = "further."
"""Begins the names of published similarities of the same pairs: they are shown, but no verdict rests on them."""


class Revisit:
    """Any videos. Poses come from the frames, so that nothing else is needed."""

    name: ClassVar[str] = "revisit"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Revisit: does a place look the same when the camera comes back?"
    options: ClassVar[tuple[Option, ...]] = (
        PATTERN,
        ALLOW_OUTSIDE,
        Option(
            name="protocol",
            choices=(OWN, *VARIANTS),
            moves_numbers=True,
            help="How revisits are measured: as this package does (revisit), or as a published protocol does.",
        ),
        AS_PUBLISHED,
    )

    def recognises(self, root: Path) -> bool:
        """Whether there are scenes of SANA-WM-Bench; for other folders it is chosen by name."""
        return looks_like_sana(root)

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """All rollouts of SANA-WM-Bench, of a manifest, of a simulated world, or all videos that match the pattern."""
        if looks_like_sana(root):
            sana = SanaReader(root, allow_outside=options["allow_outside"])
            rollouts, problems, identity, protocol = sana.rollouts(), sana.problems, sana.identity, "sana"
        else:
            rollouts, problems = read_videos(root, options["pattern"], allow_outside=options["allow_outside"])
            identity, protocol = {}, OWN
        protocol = options["protocol"] or protocol
        if options["as_published"] and protocol == OWN:
            raise UserError(
                "The protocol 'revisit' is of this package and was not published. Leave out --as-published, or name a "
                f"published one: --protocol {', '.join(VARIANTS)}."
            )
        return Dataset(
            suite=self.name,
            root=root,
            rollouts=rollouts,
            identity=identity,
            settings={"protocol": protocol},
            problems=tuple(problems),
        )

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """The numbers of the return, those of the camera, hints, further similarities; or a published protocol."""
        protocol = settings.get("protocol", OWN)
        if protocol != OWN:
            return published_metrics(protocol, bool(settings.get("as_published")), settings)
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
            *(
                BoundMetric(name=metric.name, metric=metric, recipes=changes, is_consistency=True)
                for metric in of_return
            ),
            BoundMetric(name="return_error", metric=ReturnError(), recipes=camera),
            BoundMetric(name="reach_missing", metric=ReachMissing(), recipes=camera),
            BoundMetric(name="cut", metric=CameraCut(), recipes={"poses": POSES}),
            *(BoundMetric(name=metric.name, metric=metric, recipes=changes) for metric in hints),
            *(
                BoundMetric(name=f"{FURTHER}{metric.name}", metric=metric, recipes=recipes, is_consistency=True)
                for metric, recipes in further
            ),
            revisited_gate("revisited", POSES),
        )

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over tested rollouts, and the share that is tested."""
        return Table(suite=self.name, cells=gated_cells(groups))
