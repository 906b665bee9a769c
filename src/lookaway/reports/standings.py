"""Models in order of what they remember, and those that were never put to the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lookaway.core import Cell, Table

GATE = "camera_interaction"
LEAST_OBEDIENCE = 0.5
"""A camera that does less of what it was told has not looked away: its consistency says nothing about memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a model stands."""

    model: str
    rank: int | None
    """None where the camera did not do as it was told, so that memory was not tested."""
    consistency: float | None
    """Mean of the means of all measurements but the camera's."""
    camera: float | None


def standings(table: Table) -> list[Standing]:
    """From the best to the worst; models that were not tested come last."""
    found = [_standing(model, table.cells) for model in dict.fromkeys(cell.model for cell in table.cells)]
    tested = [s for s in found if s.consistency is not None and s.camera is not None and s.camera >= LEAST_OBEDIENCE]
    tested.sort(key=lambda s: -(s.consistency or 0.0))
    ranked = [
        Standing(model=s.model, rank=number, consistency=s.consistency, camera=s.camera)
        for number, s in enumerate(tested, start=1)
    ]
    names = {s.model for s in ranked}
    return ranked + [s for s in found if s.model not in names]


def _standing(model: str, cells: Sequence[Cell]) -> Standing:
    own = [cell for cell in cells if cell.model == model]
    camera = [cell.estimate.mean for cell in own if cell.estimate and cell.metric.endswith(GATE)]
    rest = [cell.estimate.mean for cell in own if cell.estimate and not cell.metric.endswith(GATE)]
    return Standing(
        model=model,
        rank=None,
        consistency=sum(rest) / len(rest) if rest else None,
        camera=sum(camera) / len(camera) if camera else None,
    )
