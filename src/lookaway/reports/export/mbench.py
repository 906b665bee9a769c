"""A run in the output layout of MBench."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias
from urllib.parse import quote

from lookaway.core import Cell, Estimate, Json, UserError
from lookaway.engine.run import Run
from lookaway.io.files import write_json, write_text, write_whole
from lookaway.io.journal import Journal
from lookaway.reports.as_published import is_corrected, require_published
from lookaway.reports.numbers import visible
from lookaway.store.run_folder import EVENTS

Row: TypeAlias = Mapping[str, Any]
RAW_CONSISTENCY, TRIGGER_CONDITIONED = "raw consistency", "trigger-conditioned"


@dataclass(frozen=True, slots=True)
class GateVerdicts:
    """The verdict of the gate on every rollout of a metric; `gated` are the rollouts whose score depends on it."""

    rows: Mapping[str, Row]
    gated: frozenset[str]
    is_trigger: bool = True
    """Whether it is the trigger of setting T; another gate is noted beside scores, which all count as published."""

    def scores(self, row: Row) -> dict[str, float]:
        """The scores that count. Keys without a value are left out, as MBench does."""
        if row["rollout"] not in self.gated:
            return _measured(row)
        verdict = self.rows.get(row["rollout"])
        if verdict is None or verdict["status"] != "score":
            return {}
        triggered = {"triggered": verdict["value"], "trigger_score": _trigger_score(verdict)}
        return {**_measured(row), **triggered} if verdict["value"] == 1 else triggered

    def notes(self, row: Row) -> dict[str, Json]:
        """Scores that do not count, and why the gate has no verdict."""
        verdict, measured = self.rows.get(row["rollout"]), _measured(row)
        notes: dict[str, Json] = {}
        if measured and "score" not in self.scores(row):
            notes["scores_not_counted"] = measured
        if verdict is None:
            return notes
        if not self.is_trigger:
            return {**notes, "tested": verdict["value"] if verdict["status"] == "score" else _reason(verdict)}
        if verdict["status"] != "score":
            notes["trigger"] = _reason(verdict)
        return notes

    def mean_score(self, rollouts: Iterable[str]) -> dict[str, float]:
        """The mean `trigger_score` over the rollouts that have one; empty where none has."""
        known = [self.rows[rollout] for rollout in rollouts if rollout in self.rows]
        scores = [_trigger_score(verdict) for verdict in known if verdict["status"] == "score"]
        return {"trigger_score": sum(scores) / len(scores)} if scores else {}


def unit_record(row: Row, verdicts: GateVerdicts) -> Json:
    """A line of `units.jsonl`."""
    raw_scores = json.loads(row["detail"] or "{}")
    return {
        "unit_id": f"{row['case']}__{row['unit']}",
        "item_id": row["case"],
        "model_id": row["model"],
        "scores": verdicts.scores(row),
        "metadata": {"seed": row["seed"], "raw_scores": raw_scores, **_reason(row), **verdicts.notes(row)},
    }


def item_record(row: Row, verdicts: GateVerdicts) -> Json:
    """A line of a metric's `items.jsonl`."""
    detail = json.loads(row["detail"] or "{}")
    return {
        "item_id": row["case"],
        "model_id": row["model"],
        "scores": verdicts.scores(row),
        "metadata": {"seed": row["seed"], **detail, **_reason(row), **verdicts.notes(row)},
    }


def summary_record(cell: Cell, rows: Iterable[Row], verdicts: GateVerdicts, *, has_gates: bool) -> Json:
    """A group of `summary.json`; `rows` are the items of the cell. In a setting with gates it names
    the mode."""
    summary: dict[str, Json] = {"n": cell.scored, "n_asked": cell.asked, "not_scored": dict(cell.reasons)}
    if cell.failures:
        summary["n_failed"] = cell.failures
    if cell.untested:
        summary["n_untested"] = cell.untested
    summary |= _numbers("score", cell.estimate)
    if cell.estimate is not None and cell.raw_mean not in (None, cell.estimate.mean):
        summary["score_raw"] = cell.raw_mean
    if has_gates:
        summary["mode"] = TRIGGER_CONDITIONED if cell.gated else RAW_CONSISTENCY
    if cell.gated is not None:
        coverage = cell.gated.coverage
        summary["n_judged"] = coverage.scored if coverage else 0
        summary |= {"triggered": coverage.mean} if coverage else {}
        summary |= verdicts.mean_score(row["rollout"] for row in rows)
        summary |= _numbers("c_trig", coverage)
        summary |= _numbers("s_rel", cell.estimate)
        summary |= _numbers("m_score", cell.gated.combined)
    return summary


