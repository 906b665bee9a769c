"""MemoBench as a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lookaway.core import BoundMetric, Dataset, Group, Option, Table
from lookaway.statistics.cells import gated_cells
from lookaway.suites.memobench.layout import MemoBenchReader, looks_like_memobench
from lookaway.suites.memobench.protocol import HAS_BANKS, protocol
from lookaway.suites.options import ALLOW_OUTSIDE, GROUND_TRUTH


class MemoBench:
    """Clips in which a target is seen, leaves the view and comes back, beside reference clips of both parts."""

    name: ClassVar[str] = "memobench"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "MemoBench: a target is visible, disappears and reappears, phase by phase"
    options: ClassVar[tuple[Option, ...]] = (GROUND_TRUTH, ALLOW_OUTSIDE)

    def recognises(self, root: Path) -> bool:
        """Whether there are folders named as in MemoBench."""
        return looks_like_memobench(root)

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """All generated clips of all models, and every case for which a model has none."""
        reader = MemoBenchReader(root, options["ground_truth"], options["allow_outside"])
        rollouts = reader.rollouts()
        references = {clip.case.id: clip.case.reference for clip in reader.clips.values()}
        keyframes = {case: list(found.phase_starts.values()) for case, found in references.items() if found}
        return Dataset(
            suite=self.name,
            root=root,
            rollouts=rollouts,
            identity={"keyframes": keyframes},
            settings={HAS_BANKS: True} if reader.banks else {},
            problems=tuple(reader.problems),
        )

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """The protocol as published, and without the defects of the published code."""
        return protocol(settings)

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over rollouts with scene-clustered intervals, per part.

        Those of what follows the first phase are over rollouts that tested memory.
        """
        return Table(suite=self.name, cells=gated_cells(groups))
