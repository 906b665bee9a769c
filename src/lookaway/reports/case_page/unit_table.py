"""Frame pairs, tracks, segments, phases and questions as rows that link to their frames."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lookaway.core.frames import segment_bounds
from lookaway.metrics.relative_pose import parse_action
from lookaway.reports.case_page.videos import CaseVideo, CaseVideos, Outcome, UnitRow

MAX_ROWS: Final = 160
"""The most rows of all tables of a page together; its CSV file has all of them."""
MIN_ROWS, MAX_ROWS_OF_ONE = 6, 24
MAX_JUMPS: Final = 4
PAIR: Final = re.compile(r"f([0-9]{1,9})_f([0-9]{1,9})")
PART: Final = re.compile(r"(segment|phase)([0-9]{1,4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitLine:
    """One unit of one video."""

    video: CaseVideo
    unit: UnitRow
    jumps: tuple[tuple[int, float], ...]
    """Frames of the unit, each with its time in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTable:
    """The units of one metric, the worst first."""

    metric: str
    run: str
    lines: tuple[UnitLine, ...]
    count: int
    """All units, shown or not."""


def unit_tables(case: CaseVideos) -> list[UnitTable]:
    """A table for every metric with units other than single frames."""
    found: dict[tuple[str, str], list[tuple[CaseVideo, Outcome, UnitRow]]] = {}
    for video, outcome in case.outcomes():
        if units := [unit for unit in outcome.units if unit.frame is None]:
            rows = found.setdefault((outcome.run.name, outcome.metric.name), [])
            rows.extend((video, outcome, unit) for unit in units)
    most = min(MAX_ROWS_OF_ONE, max(MIN_ROWS, MAX_ROWS // max(1, len(found))))
    return [_table(case, rows, most) for rows in found.values()]


def unit_frames(case: CaseVideos, video: CaseVideo, unit: UnitRow) -> list[int]:
    """The frames of a unit, as far as its name or detail gives them."""
    if pair := PAIR.fullmatch(unit.name):
        return [int(pair[1]), int(pair[2])]
    part = PART.fullmatch(unit.name)
    if part and case.case and video.clip:
        parts = len(case.case.prompt) if part[1] == "segment" else len(parse_action(case.case.action or "") or ())
        if int(part[2]) < parts:
            return [segment_bounds(video.clip.frame_count, parts)[int(part[2])][0]]
    detail = json.loads(unit.detail) if unit.detail else {}
    frames = detail.get("frames") if isinstance(detail, dict) else None
    return [frame for frame in frames if isinstance(frame, int)] if isinstance(frames, list) else []


def _table(case: CaseVideos, rows: Sequence[tuple[CaseVideo, Outcome, UnitRow]], most: int) -> UnitTable:
    outcome = rows[0][1]
    sign = -1 if outcome.metric.higher_is_better is False else 1
    ordered = sorted(
        rows, key=lambda row: (row[2].value is None, sign * (row[2].value or 0.0), row[0].key, row[2].name)
    )
    return UnitTable(
        metric=outcome.metric.name,
        run=outcome.run.name,
        lines=tuple(
            UnitLine(video=video, unit=unit, jumps=_jumps(case, video, unit)) for video, _, unit in ordered[:most]
        ),
        count=len(rows),
    )


def _jumps(case: CaseVideos, video: CaseVideo, unit: UnitRow) -> tuple[tuple[int, float], ...]:
    frames = unit_frames(case, video, unit)[:MAX_JUMPS]
    return tuple((frame, seconds) for frame in frames if (seconds := video.seconds(frame)) is not None)
