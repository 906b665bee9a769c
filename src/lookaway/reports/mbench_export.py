"""A run in MBench's own output layout, so that scripts written for it go on working."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from lookaway.core import Cell, Json, UserError
from lookaway.engine.run import Run
from lookaway.io.files import write_json, write_text, write_whole
from lookaway.reports.mbench_records import Row, Verdicts, item_record, summary_record, unit_record
from lookaway.reports.measured_times import measured_times
from lookaway.reports.text import visible

SUITES = ("mbench-a", "mbench-t")
GATED_SUITE = "mbench-t"


def require_mbench(run: Run) -> str:
    """The setting of a run of MBench; a run of another suite is refused."""
    suite = run.about["suite"]
    if suite not in SUITES:
        raise UserError(f"{run.path} is a run of {suite!r}; the MBench layout holds runs of {' and '.join(SUITES)}.")
    return str(suite)


def export_mbench(run: Run, output: Path, *, log: bool = True) -> None:
    """Write `items.jsonl`, `eval.log` and `metrics/<name>/{units.jsonl,items.jsonl,summary.json}`.

    What a gate says stands beside each score as `triggered` and `trigger_score`; a rollout that was not put to the test
    has no score there. `log` says whether to write `eval.log`, each line of which begins with the time where the run's
    events tell it.
    """
    require_mbench(run)
    try:
        _write(run, output, log=log)
    except OSError as error:
        raise UserError(f"{output}: cannot be written: {error}.") from error


def _write(run: Run, output: Path, *, log: bool) -> None:
    items = list(run.items())
    samples = sorted({(row["case"], row["model"]) for row in items})
    _write_lines(output / "items.jsonl", ({"item_id": case, "model_id": model} for case, model in samples))
    if log:
        write_text(output / "eval.log", "".join(f"{line}\n" for line in _log(items, measured_times(run))))
    gates = {metric.name for metric in run.metrics if metric.is_gate}
    said = {row["rollout"]: row for row in items if row["metric"] in gates}
    cells: dict[str, list[Cell]] = {}
    for cell in run.table().cells:
        cells.setdefault(cell.metric, []).append(cell)
    has_gates = run.about["suite"] == GATED_SUITE
    for metric in run.metrics:
        if metric.is_gate:
            continue
        folder = output / "metrics" / folder_name(metric.name)
        rows = [row for row in items if row["metric"] == metric.name]
        own = cells.get(metric.name, [])
        gated = {(cell.model, cell.subset) for cell in own if cell.gated}
        verdicts = Verdicts(said, frozenset(row["rollout"] for row in rows if (row["model"], row["subset"]) in gated))
        _write_lines(folder / "units.jsonl", (unit_record(row, verdicts) for row in run.units(metric.name)))
        _write_lines(folder / "items.jsonl", (item_record(row, verdicts) for row in rows))
        groups = _groups(own, rows, verdicts, has_gates=has_gates)
        write_json(folder / "summary.json", {"metric": metric.name, "lock": metric.lock, "groups": groups})


def folder_name(name: str) -> str:
    """A name as one folder: a plugin may call its metric what it likes, but not lead out of the export.

    >>> folder_name("mbencha.causal.camera_interaction"), folder_name("../../etc"), folder_name("..")
    ('mbencha.causal.camera_interaction', '..%2F..%2Fetc', '%2E%2E')
    """
    quoted = quote(name, safe=" ")
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E")


def _groups(cells: Iterable[Cell], rows: Sequence[Row], verdicts: Verdicts, *, has_gates: bool) -> dict[str, Json]:
    """By model; a metric that was asked of several subsets has no one number for a model, but one for each of them."""
    by_model: dict[str, dict[str, Json]] = {}
    for cell in cells:
        own = [row for row in rows if (row["model"], row["subset"]) == (cell.model, cell.subset)]
        summary = summary_record(cell, own, verdicts, has_gates=has_gates)
        by_model.setdefault(cell.model, {})[cell.subset] = summary
    return {
        model: next(iter(subsets.values())) if len(subsets) == 1 else {"subsets": subsets}
        for model, subsets in by_model.items()
    }


def _log(items: Iterable[Row], times: Mapping[str, str]) -> Iterator[str]:
    for row in items:
        time = f"{times[row['rollout']]} " if row["rollout"] in times else ""
        result = row["value"] if row["status"] == "score" else f"{row['status']} {row['reason']}: {row['message']}"
        yield visible(f"{time}{row['model']} {row['case']} {row['metric']}: {result}")


def _write_lines(path: Path, records: Iterable[Json]) -> None:
    def write(file: BinaryIO) -> None:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n")

    write_whole(path, write)
