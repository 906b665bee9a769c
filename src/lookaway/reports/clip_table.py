"""One line for each clip of a run: whether memory was tested, how far the camera went, and what changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from lookaway.core import Json, Reason, UserError
from lookaway.reports.numbers import print_rows
from lookaway.reports.pair_pictures import flagged_by
from lookaway.reports.runs import LoadedRun, row_detail

VERDICT: Final = "remembered"
GATE: Final = "revisited"
FACTS: Final = {
    "changed_area": "{:.1f} % of the view",
    "light": "light by {:.2f} stops",
    "look": "look by {:.1f} Delta E",
}
"""What the verdict rests on, in words."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipLine:
    """What a run knows about one clip."""

    clip: str
    """Its rollout, as `--clip` takes it."""
    tested: str
    camera: str
    changed: str
    """What changed, that nothing did, or why that is not known."""


def clip_lines(run: LoadedRun) -> list[ClipLine]:
    """A line for each rollout, in the order of the run."""
    if VERDICT not in {metric.name for metric in run.metrics}:
        raise UserError(
            f"{run.name}: `{VERDICT}` was not measured, and a line for each clip rests on it. Measure it with "
            "`lookaway eval DATASET --suite revisit`, or use --layout models or rows."
        )
    rows: dict[str, dict[str, Row]] = {rollout: {} for rollout in run.rollouts}
    for row in run.items():
        if row["metric"] in (GATE, VERDICT, *FACTS):
            rows[row["rollout"]][row["metric"]] = row
    return [clip_line(rollout, known) for rollout, known in sorted(rows.items()) if VERDICT in known]


def has_verdicts(run: LoadedRun) -> bool:
    """Whether clips of the run can be shown one by one."""
    return any(metric.name == VERDICT for metric in run.metrics)


def print_clips(run: LoadedRun, *, as_json: bool) -> None:
    """All clips of a run."""
    print_rows([asdict(line) for line in clip_lines(run)], as_json=as_json)


def clip_line(rollout: str, rows: Mapping[str, Row]) -> ClipLine:
    """From the rows of `remembered`, of what it rests on and of the gate, where there is one."""
    gate = rows.get(GATE)
    detail = row_detail(gate) if gate else {}
    tested = _tested(gate, rows[VERDICT])
    why = detail.get("why")
    return ClipLine(
        clip=rollout,
        tested=tested,
        camera=_camera(detail),
        changed=f"not tested: {why}" if tested == "no" and why else _changed(rows),
    )


def _tested(gate: Row | None, verdict: Row) -> str:
    if gate is not None and gate["status"] == "score":
        return "yes" if gate["value"] == 1.0 else "no"
    if verdict["status"] == "score":
        return "yes"
    return "no" if verdict["reason"] == Reason.GATE_CLOSED else "unknown"


def _camera(detail: Mapping[str, Json]) -> str:
    """How far it went, by its poses or by the motion of the picture."""
    parts = []
    if isinstance(turned := detail.get("turned_degrees"), int | float):
        parts.append(f"turned {turned:.0f} degrees")
    if isinstance(shift := detail.get("shift_heights"), int | float):
        parts.append(f"picture shifted by {shift:.2f} heights")
    if isinstance(seen := detail.get("revisited_percent"), int | float):
        parts.append(f"{seen:.0f} % seen again")
    return ", ".join(parts) or "-"


def _changed(rows: Mapping[str, Row]) -> str:
    verdict = rows[VERDICT]
    if verdict["status"] != "score":
        return f"{verdict['reason'] or verdict['status']}: {verdict['message']}"
    flagged = flagged_by(VERDICT, row_detail(verdict))
    facts = [text.format(rows[name]["value"]) for name, text in FACTS.items() if name in flagged and name in rows]
    return ", ".join(facts) or ("nothing: remembered" if verdict["value"] == 1.0 else "not remembered")
