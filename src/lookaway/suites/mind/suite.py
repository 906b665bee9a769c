"""MIND as a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lookaway.core import BoundMetric, Dataset, Group, Table, UserError
from lookaway.statistics.cells import mean_cells
from lookaway.suites.mind.layout import MindReader, looks_like_mind
from lookaway.suites.mind.protocol import PUBLISHED_ALIGNMENT, protocol
from lookaway.suites.refusals import refuse_options


class Mind:
    """Answers that continue a true video, and paths that are gone back, in the first and the third person."""

    name: ClassVar[str] = "mind"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "MIND: answers beside the true video, and mirrored paths"

    def recognises(self, root: Path) -> bool:
        """Whether there are folders named like those of MIND."""
        return looks_like_mind(root)

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """All answers of all models, and every case that a model left without one."""
        refuse_options(self.name, options, ("pattern", "extrinsics_convention"))
        max_frames, truth = options.get("max_frames"), options.get("truth")
        if max_frames is not None and max_frames < 1:
            raise UserError(f"At most {max_frames} frames are to be compared, expected 1 or more.")
        as_published, alignment = bool(options.get("as_published")), options.get("alignment") or PUBLISHED_ALIGNMENT
        if as_published and alignment != PUBLISHED_ALIGNMENT:
            raise UserError(
                f"The published code aligns camera paths by {PUBLISHED_ALIGNMENT}, not by {alignment}. "
                "Leave out --alignment or --as-published."
            )
        reader = MindReader(root, None if truth is None else Path(truth), bool(options.get("allow_outside")))
        rollouts = reader.rollouts()
        return Dataset(
            suite=self.name,
            root=root,
            rollouts=rollouts,
            identity={"times": {name: found.times for name, found in reader.cases.items() if found.times}},
            settings={"as_published": as_published, "video_max_time": max_frames, "alignment": alignment},
            problems=tuple(reader.problems),
        )

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """The protocol; as published, or without the faults of the published code."""
        return protocol(settings)

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over rollouts with scene-clustered intervals, one for each perspective and test."""
        return Table(suite=self.name, cells=mean_cells(groups))
