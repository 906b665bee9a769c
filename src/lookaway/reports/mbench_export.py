"""A run in MBench's own output layout, so that scripts written for it go on working."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from lookaway.core import Cell, Json, UserError
from lookaway.engine.run import Run
from lookaway.io.files import write_json, write_text, write_whole
from lookaway.reports.text import visible

SUITES = ("mbench-a", "mbench-t")


def export_mbench(run: Run, output: Path) -> None:
    """Write `items.jsonl`, `eval.log` and `metrics/<name>/{units.jsonl,items.jsonl,summary.json}`."""
    suite = run.about["suite"]
    if suite not in SUITES:
        raise UserError(f"{run.path} is a run of {suite!r}; the MBench layout holds runs of {' and '.join(SUITES)}.")
    try:
        _write(run, output)
    except OSError as error:
        raise UserError(f"{output}: cannot be written: {error}.") from error


def _write(run: Run, output: Path) -> None:
    items = list(run.items())
    samples = sorted({(row["case"], row["model"]) for row in items})
    _write_lines(output / "items.jsonl", ({"item_id": case, "model_id": model} for case, model in samples))
    write_text(output / "eval.log", "".join(f"{line}\n" for line in _log(items)))
    cells: dict[str, list[Cell]] = {}
    for cell in run.table().cells:
        cells.setdefault(cell.metric, []).append(cell)
    for metric in run.metrics:
        folder = output / "metrics" / folder_name(metric.name)
        rows = [row for row in items if row["metric"] == metric.name]
        _write_lines(folder / "units.jsonl", (_unit(row) for row in run.units(metric.name)))
        _write_lines(folder / "items.jsonl", (_item(row) for row in rows))
        groups = _groups(cells.get(metric.name, []))
        write_json(folder / "summary.json", {"metric": metric.name, "lock": metric.lock, "groups": groups})


def folder_name(name: str) -> str:
    """A name as one folder: a plugin may call its metric what it likes, but not lead out of the export.

    >>> folder_name("mbencha.causal.camera_interaction"), folder_name("../../etc"), folder_name("..")
    ('mbencha.causal.camera_interaction', '..%2F..%2Fetc', '%2E%2E')
    """
    quoted = quote(name, safe=" ")
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E")


def _unit(row: Mapping[str, Any]) -> Json:
    return {
        "unit_id": f"{row['case']}__{row['unit']}",
        "item_id": row["case"],
        "model_id": row["model"],
        "scores": _scores(row),
        "metadata": {"seed": row["seed"], "raw_scores": json.loads(row["detail"] or "{}"), **_reason(row)},
    }


def _item(row: Mapping[str, Any]) -> Json:
    return {
        "item_id": row["case"],
        "model_id": row["model"],
        "scores": _scores(row),
        "metadata": {"seed": row["seed"], **json.loads(row["detail"] or "{}"), **_reason(row)},
    }


def _scores(row: Mapping[str, Any]) -> dict[str, float]:
    """Keys are left out, not filled, where there is nothing or nothing new to say: that is MBench's own rule."""
    if row["status"] != "score":
        return {}
    return {"score": row["value"], **({} if row["raw"] in (None, row["value"]) else {"score_raw": row["raw"]})}


def _reason(row: Mapping[str, Any]) -> dict[str, str]:
    if row["status"] == "score":
        return {}
    return {"status": row["status"], "reason": row["reason"], "message": row["message"]}


def _groups(cells: Iterable[Cell]) -> dict[str, Json]:
    """By model; a metric that was asked of several subsets has no one number for a model, but one for each of them."""
    by_model: dict[str, dict[str, Json]] = {}
    for cell in cells:
        by_model.setdefault(cell.model, {})[cell.subset] = _summary(cell)
    return {
        model: next(iter(subsets.values())) if len(subsets) == 1 else {"subsets": subsets}
        for model, subsets in by_model.items()
    }


def _summary(cell: Cell) -> Json:
    summary: dict[str, Json] = {"n": cell.scored, "n_asked": cell.asked, "not_scored": dict(cell.reasons)}
    if cell.failures:
        summary["n_failed"] = cell.failures
    if cell.estimate is not None:
        numbers = {
            "score": cell.estimate.mean,
            "score_low": cell.estimate.low,
            "score_high": cell.estimate.high,
            "score_raw": None if cell.raw_mean == cell.estimate.mean else cell.raw_mean,
        }
        summary |= {name: number for name, number in numbers.items() if number is not None}
    return summary


def _log(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in items:
        result = row["value"] if row["status"] == "score" else f"{row['status']} {row['reason']}: {row['message']}"
        yield visible(f"{row['model']} {row['case']} {row['metric']}: {result}")


def _write_lines(path: Path, records: Iterable[Json]) -> None:
    def write(file: BinaryIO) -> None:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n")

    write_whole(path, write)
