"""The table of a run on the terminal, and the result of a merge."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lookaway.core import Cell, Table
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


def print_table(run: Run, table: Table, *, as_json: bool) -> None:
    """Every cell with its interval, n of N, and why the rest is missing."""
    if as_json:
        print_json(table_json(run, table))
        return
    is_gated = any(cell.gated for cell in table.cells)
    rows = [{**_row(cell), **(_gate_columns(cell) if is_gated else {})} for cell in table.cells]
    print_rows(rows, as_json=False, right=("score", "raw", "scored", "triggered", "M-Score"))
    lines = [f"note: {note}" for note in table.notes]
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


def _row(cell: Cell) -> dict[str, str]:
    return {
        "model": cell.model,
        "metric": cell.metric,
        "subset": cell.subset,
        "score": fixed(cell.estimate.mean if cell.estimate else None),
        "95 %": estimate_interval(cell.estimate),
        "raw": fixed(cell.raw_mean),
        "scored": f"{cell.scored} of {cell.asked}",
        "not scored": counts(cell.reasons, cell.failures),
    }


def _gate_columns(cell: Cell) -> dict[str, str]:
    coverage = cell.gated.coverage if cell.gated else None
    combined = cell.gated.combined if cell.gated else None
    return {
        "triggered": fixed(coverage.mean if coverage else None),
        "judged": f"{coverage.scored if coverage else 0} of {cell.asked}",
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
