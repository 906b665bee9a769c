"""The suite for anybody's clips: a camera that looks away and comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from lookaway.core import BoundMetric, Dataset, Extractor, Group, Option, Table, UserError
from lookaway.metrics.camera_return import CameraCut, ReachMissing, ReturnError
from lookaway.metrics.revisit_numbers import (
    AlignedSsim,
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
from lookaway.statistics.cells import gated_cells
from lookaway.suites.folder.layout import has_manifest, is_world, read_videos
from lookaway.suites.gate import revisited_gate
from lookaway.suites.options import ALLOW_OUTSIDE, AS_PUBLISHED, PATTERN
from lookaway.suites.revisit.published import POSES, VARIANTS, published_metrics
from lookaway.suites.revisit.sana_layout import SanaReader, looks_like_sana

OWN: Final = "revisit"
"""The protocol of this package."""


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
        """Whether there are scenes of SANA-WM-Bench, a manifest or a simulated world; it reads bare videos as well."""
        return looks_like_sana(root) or has_manifest(root) or is_world(root)

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
        """The numbers of the return first, then those of the camera, then hints; or those of a published protocol."""
        protocol = settings.get("protocol", OWN)
        if protocol != OWN:
            return published_metrics(protocol, bool(settings.get("as_published")), settings)
        changes: dict[str, Extractor] = {"changes": RevisitChanges(poses=POSES, pairs=RevisitPairs())}
        camera: dict[str, Extractor] = {"poses": POSES, "commanded_poses": CommandedPoses()}
        of_return = (Remembered(), ChangedArea(), LightChange(), LookChange(), AlignedSsim())
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
            revisited_gate("revisited", POSES),
        )

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over tested rollouts, and the share that is tested."""
        return Table(suite=self.name, cells=gated_cells(groups))
