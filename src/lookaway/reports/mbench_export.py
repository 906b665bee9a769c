"""A run in MBench's own output layout, so that scripts written for it go on working."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from lookaway.core import Cell, Json, UserError
from lookaway.engine.run import Run
from lookaway.io.files import write_json, write_text, write_whole

SUITES = ("mbench-a", "mbench-t")


def export_mbench(run: Run, output: Path) -> None:
    """Write `items.jsonl`, `eval.log` and `metrics/<name>/{units.jsonl,items.jsonl,summary.json}`."""
    suite = run.about["suite"]
    if suite not in SUITES:
        raise UserError(f"{run.path} is a run of {suite!r}; the MBench layout holds runs of {' and '.join(SUITES)}.")
    items = list(run.items())
    samples = sorted({(row["case"], row["model"]) for row in items})
    _write_lines(output / "items.jsonl", ({"item_id": case, "model_id": model} for case, model in samples))
    write_text(output / "eval.log", "".join(f"{line}\n" for line in _log(items)))
    cells: dict[str, list[Cell]] = {}
    for cell in run.table().cells:
        cells.setdefault(cell.metric, []).append(cell)
    for metric in run.metrics:
        folder = output / "metrics" / metric.name
        rows = [row for row in items if row["metric"] == metric.name]
        _write_lines(folder / "units.jsonl", (_unit(row) for row in run.units(metric.name)))
        _write_lines(folder / "items.jsonl", (_item(row) for row in rows))
        groups = {cell.model: _summary(cell) for cell in cells.get(metric.name, [])}
        write_json(folder / "summary.json", {"metric": metric.name, "lock": metric.lock, "groups": groups})


def _unit(row: Mapping[str, Any]) -> Json:
    return {
        "unit_id": f"{row['case']}__{row['unit']}",
        "item_id": row["case"],
        "model_id": row["model"],
        "scores": _scores(row),
        "metadata": {"raw_scores": json.loads(row["detail"] or "{}"), **_reason(row)},
    }


def _item(row: Mapping[str, Any]) -> Json:
    return {
        "item_id": row["case"],
        "model_id": row["model"],
        "scores": _scores(row),
        "metadata": {"seed": row["seed"], **json.loads(row["detail"] or "{}"), **_reason(row)},
    }


def _scores(row: Mapping[str, Any]) -> dict[str, float]:
    """Keys are left out, not filled, where nothing was measured: that is MBench's own rule."""
    if row["status"] != "score":
        return {}
    return {"score": row["value"], **({} if row["raw"] is None else {"score_raw": row["raw"]})}


def _reason(row: Mapping[str, Any]) -> dict[str, str]:
    if row["status"] == "score":
        return {}
    return {"status": row["status"], "reason": row["reason"], "message": row["message"]}


def _summary(cell: Cell) -> Json:
    summary: dict[str, Json] = {"n": cell.scored, "n_asked": cell.asked, "not_scored": dict(cell.reasons)}
    if cell.failures:
        summary["n_failed"] = cell.failures
    if cell.estimate is not None:
        summary |= {"score": cell.estimate.mean, "score_low": cell.estimate.low, "score_high": cell.estimate.high}
    if cell.raw_mean is not None:
        summary["score_raw"] = cell.raw_mean
    return summary


def _log(items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in items:
        result = row["value"] if row["status"] == "score" else f"{row['status']} {row['reason']}: {row['message']}"
        yield f"{row['model']} {row['case']} {row['metric']}: {result}"


def _write_lines(path: Path, records: Iterable[Json]) -> None:
    def write(file: BinaryIO) -> None:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n")

    write_whole(path, write)
