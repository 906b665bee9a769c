"""The table of a run on the terminal, as models and metrics or one number a line, and the result of a merge."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from rich.table import Table as RichTable
from rich.text import Text

from lookaway.calibration.run_cards import RunCards, cards_of
from lookaway.core import TESTED, TRIGGERED, Cell, Estimate, Json, Table
from lookaway.engine.merging import missing_shards
from lookaway.engine.run import Run
from lookaway.reports.as_published import NOT_AS_PUBLISHED, not_as_published
from lookaway.reports.card_notes import (
    EQUAL,
    card_notes,
    cards_json,
    column_mark,
    equal_to_best,
    smallest_differences,
)
from lookaway.reports.clip_table import has_verdicts, print_clips
from lookaway.reports.leaderboards import Leaderboard, LeaderboardRow, leaderboards, ordered_models
from lookaway.reports.missing_values import missing_values
from lookaway.reports.numbers import (
    amount,
    console,
    counts,
    digits_for,
    estimate_interval,
    fixed,
    print_json,
    print_lines,
    print_rows,
    visible,
)
from lookaway.reports.runs import control_of, load_run
from lookaway.reports.scene_notes import WEIGHTING, SceneOfRollout, few_scene_notes, seed_scene_notes
from lookaway.statistics.precision import Mark, precision
from lookaway.store.run_folder import RunFolder

PROTOCOL_TITLES: Final = ("as published:", "corrected:")
MARKS = f"{Mark.IMPRECISE.value} imprecise, {Mark.NOT_ESTIMABLE.value} fewer than 10 values"
OWN_WORDING: Final = "own wording"
"""The project holds nobody's text: without a folder of prompts all questions are in its own words."""
SHOWN_CHARACTERS: Final = 16
"""Characters of a hash."""


Layout: TypeAlias = Literal["auto", "models", "clips", "rows"]
"""One line a model and a column a metric, one line a clip, or one line a number.

`auto` is the first in a terminal, with the clips of a single model below it, else the last."""
MAX_CLIPS: Final = 40
"""Clips of a single model that are listed without being asked for."""


def print_table(
    run: Run, table: Table, *, as_json: bool, controls: Sequence[str] = (), layout: Layout = "auto"
) -> None:
    """The means of a run with marks, n of N, and why the rest is missing; those of controls come last."""
    known = dict(control_of(text, {cell.model for cell in table.cells}) for text in controls)
    table = replace(table, cells=tuple(sorted(table.cells, key=lambda cell: cell.model in known)))
    if layout == "clips":
        print_clips(load_run(run, run.path.name), as_json=as_json)
    elif as_json:
        print_json({**table_json(run, table), **({"controls": dict(known)} if known else {})})
    elif table.cells and (layout == "models" or (layout == "auto" and sys.stdout.isatty())):
        _print_models(run, table, known)
    else:
        _print_cells(run, table, known)


def _print_cells(run: Run, table: Table, controls: Mapping[str, str]) -> None:
    """One line a number, with its interval and its reasons; a table for each protocol."""
    cards = cards_of(run)
    equal = equal_to_best(table.cells, cards.found)
    spans = {metric.name: metric.span for metric in run.metrics}
    departures = not_as_published(run)
    marks = {
        metric.name: [
            column_mark(cards.frozen.get(metric.name), is_consistency=metric.is_consistency),
            NOT_AS_PUBLISHED if metric.name in departures else "",
        ]
        for metric in run.metrics
    }
    texts: list[str] = []
    for title, cells in _by_protocol(run, table.cells):
        label = next((cell.gated.label for cell in cells if cell.gated), None)
        has_tested = any(cell.tested for cell in cells)
        has_untested = any(cell.untested and not cell.tested for cell in cells)
        rows = [
            {
                **_marked_row(_row(cell, controls, spans), cell, equal, marks[cell.metric]),
                **(_gate_columns(cell, label or TESTED) if label or has_tested else {}),
                **(_tested_column(cell) if has_tested else {}),
                **({"untested": f"{cell.untested}"} if has_untested else {}),
            }
            for cell in cells
        ]
        print_lines([title] if title else [])
        print_rows(rows, as_json=False, right=("score", "raw", "scored", TRIGGERED, TESTED, "M-Score", "untested"))
        print_lines([""] if title else [])
        texts += [row["score"] for row in rows]
    _print_notes(run, table, controls, cards, equal, has_marks=_has_marks(texts))


