"""The page of one case: all its videos on one clock, and everything measured on them."""

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
from lookaway.reports.case_page.camera_path import camera_paths
from lookaway.reports.case_page.change_pictures import ChangePictures, change_pictures, flags
from lookaway.reports.case_page.curves import PLOT, BandRow, band_rows, curve_charts
from lookaway.reports.case_page.questions import judge_questions
from lookaway.reports.case_page.reproduce import reproduce_command
from lookaway.reports.case_page.unit_table import unit_tables
from lookaway.reports.case_page.videos import CaseVideo, CaseVideos, Outcome
from lookaway.reports.charts.svg import mark
from lookaway.reports.leaderboards import HEADLINE
from lookaway.reports.numbers import amount
from lookaway.reports.site.facts import long_text
from lookaway.reports.site.media import PlayableClip
from lookaway.reports.site.rendering import Sources, slug, write_page

SOURCES: Final = Sources(styles=("site.css", "item.css"), scripts=("player.js",))
ALIVE: Final = 6
"""Videos that play at once; browsers stop decoding when there are many more."""
EVEN_SECONDS: Final = 1e-3
"""How far frame times may be from evenly spaced ones."""
ON_A_PAGE: Final = {"is_folded": False, "at": "", "level": 2}
"""Context of the templates that a single-file report uses as well."""
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


def write_item_page(case: CaseVideos, output: Path) -> str:
    """Write the page of a case, and its numbers as CSV; returns its address."""
    name = slug(case.id)
    rows = band_rows(case)
    paths, no_paths = camera_paths(case)
    changes = change_pictures(case, output)
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
        player=_player(case, rows, changes),
        curves=curve_charts(case),
        plot=PLOT,
        units=unit_tables(case),
        paths=paths,
        no_paths=no_paths,
        changes=changes.shown,
        overlays=changes.overlays,
        verdict=verdict(case),
        evidence=changes.links(),
        questions=judge_questions(case),
        data=data,
        long=lambda text: long_text(text, lambda whole: _keep_text(whole, output)),
        mark=mark,
        **ON_A_PAGE,
        **measured_on(case),
    )
    return f"items/{name}.html"


def _seconds(case: CaseVideos) -> float:
    return max((video.clip.seconds for video in case.videos if video.clip), default=0.0)


def _player(case: CaseVideos, rows: Sequence[BandRow], changes: ChangePictures) -> Json:
    videos = [_video(video.key, video.clip, 0.0) for video in case.videos if video.clip]
    if isinstance(case.reference, PlayableClip) and case.case and case.case.reference:
        start = min(case.case.reference.start, case.reference.frame_count - 1)
        videos.insert(0, _video("reference", case.reference, case.reference.times[start]))
    bands = [{"name": band.name, "start": band.start, "end": band.end} for band in (rows[0].bands if rows else ())]
    returns = {key: picture.frames[1] for key, picture in changes.overlays.items()}
    return {"seconds": _seconds(case), "alive": ALIVE, "videos": videos, "bands": bands, "returns": returns}


def verdict(case: CaseVideos) -> str:
    """How many videos of the case remembered; empty where no metric says so."""
    found = [outcome for _, outcome in case.outcomes() if outcome.metric.name == HEADLINE]
    tested = [outcome.value for outcome in found if outcome.value is not None and outcome.is_counted]
    if not found:
        return ""
    untested = len(found) - len(tested)
    left = f"{untested} {'was' if untested == 1 else 'were'} not tested."
    if not tested:
        return f"No video tested memory: {left}"
    remembered = sum(value > 0.5 for value in tested)
    said = f"{remembered or 'None'} of {amount(len(tested), 'tested video')} remembered"
    return f"{said}; {left}" if untested else f"{said}."


def _video(key: str, clip: PlayableClip, offset: float) -> Json:
    times, count = clip.times, clip.frame_count
    is_even = all(abs(time - times[-1] * n / count) <= EVEN_SECONDS for n, time in enumerate(times))
    return {
        "key": key,
        "source": f"../{clip.href}",
        "offset": offset,
        "frames": count,
        "times": [times[-1]] if is_even else list(times),
    }


def _numbers(case: CaseVideos) -> str:
    """Every outcome and every unit of the case as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for video, outcome in case.outcomes():
        writer.writerows(_number_rows(video, outcome))
    return text.getvalue()


def _number_rows(video: CaseVideo, outcome: Outcome) -> list[Mapping[str, Any]]:
    about = {
        "run": outcome.run.name,
        "model": video.rollout.model,
        "seed": video.rollout.seed,
        "metric": outcome.metric.name,
        "metric_lock": outcome.metric.lock,
    }
    whole = {name: getattr(outcome, name) for name in ("status", "reason", "value", "raw", "message")}
    parts = [
        {"unit": unit.name, "status": unit.status, "reason": unit.reason, "value": unit.value, "message": unit.message}
        for unit in outcome.units
    ]
    return [{**about, **part} for part in (whole, *parts)]


def _keep_text(text: str, output: Path) -> str:
    encoded = text.encode("utf-8", "backslashreplace")
    href = f"data/texts/{hashlib.sha256(encoded).hexdigest()[:20]}.txt"
    write_text(output / href, encoded.decode())
    return href


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One metric of one run, with its outcome for every video."""

    run: str
    metric: str
    unit: str | None
    higher_is_better: bool | None
    lock: str
    outcomes: tuple[Outcome | None, ...]
    flags: tuple[bool, ...]
    """Whether each of them is above its limit."""


def measured_on(case: CaseVideos) -> dict[str, Any]:
    """Values, reasons where there is none, and commands that reproduce them, by the names that templates use."""
    rows = _metric_rows(case)
    return {
        "metrics": rows,
        "has_flags": any(any(row.flags) for row in rows),
        "unscored": _unscored(case),
        "commands": _commands(case),
        "several_runs": len({outcome.run.name for _, outcome in case.outcomes()}) > 1,
    }


def _metric_rows(case: CaseVideos) -> list[MetricRow]:
    found: dict[tuple[str, str], dict[str, Outcome]] = {}
    flagged = {video.key: flags(video) for video in case.videos}
    for video, outcome in case.outcomes():
        found.setdefault((outcome.run.name, outcome.metric.name), {})[video.key] = outcome
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
                outcomes=tuple(outcomes.get(video.key) for video in case.videos),
                flags=tuple((run, metric) in flagged[video.key] for video in case.videos),
            )
        )
    return rows


def _unscored(case: CaseVideos) -> list[tuple[str, str, str, str, list[CaseVideo]]]:
    """Status, metric, reason and message of every outcome without a value, with its videos."""
    found: dict[tuple[str, str, str, str], list[CaseVideo]] = {}
    for video, outcome in case.outcomes():
        if outcome.status != "score":
            key = (outcome.status, outcome.metric.name, outcome.reason or "", outcome.message or "")
            found.setdefault(key, []).append(video)
    return [(*key, videos) for key, videos in found.items()]


def _commands(case: CaseVideos) -> list[tuple[CaseVideo, str, str]]:
    """The first video of each model and run, the run, and the command that reproduces it with its other seeds."""
    found: dict[str, tuple[CaseVideo, str, str]] = {}
    for video in case.videos:
        for run in {outcome.run.name: outcome.run for outcome in video.outcomes}.values():
            command = reproduce_command(run, video.rollout)
            found.setdefault(command, (video, run.name, command))
    return list(found.values())
