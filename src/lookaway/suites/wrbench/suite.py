"""WRBench as a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from lookaway.core import BoundMetric, Dataset, Group, Option, Table
from lookaway.statistics.cells import gated_cells
from lookaway.suites.options import ALLOW_OUTSIDE
from lookaway.suites.wrbench.layout import WrBenchReader, looks_like_wrbench
from lookaway.suites.wrbench.probes import NAMES_SUBJECT
from lookaway.suites.wrbench.protocol import CACHED_POSES, RELEASED_INTEGRITY, protocol

NATURAL25: Final = Option(
    name="natural25",
    type=Path,
    metavar="FOLDER",
    help="Folder of WRBench's prompts (families.jsonl, variants.jsonl), if separate from the videos.",
)
RELEASED: Final = Option(
    name=RELEASED_INTEGRITY,
    type=bool,
    moves_numbers=True,
    help="Measure published visual integrity as WRBench's released scorer does with its example configuration: the "
    "middle of each frame, at 2 fps, at most 16 frames.",
)
CACHED: Final = Option(
    name=CACHED_POSES,
    type=bool,
    moves_numbers=True,
    help="Take the camera from the pose files that the list of videos names, instead of estimating it.",
)
NAMED: Final = Option(
    name=NAMES_SUBJECT,
    type=bool,
    moves_numbers=True,
    help="Name the subject in the questions of D3 to D6 and of their gate; WRBench's own do not.",
)


class WrBench:
    """Videos of events that go on while the camera looks away, with the requested camera paths beside them."""

    name: ClassVar[str] = "wrbench"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "WRBench: events go on while the camera looks away and comes back"
    options: ClassVar[tuple[Option, ...]] = (NATURAL25, CACHED, RELEASED, NAMED, ALLOW_OUTSIDE)

    def recognises(self, root: Path) -> bool:
        """Whether there is a list of videos beside prompts of Natural-25."""
        return looks_like_wrbench(root)

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """All videos of all models that the list names."""
        reader = WrBenchReader(root, options["natural25"], options["allow_outside"])
        rollouts = reader.rollouts()
        return Dataset(
            suite=self.name,
            root=root,
            rollouts=rollouts,
            identity=reader.identity(),
            problems=tuple(reader.problems),
        )

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """The protocol as published, and with our repairs."""
        return protocol(settings)

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over rollouts with intervals over families; cameras that stand still and that turn apart."""
        return Table(suite=self.name, cells=gated_cells(groups))
