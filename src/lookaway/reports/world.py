"""What the simulated world offers, and what became of a rendered set."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path

from lookaway.reports.numbers import amount, print_json, print_lines
from lookaway.world.actors import ACTORS
from lookaway.world.cameras import CAMERAS
from lookaway.world.events import EVENTS
from lookaway.world.families import FAMILIES
from lookaway.world.faults import FAULTS
from lookaway.world.rendering import CaseReport

EVENT_WORDS = {
    "none": "nothing happens to the target",
    "spatial": "the target moves",
    "in_place": "the target changes where it stands",
    "both": "it moves and changes",
}


def catalogue() -> list[dict[str, str]]:
    """One row for everything that `world render` can be asked for."""
    rows = [("family", name, (inspect.getdoc(build) or "").partition("\n")[0]) for name, build in FAMILIES.items()]
    rows += [("event", name, EVENT_WORDS[name]) for name in EVENTS]
    rows += [("camera", path.name, path.words) for path in CAMERAS.values()]
    rows += [("fault", fault.name, fault.summary) for fault in FAULTS.values()]
    rows += [("actor", actor.name, actor.summary) for actor in ACTORS.values()]
    return [{"kind": kind, "name": name, "what it is": words} for kind, name, words in rows]


def print_reports(root: Path, reports: Sequence[CaseReport], *, as_json: bool) -> None:
    """How many clips were rendered, kept and refused, and why."""
    refused = [f"{report.case}: {reason}" for report in reports for reason in report.refused]
    rendered, kept = sum(report.rendered for report in reports), sum(report.kept for report in reports)
    if as_json:
        print_json({"root": str(root), "rendered": rendered, "kept": kept, "refused": refused})
        return
    lines = [f"not rendered: {reason}" for reason in refused]
    lines.append(f"{amount(rendered, 'clip')} rendered, {kept} kept, {len(refused)} refused, in {root}")
    print_lines(lines)
