"""The table of a run on the terminal, and the result of a merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from lookaway.core import TESTED, TRIGGERED, Cell, Estimate, Table
from lookaway.engine.merging import missing_shards
from lookaway.engine.run import Run
from lookaway.reports.numbers import (
    amount,
    counts,
    estimate_interval,
    fixed,
    print_json,
    print_lines,
    print_rows,
)
from lookaway.reports.runs import control_of
from lookaway.reports.scene_notes import WEIGHTING, SceneOfRollout, few_scene_notes, seed_scene_notes
from lookaway.statistics.precision import Mark, precision
from lookaway.store.run_folder import RunFolder

MARKS = f"{Mark.IMPRECISE.value} imprecise, {Mark.NOT_ESTIMABLE.value} fewer than 10 values"


def print_table(run: Run, table: Table, *, as_json: bool, controls: Sequence[str] = ()) -> None:
    """Every cell with its interval, n of N, and why the rest is missing; those of controls come last."""
    known = dict(control_of(text, {cell.model for cell in table.cells}) for text in controls)
    cells = sorted(table.cells, key=lambda cell: cell.model in known)
    _print_table(run, replace(table, cells=tuple(cells)), known, as_json=as_json)


def _print_table(run: Run, table: Table, controls: Mapping[str, str], *, as_json: bool) -> None:
    cells = table.cells
    if as_json:
        print_json({**table_json(run, table), **({"controls": dict(controls)} if controls else {})})
        return
    label = next((cell.gated.label for cell in cells if cell.gated), None)
    has_untested = any(cell.untested for cell in cells)
    spans = {metric.name: metric.span for metric in run.metrics}
    rows = [
        {
            **_row(cell, controls, spans),
            **(_gate_columns(cell, label) if label else {}),
            **({"untested": f"{cell.untested}"} if has_untested else {}),
        }
        for cell in cells
    ]
    print_rows(rows, as_json=False, right=("score", "raw", "scored", TRIGGERED, TESTED, "M-Score", "untested"))
    lines = [f"note: {note}" for note in (*table.notes, *_scene_notes(run, table))]
    lines += [f"control: {model}: {what}" for model, what in controls.items()]
    about = run.about
    lines += [f"warning: {shard}: their rollouts are not in this table" for shard in missing_shards(about)]
    if problems := about["problems"]:
        lines.append(f"warning: the dataset has {amount(len(problems), 'problem')}; `lookaway validate` lists them")
    shown = f"; {MARKS}" if any(mark.value in row["score"] for row in rows for mark in Mark if mark.value) else ""
    lines.append(f"lock {run.about['lock_sha256'][:16]}  suite {table.suite}  {WEIGHTING}{shown}")
    print_lines(lines)


def table_json(run: Run, table: Table) -> dict[str, Any]:
    """The table unrounded, for programs."""
    return {
        "suite": table.suite,
        "lock_sha256": run.about["lock_sha256"],
        "cells": [{**asdict(cell), "reasons": dict(cell.reasons)} for cell in table.cells],
        "notes": [*table.notes, *_scene_notes(run, table)],
        "problems": run.about["problems"],
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


def _gate_columns(cell: Cell, label: str) -> dict[str, str]:
    coverage = cell.gated.coverage if cell.gated else None
    combined = cell.gated.combined if cell.gated else None
    share = {
        label: fixed(coverage.mean if coverage else None),
        "judged": f"{coverage.scored if coverage else 0} of {cell.asked}" if cell.gated else "-",
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
