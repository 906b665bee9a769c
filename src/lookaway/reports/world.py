"""The simulated world on the terminal: its catalogue, a rendered set, and the ranking of the demo."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lookaway.core import Cell, Table
from lookaway.engine.run import Run
from lookaway.reports.numbers import amount, fixed, print_json, print_lines, print_rows
from lookaway.reports.table import table_json
from lookaway.world.actors import ACTORS
from lookaway.world.cameras import CAMERAS
from lookaway.world.events import EVENTS
from lookaway.world.families import FAMILIES
from lookaway.world.faults import FAULTS
from lookaway.world.rendering import CaseReport

GATE = "camera_interaction"
FURTHER = "further."
"""Begins the names of metrics that the benchmark itself does not have."""
MIN_OBEDIENCE = 0.5
"""A camera that follows less of its path has not looked away: consistency then says nothing about memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The rank of a model."""

    model: str
    rank: int | None
    """None where the camera did not follow the requested path, so that memory was not tested."""
    consistency: float | None
    """Mean of the means of the benchmark's own metrics of consistency."""
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
    rest = [cell.estimate.mean for cell in own if cell.estimate and cell.gated and not cell.metric.startswith(FURTHER)]
    return Standing(
        model=model,
        rank=None,
        consistency=sum(rest) / len(rest) if rest else None,
        camera=sum(camera) / len(camera) if camera else None,
    )


def print_demo(run: Run, output: Path, *, quiet: bool, as_json: bool) -> None:
    """The ranking of the actors, and what to look at next."""
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
                "A camera that does not follow its path does not test memory, however consistent the video is.",
                f"See a clip:        lookaway world show {example}",
                f"See every number:  lookaway show {output / 'run'}",
            ]
        )


EVENT_SUMMARIES = {
    "none": "nothing happens to the target",
    "spatial": "the target moves",
    "in_place": "the target changes where it stands",
    "both": "it moves and changes",
}


def catalogue() -> list[dict[str, str]]:
    """One row for every family, event, camera path, fault and actor that can be rendered."""
    rows = [("family", name, (inspect.getdoc(build) or "").partition("\n")[0]) for name, build in FAMILIES.items()]
    rows += [("event", name, EVENT_SUMMARIES[name]) for name in EVENTS]
    rows += [("camera", path.name, path.words) for path in CAMERAS.values()]
    rows += [("fault", fault.name, fault.summary) for fault in FAULTS.values()]
    rows += [("actor", actor.name, actor.summary) for actor in ACTORS.values()]
    return [{"kind": kind, "name": name, "what it is": words} for kind, name, words in rows]


def print_reports(root: Path, reports: Sequence[CaseReport], *, as_json: bool) -> None:
    """How many clips were rendered, reused and refused, and why."""
    refused = [f"{report.case}: {reason}" for report in reports for reason in report.refused]
    rendered, kept = sum(report.rendered for report in reports), sum(report.kept for report in reports)
    if as_json:
        print_json({"root": str(root), "rendered": rendered, "kept": kept, "refused": refused})
        return
    lines = [f"not rendered: {reason}" for reason in refused]
    lines.append(f"{amount(rendered, 'clip')} rendered, {kept} kept, {len(refused)} refused, in {root}")
    print_lines(lines)
