"""MIND as a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lookaway.core import BoundMetric, Dataset, Group, Option, Table
from lookaway.statistics.cells import gated_cells
from lookaway.suites.mind.layout import MindReader, looks_like_mind
from lookaway.suites.mind.protocol import PUBLISHED_ALIGNMENT, protocol
from lookaway.suites.options import ALLOW_OUTSIDE, GROUND_TRUTH


class Mind:
    """Videos that continue a reference video, and mirrored paths, in first and third person."""

    name: ClassVar[str] = "mind"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "MIND: generated videos beside reference videos, and mirrored paths"
    options: ClassVar[tuple[Option, ...]] = (
        GROUND_TRUTH,
        Option(
            name="max_frames",
            type=int,
            minimum=1,
            metavar="N",
            moves_numbers=True,
            lock_name="video_max_time",
            help="Compare at most N frames of each generated video with its reference.",
        ),
        Option(
            name="alignment",
            choices=("sim3", "se3", "none"),
            default=PUBLISHED_ALIGNMENT,
            moves_numbers=True,
            help="Alignment of camera paths before comparison: sim3 (default), se3 (no scale) or none.",
        ),
        ALLOW_OUTSIDE,
    )

    def recognises(self, root: Path) -> bool:
        """Whether there are folders named as in MIND."""
        return looks_like_mind(root)

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """All generated videos of all models, and every case for which a model has none."""
        reader = MindReader(root, options["ground_truth"], options["allow_outside"])
        rollouts = reader.rollouts()
        return Dataset(
            suite=self.name,
            root=root,
            rollouts=rollouts,
            identity={"times": {name: found.times for name, found in reader.cases.items() if found.times}},
            settings={"video_max_time": options["max_frames"]},  # locked even where there is no maximum
            problems=tuple(reader.problems),
        )

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """The protocol as published, and without the bugs of the published code."""
        return protocol(settings)

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over rollouts with scene-clustered intervals, per perspective and test.

        Those of mirrored paths are over rollouts that tested memory.
        """
        return Table(suite=self.name, cells=gated_cells(groups))
