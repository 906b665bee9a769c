"""One page about one case: all its videos on one clock, and all that was measured on them."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lookaway.core import Json
from lookaway.io.files import write_text
from lookaway.reports.site.bands import BandRow, band_rows
from lookaway.reports.site.camera_path import camera_paths
from lookaway.reports.site.charts.svg import mark
from lookaway.reports.site.curves import PLOT, curve_charts
from lookaway.reports.site.media import Clip
from lookaway.reports.site.questions import judge_questions
from lookaway.reports.site.rendering import Sources, slug, write_page
from lookaway.reports.site.reproduce import reproduce_command
from lookaway.reports.site.takes import CaseTakes, Outcome, Take
from lookaway.reports.site.unit_table import unit_tables

SOURCES: Final = Sources(styles=("site.css", "item.css"), scripts=("player.js",))
ALIVE: Final = 6
"""Videos that play at once; browsers stop decoding when there are many more."""
MOST_CHARACTERS: Final = 2_000
"""Of one text; what is longer lies in a file of its own, so that no caption makes a page heavy."""
EVEN_SECONDS: Final = 1e-3
"""How far the times of frames may be from even ones."""
COLUMNS: Final = (
    "run",
    "model",
    "seed",
    "metric",
    "metric_lock",
    "unit",
    "status",
    "reason",
    "value",
    "raw",
    "message",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongText:
    """Text of a dataset or a judge, of any length."""

    shown: str
    length: int
    href: str | None
    """Where the whole lies, from the root of the site; `None` where all of it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One metric of one run, with what it says of every video."""

    run: str
    metric: str
    unit: str | None
    higher_is_better: bool | None
    lock: str
    outcomes: tuple[Outcome | None, ...]


def write_item_page(case: CaseTakes, output: Path) -> str:
    """Write the page of a case, and the file of its numbers; returns its place from the root of the site."""
    name = slug(case.id)
    rows = band_rows(case)
    paths, no_paths = camera_paths(case)
    data = f"data/items/{name}.csv"
    write_text(output / data, _numbers(case))
    write_page(
        output,
        f"items/{name}.html",
        "item.html.j2",
        sources=SOURCES,
        case=case,
        alive=ALIVE,
        bands=rows,
        seconds=_seconds(case),
        player=_player(case, rows),
        metrics=_metric_rows(case),
        silent=_silent(case),
        curves=curve_charts(case),
        plot=PLOT,
        units=unit_tables(case),
        paths=paths,
        no_paths=no_paths,
        questions=judge_questions(case),
        commands=_commands(case),
        data=data,
        long=lambda text: _long_text(str(text), output),
        mark=mark,
        several_runs=len({outcome.run.name for take in case.takes for outcome in take.outcomes}) > 1,
    )
    return f"items/{name}.html"


def _seconds(case: CaseTakes) -> float:
    return max((take.clip.seconds for take in case.takes if take.clip), default=0.0)


def _player(case: CaseTakes, rows: Sequence[BandRow]) -> Json:
    videos = [_video(take.key, take.clip, 0.0) for take in case.takes if take.clip]
    if isinstance(case.reference, Clip) and case.case and case.case.reference:
        start = min(case.case.reference.start, case.reference.frame_count - 1)
        videos.insert(0, _video("truth", case.reference, case.reference.times[start]))
    bands = [{"name": band.name, "start": band.start, "end": band.end} for band in (rows[0].bands if rows else ())]
    return {"seconds": _seconds(case), "alive": ALIVE, "videos": videos, "bands": bands}


def _video(key: str, clip: Clip, offset: float) -> Json:
    times, count = clip.times, clip.frame_count
    is_even = all(abs(time - times[-1] * n / count) <= EVEN_SECONDS for n, time in enumerate(times))
    return {
        "key": key,
        "source": f"../{clip.href}",
        "offset": offset,
        "frames": count,
        "times": [times[-1]] if is_even else list(times),
    }


def _metric_rows(case: CaseTakes) -> list[MetricRow]:
    found: dict[tuple[str, str], dict[str, Outcome]] = {}
    for take in case.takes:
        for outcome in take.outcomes:
            found.setdefault((outcome.run.name, outcome.metric.name), {})[take.key] = outcome
    rows = []
    for (run, metric), outcomes in found.items():
        known = next(iter(outcomes.values())).metric
        rows.append(
            MetricRow(
                run=run,
                metric=metric,
                unit=known.unit,
                higher_is_better=known.higher_is_better,
                lock=known.lock,
                outcomes=tuple(outcomes.get(take.key) for take in case.takes),
            )
        )
    return rows


def _silent(case: CaseTakes) -> list[tuple[str, str, str, str, list[Take]]]:
    """Status, metric, reason and message of everything without a value, with the videos it is true of."""
    found: dict[tuple[str, str, str, str], list[Take]] = {}
    for take in case.takes:
        for outcome in take.outcomes:
            if outcome.status != "score":
                key = (outcome.status, outcome.metric.name, outcome.reason or "", outcome.message or "")
                found.setdefault(key, []).append(take)
    return [(*key, takes) for key, takes in found.items()]


def _commands(case: CaseTakes) -> list[tuple[Take, str, str]]:
    """The first video of each model and run, the run, and the command that measures it again with its other seeds."""
    found: dict[str, tuple[Take, str, str]] = {}
    for take in case.takes:
        for run in {outcome.run.name: outcome.run for outcome in take.outcomes}.values():
            command = reproduce_command(run, take.rollout)
            found.setdefault(command, (take, run.name, command))
    return list(found.values())


def _numbers(case: CaseTakes) -> str:
    """Every outcome and every unit of the case as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for take in case.takes:
        for outcome in take.outcomes:
            for row in _number_rows(take, outcome):
                writer.writerow(row)
    return text.getvalue()


def _number_rows(take: Take, outcome: Outcome) -> list[Mapping[str, Any]]:
    about = {
        "run": outcome.run.name,
        "model": take.rollout.model,
        "seed": take.rollout.seed,
        "metric": outcome.metric.name,
        "metric_lock": outcome.metric.lock,
    }
    whole = {name: getattr(outcome, name) for name in ("status", "reason", "value", "raw", "message")}
    parts = [
        {"unit": unit.name, "status": unit.status, "reason": unit.reason, "value": unit.value, "message": unit.message}
        for unit in outcome.units
    ]
    return [{**about, **part} for part in (whole, *parts)]


def _long_text(text: str, output: Path) -> LongText:
    if len(text) <= MOST_CHARACTERS:
        return LongText(shown=text, length=len(text), href=None)
    encoded = text.encode("utf-8", "backslashreplace")
    href = f"data/texts/{hashlib.sha256(encoded).hexdigest()[:20]}.txt"
    write_text(output / href, encoded.decode())
    return LongText(shown=text[:MOST_CHARACTERS], length=len(text), href=href)
