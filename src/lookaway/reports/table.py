"""The table of a run on the terminal, and the result of a merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from lookaway.core import TESTED, TRIGGERED, Cell, Table
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
    rows = [
        {
            **_row(cell, controls),
            **(_gate_columns(cell, label) if label else {}),
            **({"untested": f"{cell.untested}"} if has_untested else {}),
        }
        for cell in cells
    ]
    print_rows(rows, as_json=False, right=("score", "raw", "scored", TRIGGERED, TESTED, "M-Score", "untested"))
    lines = [f"note: {note}" for note in table.notes]
    lines += [f"control: {model}: {what}" for model, what in controls.items()]
    about = run.about
    lines += [f"warning: {shard}: their rollouts are not in this table" for shard in missing_shards(about)]
    if problems := about["problems"]:
        lines.append(f"warning: the dataset has {amount(len(problems), 'problem')}; `lookaway validate` lists them")
    lines.append(f"lock {run.about['lock_sha256'][:16]}  suite {table.suite}  95 % intervals clustered by scene")
    print_lines(lines)


def table_json(run: Run, table: Table) -> dict[str, Any]:
    """The table unrounded, for programs."""
    return {
        "suite": table.suite,
        "lock_sha256": run.about["lock_sha256"],
        "cells": [{**asdict(cell), "reasons": dict(cell.reasons)} for cell in table.cells],
        "notes": list(table.notes),
        "problems": run.about["problems"],
        **({"missing_shards": missing} if (missing := missing_shards(run.about)) else {}),
    }


def _row(cell: Cell, controls: Mapping[str, str]) -> dict[str, str]:
    is_untested = cell.is_untested and cell.estimate is None
    return {
        "model": f"{cell.model} (control)" if cell.model in controls else cell.model,
        "metric": cell.metric,
        "subset": cell.subset,
        "score": "not tested" if is_untested else fixed(cell.estimate.mean if cell.estimate else None),
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
        "M-Score": fixed(combined.mean if combined else None),
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
