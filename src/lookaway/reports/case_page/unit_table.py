"""Frame pairs, tracks, segments, phases and questions as rows that lead to their frames."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lookaway.core.frames import segment_bounds
from lookaway.metrics.relative_pose import parse_action
from lookaway.reports.case_page.videos import CaseTakes, CaseVideo, Outcome, UnitRow

MAX_ROWS: Final = 160
"""Of all tables of a page together; the file of its numbers has them all."""
MIN_ROWS, MAX_ROWS_OF_ONE = 6, 24
MAX_JUMPS: Final = 4
PAIR: Final = re.compile(r"f([0-9]{1,9})_f([0-9]{1,9})")
PART: Final = re.compile(r"(segment|phase)([0-9]{1,4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitLine:
    """One unit of one video."""

    take: CaseVideo
    unit: UnitRow
    jumps: tuple[tuple[int, float], ...]
    """Frames to look at, each with its second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTable:
    """The units of one metric, the worst first."""

    metric: str
    run: str
    lines: tuple[UnitLine, ...]
    count: int
    """Of all units, shown or not."""


def unit_tables(case: CaseTakes) -> list[UnitTable]:
    """A table for every metric with units other than single frames."""
    found: dict[tuple[str, str], list[tuple[CaseVideo, Outcome, UnitRow]]] = {}
    for take in case.takes:
        for outcome in take.outcomes:
            units = [unit for unit in outcome.units if unit.frame is None]
            if units:
                rows = found.setdefault((outcome.run.name, outcome.metric.name), [])
                rows.extend((take, outcome, unit) for unit in units)
    most = min(MAX_ROWS_OF_ONE, max(MIN_ROWS, MAX_ROWS // max(1, len(found))))
    return [_table(case, rows, most) for rows in found.values()]


def unit_frames(case: CaseTakes, take: CaseVideo, unit: UnitRow) -> list[int]:
    """The frames that a unit is about, as far as its name or its detail tells."""
    if pair := PAIR.fullmatch(unit.name):
        return [int(pair[1]), int(pair[2])]
    part = PART.fullmatch(unit.name)
    if part and case.case and take.clip:
        parts = len(case.case.prompt) if part[1] == "segment" else len(parse_action(case.case.action or "") or ())
        if int(part[2]) < parts:
            return [segment_bounds(take.clip.frame_count, parts)[int(part[2])][0]]
    detail = json.loads(unit.detail) if unit.detail else {}
    frames = detail.get("frames") if isinstance(detail, dict) else None
    return [frame for frame in frames if isinstance(frame, int)] if isinstance(frames, list) else []


def _table(case: CaseTakes, rows: Sequence[tuple[CaseVideo, Outcome, UnitRow]], most: int) -> UnitTable:
    outcome = rows[0][1]
    sign = -1 if outcome.metric.higher_is_better is False else 1
    ordered = sorted(
        rows, key=lambda row: (row[2].value is None, sign * (row[2].value or 0.0), row[0].key, row[2].name)
    )
    return UnitTable(
        metric=outcome.metric.name,
        run=outcome.run.name,
        lines=tuple(UnitLine(take=take, unit=unit, jumps=_jumps(case, take, unit)) for take, _, unit in ordered[:most]),
        count=len(rows),
    )


def _jumps(case: CaseTakes, take: CaseVideo, unit: UnitRow) -> tuple[tuple[int, float], ...]:
    frames = unit_frames(case, take, unit)[:MAX_JUMPS]
    return tuple((frame, seconds) for frame in frames if (seconds := take.seconds(frame)) is not None)