def _by_protocol(run: Run, cells: Sequence[Cell]) -> list[tuple[str, tuple[Cell, ...]]]:
    """The cells as one table, or where a run has both protocols as two: their numbers are never in one."""
    if run.protocol != "both":
        return [("", tuple(cells))]
    corrected = {metric.name for metric in run.metrics if metric.protocol == "corrected"}
    parts = (
        tuple(cell for cell in cells if (cell.metric in corrected) == is_corrected) for is_corrected in (False, True)
    )
    return list(zip(PROTOCOL_TITLES, parts, strict=True))


def _has_marks(texts: Iterable[str]) -> bool:
    return any(mark.value in text for text in texts for mark in Mark if mark.value)


def _print_notes(
    run: Run,
    table: Table,
    controls: Mapping[str, str],
    cards: RunCards,
    equal: Collection[tuple[str, str, str]],
    *,
    has_marks: bool,
) -> None:
    lines = [group.line for group in missing_values(run, table.cells)]
    lines += [f"note: {note}" for note in (*table.notes, *_scene_notes(run, table), *card_notes(cards))]
    if equal:
        least = smallest_differences(cards.found, sorted({metric for _, metric, _ in equal}))
        lines.append(f"{EQUAL} not told from the best; smallest differences: {least}")
    lines += [f"control: {model}: {what}" for model, what in controls.items()]
    about = run.about
    lines += [f"{NOT_AS_PUBLISHED}: {name}: {why}" for name, why in not_as_published(run).items()]
    if run.protocol == "published":
        lines.append("as published; without the defects of the publication: --protocol corrected")
    lines += [f"warning: {shard}: their rollouts are not in this table" for shard in missing_shards(about)]
    if problems := about["problems"]:
        lines.append(f"warning: the dataset has {amount(len(problems), 'problem')}; `lookaway validate` lists them")
    shown = f"; {MARKS}" if has_marks else ""
    lines += _judge_lines(run)
    lines.append(f"lock {run.about['lock_sha256'][:SHOWN_CHARACTERS]}  suite {table.suite}  {WEIGHTING}{shown}")
    print_lines(lines)


BEST: Final = "*"
HEAD_WIDTH: Final = 12
"""The width that the words of a metric's name are packed into."""
GAP: Final = 2


@dataclass(frozen=True, slots=True)
class _Column:
    """One metric on one subset, as text."""

    head: tuple[str, ...]
    cells: Mapping[str, str]
    """By model."""
    support: str

    @property
    def width(self) -> int:
        return max(map(len, (*self.head, *self.cells.values(), self.support)))


def _print_models(run: Run, table: Table, controls: Mapping[str, str]) -> None:
    """One line a model, in blocks of as many metrics as the terminal has room for."""
    loaded = replace(load_run(run, run.path.name), table=table, controls=controls)
    found = [board for board in leaderboards([loaded]) if board.has_findings]
    memory = [board for board in found if board.metric.is_consistency]
    found = [*memory, *(board for board in found if not board.metric.is_consistency)]
    cards = loaded.cards
    equal = equal_to_best(table.cells, cards.found)
    models = ordered_models(memory or found)
    width = shutil.get_terminal_size().columns
    columns: list[_Column] = []
    has_subsets = len({board.subset for board in found}) > 1
    departures = not_as_published(run)
    for title, boards in zip(PROTOCOL_TITLES, _boards_by_protocol(found), strict=True):
        own = [_column(board, equal, departures, has_subsets=has_subsets) for board in boards]
        if own and run.protocol == "both":
            print_lines([title])
        for block in _blocks(own, max(map(len, models), default=0), width):
            console().print(_block_table(block, models, controls, width))
            console().print()
        columns += own
    if len(models) == 1 and len(loaded.rollouts) <= MAX_CLIPS and has_verdicts(loaded):
        print_clips(loaded, as_json=False)
        print_lines([""])
    texts = [text for column in columns for text in column.cells.values()]
    best = [f"{BEST} not significantly different from the best"] if any(BEST in text for text in texts) else []
    print_lines([*best, "Intervals, raw values and all reasons: lookaway show RUN --layout rows"])
    _print_notes(run, table, controls, cards, equal, has_marks=_has_marks(texts))