def _numbers(name: str, estimate: Estimate | None) -> dict[str, float]:
    if estimate is None:
        return {}
    numbers = {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return {key: number for key, number in numbers.items() if number is not None}


def _measured(row: Row) -> dict[str, float]:
    if row["status"] != "score":
        return {}
    return {"score": row["value"], **({} if row["raw"] in (None, row["value"]) else {"score_raw": row["raw"]})}


def _trigger_score(verdict: Row) -> float:
    """The confidence that it triggered. A judge gives the confidence in its verdict, so a sure no is 0."""
    triggered: float = verdict["value"]
    confidence: float | None = verdict["raw"]
    if confidence is None:
        return triggered
    return confidence if triggered == 1 else 1 - confidence


def _reason(row: Row) -> dict[str, str]:
    if row["status"] == "score":
        return {}
    return {"status": row["status"], "reason": row["reason"], "message": row["message"]}


def measured_times(run: Run) -> dict[str, str]:
    """By rollout, the time in UTC at which it was last measured; rollouts without an event are left out."""
    times: dict[str, str] = {}
    for line in Journal(run.path / EVENTS).lines():
        try:
            event = json.loads(line)
            if event["event"] == "measured":
                time = datetime.fromtimestamp(event["time"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                times[event["rollout"]] = max(time, times.get(event["rollout"], ""))  # merged runs are not in order
        except (ValueError, KeyError, TypeError, OverflowError, OSError):  # a line that a crash cut off
            continue
    return times


SUITES = ("mbench-a", "mbench-t")
OFFICIAL = ("mbencha.", "mbencht.")
"""The names of MBench's own metrics begin so."""
GATED_SUITE = "mbench-t"


def require_mbench(run: Run) -> str:
    """The setting of a run of MBench; a run of another suite is refused."""
    suite = run.about["suite"]
    if suite not in SUITES:
        raise UserError(f"{run.path} is a run of {suite!r}; the MBench layout is for runs of {' and '.join(SUITES)}.")
    return str(suite)


def export_mbench(run: Run, output: Path, *, log: bool = True) -> None:
    """Write `items.jsonl`, `eval.log` and `metrics/<name>/{units.jsonl,items.jsonl,summary.json}`.

    Only published values are written: corrected metrics are left out, and a run with published names that were measured
    in another way is refused.

    In setting T the verdict of the gate is written beside each score as `triggered` and `trigger_score`; a rollout that
    did not trigger has no score there. In setting A all scores are written, as published, and the metadata say which
    rollouts tested memory. `log` says whether to write `eval.log`, whose lines begin with the time of the
    measurement where the run recorded it.
    """
    require_mbench(run)
    official = {metric.name for metric in run.metrics if metric.name.startswith(OFFICIAL)}
    if official:
        require_published(run, [name for name in official if not is_corrected(name)])
    try:
        _write(run, output, log=log)
    except OSError as error:
        raise UserError(f"{output}: cannot be written: {error}.") from error


def _write(run: Run, output: Path, *, log: bool) -> None:
    items = [row for row in run.items() if not is_corrected(row["metric"])]
    samples = sorted({(row["case"], row["model"]) for row in items})
    _write_lines(output / "items.jsonl", ({"item_id": case, "model_id": model} for case, model in samples))
    gates = {metric.name for metric in run.metrics if metric.is_gate}
    has_gates = run.about["suite"] == GATED_SUITE
    if log:
        logged = [row for row in items if has_gates or row["metric"] not in gates]
        write_text(output / "eval.log", "".join(f"{line}\n" for line in _log(logged, measured_times(run))))
    gate_rows = {row["rollout"]: row for row in items if row["metric"] in gates}
    cells: dict[str, list[Cell]] = {}
    for cell in run.table().cells:
        cells.setdefault(cell.metric, []).append(cell)
    for metric in run.metrics:
        if metric.is_gate or is_corrected(metric.name):
            continue
        folder = output / "metrics" / folder_name(metric.name)
        rows = [row for row in items if row["metric"] == metric.name]
        own = cells.get(metric.name, [])
        gated = {(cell.model, cell.subset) for cell in own if cell.gated}
        verdicts = GateVerdicts(
            gate_rows if metric.is_consistency else {},
            frozenset(row["rollout"] for row in rows if (row["model"], row["subset"]) in gated),
            is_trigger=has_gates,
        )
        _write_lines(folder / "units.jsonl", (unit_record(row, verdicts) for row in run.units(metric.name)))
        _write_lines(folder / "items.jsonl", (item_record(row, verdicts) for row in rows))
        groups = _groups(own, rows, verdicts, has_gates=has_gates)
        write_json(folder / "summary.json", {"metric": metric.name, "lock": metric.lock, "groups": groups})


def folder_name(name: str) -> str:
    """A name as one folder: the name of a plugin's metric cannot lead out of the export.

    >>> folder_name("mbencha.causal.camera_interaction"), folder_name("../../etc"), folder_name("..")
    ('mbencha.causal.camera_interaction', '..%2F..%2Fetc', '%2E%2E')
    """
    quoted = quote(name, safe=" ")
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E")


def _groups(cells: Iterable[Cell], rows: Sequence[Row], verdicts: GateVerdicts, *, has_gates: bool) -> dict[str, Json]:
    """By model; a metric that covers several subsets has one number per subset."""
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
