"""A run beside a published table on the terminal."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from lookaway.core import Json, Lock
from lookaway.engine.run import Run
from lookaway.reports.lock_explanations import lock_differences, locked_constants
from lookaway.reports.numbers import fixed
from lookaway.reports.text import print_json, print_lines, print_rows
from lookaway.reports.verification import SHOULD_BE_EXPLAINED, Comparison

DIGITS = 4


def print_verdicts(
    run: Run,
    comparisons: Sequence[Comparison],
    theirs: Lock | None,
    *,
    notes: Sequence[str],
    ignored_columns: Sequence[str],
    as_json: bool,
) -> None:
    """Every number with its verdict, what has to be known of them, and what could explain those that differ."""
    explained = {metric: _explanations(run, metric, theirs) for metric in _to_explain(comparisons)}
    counts = Counter(entry.verdict.value for entry in comparisons)
    if as_json:
        cells = [{**asdict(entry), "difference": entry.difference} for entry in comparisons]
        print_json(
            {
                "cells": cells,
                "verdicts": dict(counts),
                "notes": list(notes),
                "ignored_columns": list(ignored_columns),
                "could_explain": explained,
            }
        )
        return
    print_rows([_row(entry) for entry in comparisons], as_json=False, right=("ours", "theirs", "difference"))
    print_lines([", ".join(f"{count} {verdict}" for verdict, count in counts.items())])
    print_lines([f"note: {note}" for note in notes])
    if ignored_columns:
        print_lines([f"note: ignored columns of the published table: {', '.join(ignored_columns)}"])
    for metric, entries in explained.items():
        print_lines(_paragraph(metric, entries, has_lock=theirs is not None))


def _row(entry: Comparison) -> dict[str, str]:
    return {
        "model": entry.model,
        "metric": entry.metric,
        "subset": entry.subset,
        "figure": entry.figure,
        "ours": fixed(entry.ours, DIGITS),
        "theirs": fixed(entry.theirs, DIGITS),
        "difference": fixed(entry.difference, DIGITS),
        "verdict": entry.verdict.value,
        "scored": f"{entry.n} of {entry.asked}",
        "n there": "-" if entry.their_n is None else str(entry.their_n),
        "note": entry.note,
    }


def _to_explain(comparisons: Iterable[Comparison]) -> list[str]:
    return list(dict.fromkeys(entry.metric for entry in comparisons if entry.verdict in SHOULD_BE_EXPLAINED))


def _explanations(run: Run, metric: str, theirs: Lock | None) -> list[dict[str, Json]]:
    """Of a metric and of the gates that decide which of its rollouts count."""
    asked = {entry.name: entry for entry in run.metrics}
    subsets = set(asked[metric].subsets or ())
    gates = [name for name, entry in asked.items() if entry.is_gate and subsets.intersection(entry.subsets or ())]
    names = [metric, *gates]
    if theirs is None:
        return [{"path": path, "ours": value} for path, value in locked_constants(run.lock, names)]
    return [
        {"path": path, "ours": ours, "theirs": other} for path, ours, other in lock_differences(run.lock, theirs, names)
    ]


def _paragraph(metric: str, entries: Sequence[dict[str, Json]], *, has_lock: bool) -> list[str]:
    if not has_lock:
        title = f"{metric}: could explain it, where the published numbers were made with other values:"
        return [title, *(f"  {entry['path']} = {_short(entry['ours'])}" for entry in entries)]
    if not entries:
        return [f"{metric}: the locks agree in all that concerns it; other videos could explain it."]
    title = f"{metric}: could explain it:"
    return [
        title,
        *(f"  {entry['path']}: {_short(entry['ours'])} here, {_short(entry['theirs'])} there" for entry in entries),
    ]


def _short(value: Any) -> str:
    return reprlib.repr(value)