def _boards_by_protocol(boards: Sequence[Leaderboard]) -> tuple[list[Leaderboard], list[Leaderboard]]:
    found: tuple[list[Leaderboard], list[Leaderboard]] = ([], [])
    for board in boards:
        found[board.metric.protocol == "corrected"].append(board)
    return found


def _column(
    board: Leaderboard, equal: Collection[tuple[str, str, str]], departures: Collection[str], *, has_subsets: bool
) -> _Column:
    digits = digits_for([row.cell.estimate.mean for row in board.rows if row.cell.estimate])
    is_race = sum(row.tie is not None for row in board.rows) > 1
    counted = [row.cell.scored for row in board.rows]
    asked = max(row.cell.asked for row in board.rows)
    least, most = min(counted), max(counted)
    arrow = {True: "", False: " (low)", None: ""}[board.metric.higher_is_better]
    marks = [board.mark, NOT_AS_PUBLISHED if board.metric.name in departures else ""]
    won = "".join(f" ({mark})" for mark in marks if mark)
    words = [*([board.subset] if has_subsets else []), *f"{board.words}{arrow}{won}".split()]
    return _Column(
        head=_packed([visible(word) for word in words]),
        cells={
            row.model: _cell_text(row, digits, is_race=is_race)
            + (EQUAL if (row.model, board.metric.name, board.subset) in equal else "")
            for row in board.rows
        },
        support=f"{most} of {asked}" if least == most else f"{least}-{most} of {asked}",
    )


def _cell_text(row: LeaderboardRow, digits: int, *, is_race: bool) -> str:
    if row.cell.estimate is None:
        return "not tested" if row.cell.is_untested else "-"
    best = BEST if is_race and row.tie == 0 else ""
    return f"{fixed(row.cell.estimate.mean, digits)}{row.precision.mark.value}{best}"


def _packed(words: Sequence[str]) -> tuple[str, ...]:
    """Words in lines no wider than a head, where no single word is.

    >>> _packed(["spatial", "within", "2px", "moving"])
    ('spatial', 'within 2px', 'moving')
    """
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= HEAD_WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return tuple(lines)


