"""The suite for anybody's clips: a camera that looks away and comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lookaway.core import BoundMetric, Dataset, Group, Option, Table
from lookaway.perception.poses.delivered_poses import DELIVERED as DELIVERED_ARTIFACT
from lookaway.statistics.cells import branch_notes, gated_cells
from lookaway.suites.folder.layout import has_manifest, is_world, read_videos
from lookaway.suites.options import ALLOW_OUTSIDE, PATTERN
from lookaway.suites.revisit.sana_layout import SanaReader, looks_like_sana
from lookaway.suites.revisit.scores import DELIVERED, OWN, SCORES, score_metrics, split_scores


class Revisit:
    """Any videos. Poses come from the frames, so that nothing else is needed."""

    name: ClassVar[str] = "revisit"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "Revisit: does a place look the same when the camera comes back?"
    options: ClassVar[tuple[Option, ...]] = (
        PATTERN,
        ALLOW_OUTSIDE,
        Option(
            name="scores",
            metavar="A,B",
            moves_numbers=True,
            help=f"How revisits are measured: one or several of {', '.join(SCORES)}.",
        ),
    )

    def recognises(self, root: Path) -> bool:
        """Whether there are scenes of SANA-WM-Bench, a manifest or a simulated world; it reads bare videos as well."""
        return looks_like_sana(root) or has_manifest(root) or is_world(root)

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """All rollouts of SANA-WM-Bench, of a manifest, of a simulated world, or all videos that match the pattern."""
        if looks_like_sana(root):
            sana = SanaReader(root, allow_outside=options["allow_outside"])
            rollouts, problems, identity, usual = sana.rollouts(), sana.problems, sana.identity, "sana"
        else:
            rollouts, problems = read_videos(root, options["pattern"], allow_outside=options["allow_outside"])
            has_delivered = any(DELIVERED_ARTIFACT in rollout.artifacts for rollout in rollouts)
            identity, usual = {}, f"{OWN},{DELIVERED}" if has_delivered else OWN
        names = split_scores(options["scores"] or usual)
        return Dataset(
            suite=self.name,
            root=root,
            rollouts=rollouts,
            identity=identity,
            settings={"scores": ",".join(names)},
            problems=tuple(problems),
        )

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """Those of the named scores, one after the other."""
        return score_metrics(split_scores(settings.get("scores", OWN)), settings)

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over tested rollouts, and the share that is tested."""
        return Table(suite=self.name, cells=gated_cells(groups), notes=branch_notes(groups))
