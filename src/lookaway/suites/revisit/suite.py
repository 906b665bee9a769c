"""The suite for anybody's clips: a camera that looks away and comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lookaway.core import BoundMetric, Dataset, Group, Option, Table, UserError
from lookaway.perception.poses.delivered_poses import DELIVERED as DELIVERED_ARTIFACT
from lookaway.statistics.cells import branch_notes, gated_cells
from lookaway.suites.folder.layout import has_manifest, is_world, read_videos
from lookaway.suites.options import ALLOW_OUTSIDE, AS_PUBLISHED, PATTERN
from lookaway.suites.revisit.protocols import DELIVERED, OWN, PROTOCOLS, protocol_metrics, split_protocols
from lookaway.suites.revisit.sana_layout import SanaReader, looks_like_sana


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
            metavar="A,B",
            moves_numbers=True,
            help=f"How revisits are measured: one or several of {', '.join(PROTOCOLS)}.",
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
            has_delivered = any(DELIVERED_ARTIFACT in rollout.artifacts for rollout in rollouts)
            identity, protocol = {}, f"{OWN},{DELIVERED}" if has_delivered else OWN
        names = split_protocols(options["protocol"] or protocol)
        if options["as_published"] and (own := next((name for name in names if name in (OWN, DELIVERED)), None)):
            published = (name for name in PROTOCOLS if name not in (OWN, DELIVERED))
            raise UserError(
                f"The protocol {own!r} is of this package and was not published. Leave out --as-published, or name "
                f"published ones with --protocol: {', '.join(published)}."
            )
        return Dataset(
            suite=self.name,
            root=root,
            rollouts=rollouts,
            identity=identity,
            settings={"protocol": ",".join(names)},
            problems=tuple(problems),
        )

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """Those of the named protocols, one after the other."""
        return protocol_metrics(split_protocols(settings.get("protocol", OWN)), settings)

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over tested rollouts, and the share that is tested."""
        return Table(suite=self.name, cells=gated_cells(groups), notes=branch_notes(groups))