def _blocks(columns: Sequence[_Column], names: int, width: int) -> list[list[_Column]]:
    """Columns in as few blocks as fit the width beside the names of the models, at least one in each."""
    names = min(names, width // 2)
    blocks: list[list[_Column]] = []
    used = width
    for column in columns:
        if used + GAP + column.width > width:
            blocks.append([])
            used = max(names, len("n of N"))
        blocks[-1].append(column)
        used += GAP + column.width
    return blocks


def _block_table(block: Sequence[_Column], models: Sequence[str], controls: Mapping[str, str], width: int) -> RichTable:
    made = RichTable(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    made.add_column("model", overflow="fold", max_width=width // 2, vertical="top")
    for column in block:
        made.add_column(Text("\n".join(column.head)), justify="right", overflow="fold", vertical="bottom")
    for model in models:
        cells = [column.cells.get(model, "-") for column in block]
        style = "dim" if model in controls else ""
        styles = [f"{style} bold".strip() if BEST in text else style for text in cells]
        shown = [Text(text, style=own) for text, own in zip(cells, styles, strict=True)]
        made.add_row(Text(visible(model), style=style), *shown)
    made.add_row(Text("n of N", style="dim"), *(Text(column.support, style="dim") for column in block))
    return made


def _marked_row(
    row: dict[str, str], cell: Cell, equal: Collection[tuple[str, str, str]], marks: Iterable[str]
) -> dict[str, str]:
    """A row whose score is marked where it is equal to the best, and whose metric says why nobody is ranked by it, or
    that it was measured in another way than the publication does."""
    said = ", ".join(mark for mark in marks if mark)
    name = f"{cell.metric} ({said})" if said else cell.metric
    mark = EQUAL if (cell.model, cell.metric, cell.subset) in equal else ""
    return {**row, "metric": name, "score": f"{row['score']}{mark}"}


def table_json(run: Run, table: Table) -> dict[str, Any]:
    """The table unrounded, for programs."""
    return {
        "suite": table.suite,
        "lock_sha256": run.about["lock_sha256"],
        "cells": [{**asdict(cell), "reasons": dict(cell.reasons)} for cell in table.cells],
        "notes": [*table.notes, *_scene_notes(run, table)],
        "problems": run.about["problems"],
        "cards": cards_json(cards_of(run)),
        **({"missing_shards": missing} if (missing := missing_shards(run.about)) else {}),
    }


def _scene_notes(run: Run, table: Table) -> list[str]:
    rollouts = RunFolder(run.path).rollouts(["model", "scene", "seed"]).to_pydict()
    scenes = map(SceneOfRollout, rollouts["model"], rollouts["scene"], rollouts["seed"])
    return [*few_scene_notes(cell.estimate for cell in table.cells), *seed_scene_notes(scenes)]


def _marked(estimate: Estimate | None, effective: float | None, span: float | None) -> str:
    """A mean with its mark; without one where it is not known how much the values are worth."""
    if estimate is None:
        return fixed(None)
    mark = "" if effective is None else precision(estimate, effective, span=span).mark.value
    return f"{fixed(estimate.mean)}{mark}"


def _row(cell: Cell, controls: Mapping[str, str], spans: Mapping[str, float | None]) -> dict[str, str]:
    is_untested = cell.is_untested and cell.estimate is None
    return {
        "model": f"{cell.model} (control)" if cell.model in controls else cell.model,
        "metric": cell.metric,
        "subset": cell.subset,
        "score": "not tested" if is_untested else _marked(cell.estimate, cell.effective, spans.get(cell.metric)),
        "95 %": estimate_interval(cell.estimate),
        "raw": fixed(cell.raw_mean),
        "scored": f"{cell.scored} of {cell.asked}",
        "not scored": counts(cell.reasons, cell.failures),
    }


def _tested_column(cell: Cell) -> dict[str, str]:
    """The mean over the rollouts that tested memory, beside a published mean over all."""
    return {"if tested": fixed(cell.tested.estimate.mean if cell.tested and cell.tested.estimate else None)}


def _gate_columns(cell: Cell, label: str) -> dict[str, str]:
    coverage = cell.gated.coverage if cell.gated else cell.tested.share if cell.tested else None
    combined = cell.gated.combined if cell.gated else None
    share = {
        label: fixed(coverage.mean if coverage else None),
        "judged": f"{coverage.scored if coverage else 0} of {cell.asked}" if cell.gated or cell.tested else "-",
    }
    if label != TRIGGERED:
        return share
    return {
        **share,
        "M-Score": _marked(combined, cell.effective if cell.scored else None, 1.0),
        "M-Score 95 %": estimate_interval(combined),
    }


def print_merged(run: Run, *, as_json: bool) -> None:
    """How many rollouts were merged, which shards are missing, and what was not merged."""
    about = run.about
    missing = missing_shards(about)
    if as_json:
        print_json({"run": str(run.path), "rollouts": about["rollouts"], **about["merged"], "missing": missing})
        return
    print_lines(
        [
            f"{run.path}: {amount(about['rollouts'], 'rollout')} of {amount(len(about['merged']['runs']), 'run')}",
            *(f"warning: {shard}" for shard in missing),
            "Features and replies are not merged: they only save work. Runs share them with --features and --replies.",
        ]
    )


def _judge_lines(run: Run) -> list[str]:
    """The judge of a run with the wording of its questions; nothing where none was asked."""
    requested = run.about.get("requested") or {}
    asked = {f"judge{of}": requested.get(name) for name, of in (("judge", ""), ("gate_judge", " of gates"))}
    return [f"{title} {judge['model']}, {_wording_of(run, judge)}" for title, judge in asked.items() if judge]


def _wording_of(run: Run, judge: Mapping[str, Any]) -> str:
    given = judge.get("prompts")
    if not given:
        return OWN_WORDING
    used = set(_prompts_of(run.lock.entries.get("metrics", {})))
    words = f"prompts of {given['folder']} ({given['sha256'][:SHOWN_CHARACTERS]})"
    return words if used <= set(given["names"]) else f"{words}, the rest in {OWN_WORDING}"


def _prompts_of(entry: Json) -> Iterator[str]:
    """Names of all prompts in a lock: what is described by a name and a hash alone."""
    if isinstance(entry, Mapping):
        if entry.keys() == {"kind", "name", "sha256"}:
            yield entry["name"]
        for inner in entry.values():
            yield from _prompts_of(inner)
    elif isinstance(entry, Sequence) and not isinstance(entry, str):
        for inner in entry:
            yield from _prompts_of(inner)
