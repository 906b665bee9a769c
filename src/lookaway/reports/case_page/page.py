"""One page about one case: all its videos on one clock, and all that was measured on them."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lookaway.core import Json
from lookaway.io.files import write_text
from lookaway.reports.case_page.camera_path import camera_paths
from lookaway.reports.case_page.curves import PLOT, BandRow, band_rows, curve_charts
from lookaway.reports.case_page.measured_on import measured_on
from lookaway.reports.case_page.questions import judge_questions
from lookaway.reports.case_page.unit_table import unit_tables
from lookaway.reports.case_page.videos import CaseTakes, CaseVideo, Outcome
from lookaway.reports.charts.svg import mark
from lookaway.reports.site.facts import long_text
from lookaway.reports.site.media import Clip
from lookaway.reports.site.rendering import Sources, slug, write_page

SOURCES: Final = Sources(styles=("site.css", "item.css"), scripts=("player.js",))
ALIVE: Final = 6
"""Videos that play at once; browsers stop decoding when there are many more."""
EVEN_SECONDS: Final = 1e-3
"""How far the times of frames may be from even ones."""
ON_A_PAGE: Final = {"is_folded": False, "at": "", "level": 2}
"""What the parts of a case that other pages show too should know of this one."""
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
        curves=curve_charts(case),
        plot=PLOT,
        units=unit_tables(case),
        paths=paths,
        no_paths=no_paths,
        questions=judge_questions(case),
        data=data,
        long=lambda text: long_text(text, lambda whole: _keep_text(whole, output)),
        mark=mark,
        **ON_A_PAGE,
        **measured_on(case),
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


def _number_rows(take: CaseVideo, outcome: Outcome) -> list[Mapping[str, Any]]:
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


def _keep_text(text: str, output: Path) -> str:
    encoded = text.encode("utf-8", "backslashreplace")
    href = f"data/texts/{hashlib.sha256(encoded).hexdigest()[:20]}.txt"
    write_text(output / href, encoded.decode())
    return href
