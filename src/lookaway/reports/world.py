"""The simulated world on the terminal: its catalogue, a rendered set, and the ranking of the demo."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lookaway.engine.run import Run
from lookaway.reports.leaderboards import Leaderboard, headline, leaderboards, matrix, ordered_models
from lookaway.reports.numbers import amount, fixed, print_json, print_lines, print_rows
from lookaway.reports.runs import load_runs
from lookaway.reports.site.answer import answers
from lookaway.reports.site.building import build_site
from lookaway.reports.table import table_json
from lookaway.statistics.rank_range import RankRange
from lookaway.world.actors import ACTORS
from lookaway.world.cameras import CAMERAS
from lookaway.world.events import EVENTS
from lookaway.world.families import FAMILIES
from lookaway.world.faults import FAULTS
from lookaway.world.rendering import CaseReport

SHOWN_METRICS = 3
"""Columns of numbers beside the models of the demo; `lookaway show` has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A model on the leaderboard that answers, in the order of the report."""

    model: str
    rank: RankRange | None
    """`None` where the report gives none: too few values, or memory was not tested."""
    is_tested: bool
    means: dict[str, float | None]
    """By metric of memory, in the order of the protocol."""


def standings(leaderboards: Sequence[Leaderboard]) -> list[Standing]:
    """The models as the report orders and ranks them; none where no metric has a finding."""
    board = headline(leaderboards)
    if board is None:
        return []
    rows = {row.model: row for row in board.rows}
    memory = _of_memory(leaderboards) or [board]
    return [
        Standing(
            model=model,
            rank=rows[model].ranks,
            is_tested=not rows[model].cell.is_untested,
            means={one.metric.name: _mean(model, one) for one in memory},
        )
        for model in ordered_models(memory)
        if model in rows
    ]


def _of_memory(leaderboards: Sequence[Leaderboard]) -> list[Leaderboard]:
    return [one for one in leaderboards if one.metric.is_consistency and one.has_findings]


def _mean(model: str, board: Leaderboard) -> float | None:
    estimates = [row.cell.estimate for row in board.rows if row.model == model]
    return next((estimate.mean for estimate in estimates if estimate), None)


def print_demo(run: Run, output: Path, *, quiet: bool, as_json: bool) -> None:
    """What the report answers, its ranks, and what to look at next; writes the report."""
    loaded = load_runs([run.path])
    boards = leaderboards(loaded)
    order = standings(boards)
    report = build_site(loaded, output / "report", title="lookaway demo")
    if as_json:
        ranked = [{**asdict(one), "rank": one.rank and asdict(one.rank)} for one in order]
        print_json({"standings": ranked, "table": table_json(run, loaded[0].table), "report": str(report)})
        return
    board = headline(boards)
    columns = {_column(one): one.metric.name for one in _of_memory(boards)[:SHOWN_METRICS]}
    rows = [
        {
            "rank": _rank(one),
            "actor": one.model,
            **{column: fixed(one.means[metric]) for column, metric in columns.items()},
            "what it does": ACTORS[one.model].summary,
        }
        for one in order
    ]
    print_rows(rows, as_json=False, right=("rank", *columns))
    if not quiet:
        example = min(output.glob("world/clips/*/amnesiac/0"))
        styles = {one.model: number for number, one in enumerate(order)}
        lead = answers(boards, [made for made in [board and matrix(board)] if made], styles, {})[0].lead
        print_lines(
            [
                "",
                "".join(part.text for part in lead),
                "A camera that never looks away does not test memory, however consistent the video is.",
                f"See a clip:        lookaway world show {example}",
                f"See every number:  lookaway show {output / 'run'}",
                f"Open the report:   {report}",
            ]
        )


def _column(board: Leaderboard) -> str:
    unit = board.metric.unit
    return board.words if unit in (None, "score", "share") else f"{board.words}, {unit}"


def _rank(standing: Standing) -> str:
    if not standing.is_tested:
        return "not tested"
    if standing.rank is None:
        return "-"
    best, worst = standing.rank.best, standing.rank.worst
    return f"{best}" if best == worst else f"{best}-{worst}"


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
