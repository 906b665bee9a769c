"""Drift curves for people: on the terminal and as Markdown; and whole, as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from lookaway.core import Estimate
from lookaway.engine.run import Run
from lookaway.reports.drift import Drift
from lookaway.reports.numbers import LEAST_DIGITS, digits_for, fixed
from lookaway.reports.text import print_json, print_lines, print_rows, visible
from lookaway.statistics.half_life import HalfLife

RIGHT = ("frames", "mean", "change", "rollouts", "scenes", "start", "towards", "half-life")
FRAMES_EXPLAINED = "change: since the first bin, of the same rollouts; frames since the mark; half-life in frames"
MARKDOWN_SIGNS = re.compile(r"([\\`*_{}\[\]()<>#+!|~&])")


def print_drifts(run: Run, found: Sequence[Drift], *, as_json: bool) -> None:
    """Every curve with its bands, then every half-life."""
    if as_json:
        print_json(drifts_json(run, found))
        return
    for drift in found:
        print_lines([title(drift)])
        print_rows(curve_rows(drift), as_json=False, right=RIGHT)
        print_lines([""])
    print_rows([half_life_row(drift) for drift in found], as_json=False, right=RIGHT)
    print_lines([FRAMES_EXPLAINED, _origin(run)])


def drifts_json(run: Run, found: Sequence[Drift]) -> dict[str, Any]:
    """The curves unrounded, for programs."""
    return {"lock_sha256": run.about["lock_sha256"], "curves": [asdict(drift) for drift in found]}


def drifts_markdown(run: Run, found: Sequence[Drift]) -> str:
    """The same tables as on the terminal; text of datasets is taken neither for markup nor for a column."""
    parts = []
    for drift in found:
        parts += [f"## {_plain(title(drift))}", _markdown_table(curve_rows(drift))]
    parts += ["## Half-lives", _markdown_table([half_life_row(drift) for drift in found])]
    return "\n\n".join([*parts, FRAMES_EXPLAINED, _plain(_origin(run))]) + "\n"


def title(drift: Drift) -> str:
    """Which curve it is."""
    return f"{drift.metric}  {drift.subset}  {drift.model}"


def curve_rows(drift: Drift) -> list[dict[str, str]]:
    """The bins of a curve as people read them, all with the same count of digits."""
    digits = digits_for([entry.estimate.mean for entry in drift.bins])
    return [
        {
            "frames": f"{entry.first}-{entry.last}" if entry.last > entry.first else f"{entry.first}",
            "mean": fixed(entry.estimate.mean, digits),
            "95 %": _band(entry.estimate, digits),
            "change": fixed(entry.change.mean if entry.change else None, digits),
            "change 95 %": _band(entry.change, digits),
            "rollouts": f"{entry.estimate.scored} of {drift.rollouts}",
            "scenes": f"{entry.estimate.scenes}",
        }
        for entry in drift.bins
    ]


def half_life_row(drift: Drift) -> dict[str, str]:
    """The half-life of a curve, or why there is none."""
    life = drift.half_life
    digits = digits_for([life.start, life.towards]) if life else LEAST_DIGITS
    return {
        "metric": drift.metric,
        "subset": drift.subset,
        "model": drift.model,
        "start": fixed(life.start if life else drift.bins[0].estimate.mean, digits),
        "towards": fixed(life.towards if life else None, digits),
        "half-life": _frames(life.frames, life.within) if life else "-",
        "95 %": _frames_band(life),
        "not told": drift.no_half_life,
    }


def _frames(frames: float | None, within: float) -> str:
    return f"> {fixed(within, 1)}" if frames is None else fixed(frames, 1)


def _frames_band(life: HalfLife | None) -> str:
    if life is None or life.interval is None:
        return "-"
    low, high = life.interval
    return f"[{_frames(low, life.within)}, {_frames(high, life.within)}]"


def _band(estimate: Estimate | None, digits: int) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return "-"
    return f"[{fixed(estimate.low, digits)}, {fixed(estimate.high, digits)}]"


def _origin(run: Run) -> str:
    return f"lock {run.about['lock_sha256'][:16]}  95 % intervals clustered by scene"


def _markdown_table(rows: Sequence[dict[str, str]]) -> str:
    lines = [list(rows[0]), ["---:" if name in RIGHT else "---" for name in rows[0]]]
    lines += [[_plain(value) for value in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    return MARKDOWN_SIGNS.sub(r"\\\1", visible(text))
