"""MBench as two suites: one per setting, since their scores never share a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from lookaway.core import BoundMetric, Cell, Dataset, DatasetError, Group, Option, Table
from lookaway.io.dataset_files import DatasetTree
from lookaway.statistics.cells import branch_notes, gated_cells
from lookaway.suites.mbench.convention import decide_convention
from lookaway.suites.mbench.layout import LayoutReader, has_records, read_card
from lookaway.suites.mbench.protocol import action_protocol, text_protocol
from lookaway.suites.options import ALLOW_OUTSIDE, EXTRINSICS_CONVENTION


class _MBench:
    name: ClassVar[str]
    version: ClassVar[int] = 1
    title: ClassVar[str]
    dataset_id: ClassVar[str]
    takes_damaged: ClassVar[bool] = False
    """Whether it reads a dataset of which a damaged card does not say the setting; one of the two does."""
    options: ClassVar[tuple[Option, ...]] = (EXTRINSICS_CONVENTION, ALLOW_OUTSIDE)

    def recognises(self, root: Path) -> bool:
        """Whether its dataset.yaml names this setting, or is damaged and this setting is to say how."""
        try:
            # Nothing of the file is shown, and `read` knows whether it may lie outside.
            return read_card(DatasetTree(root, allow_outside=True)).dataset_id == self.dataset_id
        except DatasetError:
            return self.takes_damaged and has_records(root)

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """All cases and rollouts of all models."""
        tree = DatasetTree(root, allow_outside=options["allow_outside"])
        card = read_card(tree)
        if card.dataset_id != self.dataset_id:
            raise DatasetError(
                f"{root}: dataset.yaml says {card.dataset_id!r}, but {self.name} reads {self.dataset_id!r}."
            )
        dataset = LayoutReader(tree, card).read(self.name)
        if convention := options["extrinsics_convention"]:
            return replace(dataset, settings={**dataset.settings, "extrinsics_convention": convention})
        if "extrinsics_convention" not in dataset.settings and (decision := decide_convention(dataset.rollouts)):
            problem = decision.problem()
            return replace(
                dataset,
                settings={**dataset.settings, **decision.settings()},
                problems=(*dataset.problems, problem) if problem else dataset.problems,
            )
        return dataset


class MBenchA(_MBench):
    """Action-conditioned: the camera is instructed to leave and return."""

    name = "mbench-a"
    version = 2
    takes_damaged = True
    title = "MBench-A: camera actions, one caption"
    dataset_id = "mbencha"

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """The protocol of setting A."""
        return action_protocol(settings)

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over rollouts with scene-clustered intervals; of consistency, over rollouts that tested memory."""
        return Table(suite=self.name, cells=gated_cells(groups), notes=branch_notes(groups))


class MBenchT(_MBench):
    """Text-conditioned: five caption segments describe what leaves and what returns."""

    name = "mbench-t"
    title = "MBench-T: five caption segments"
    dataset_id = "mbencht"

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """The protocol of setting T."""
        return text_protocol(settings)

    def table(self, groups: Sequence[Group]) -> Table:
        """Means over triggered rollouts, the share of triggered rollouts, and the M-Score, which combines both."""
        cells = gated_cells(groups, combines=True)
        return Table(suite=self.name, cells=cells, notes=(*_raw_consistency(cells), *branch_notes(groups)))


def _raw_consistency(cells: Sequence[Cell]) -> Iterator[str]:
    """A note about cells without a judge's decision, naming them if only some lack it."""
    note = "no judge decided which rollouts met the memory challenge, so that a still video can score high."
    if not any(cell.gated for cell in cells):
        yield f"Raw consistency: {note}"
        return
    subsets: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell.gated is None and cell.estimate is not None:
            subsets.setdefault(cell.model, {})[cell.subset] = None
    if subsets:
        whose = "; ".join(f"{model} ({', '.join(found)})" for model, found in subsets.items())
        yield f"Raw consistency of {whose}: {note}"
