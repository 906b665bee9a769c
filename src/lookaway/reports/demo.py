"""What the demo shows at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lookaway.core import Cell, Table
from lookaway.engine.run import Run
from lookaway.reports.numbers import fixed, print_json, print_lines, print_rows
from lookaway.reports.table import table_json
from lookaway.world.actors import ACTORS

GATE = "camera_interaction"
MIN_OBEDIENCE = 0.5
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
    tested = [s for s in found if s.consistency is not None and s.camera is not None and s.camera >= MIN_OBEDIENCE]
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


def print_demo(run: Run, output: Path, *, quiet: bool, as_json: bool) -> None:
    """The order of the actors, and where to look next."""
    table = run.table()
    order = standings(table)
    if as_json:
        ranked = [{"model": s.model, "rank": s.rank, "consistency": s.consistency, "camera": s.camera} for s in order]
        print_json({"standings": ranked, "table": table_json(run, table)})
        return
    rows = [
        {
            "rank": "not tested" if s.rank is None else s.rank,
            "actor": s.model,
            "consistency": fixed(s.consistency),
            "camera": fixed(s.camera),
            "what it does": ACTORS[s.model].summary,
        }
        for s in order
    ]
    print_rows(rows, as_json=False, right=("rank", "consistency", "camera"))
    if not quiet:
        example = min(output.glob("world/clips/*/amnesiac/0"))
        print_lines(
            [
                "",
                "A camera that does not do as it is told puts nothing to the test, however consistent the picture is.",
                f"See a clip:        lookaway world show {example}",
                f"See every number:  lookaway show {output / 'run'}",
            ]
        )
