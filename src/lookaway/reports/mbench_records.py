"""The records of MBench's output layout: units, items, and what a model's numbers come to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lookaway.core import Cell, Estimate, Json

Row: TypeAlias = Mapping[str, Any]
RAW_CONSISTENCY, TRIGGER_CONDITIONED = "raw consistency", "trigger-conditioned"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What the gate says of every rollout of a metric; `gated` are the rollouts whose score it decides upon."""

    rows: Mapping[str, Row]
    gated: frozenset[str]

    def scores(self, row: Row) -> dict[str, float]:
        """What counts. Keys are left out, not filled, where there is nothing or nothing new: MBench's own rule."""
        if row["rollout"] not in self.gated:
            return _measured(row)
        verdict = self.rows.get(row["rollout"])
        if verdict is None or verdict["status"] != "score":
            return {}
        said = {"triggered": verdict["value"], "trigger_score": _trigger_score(verdict)}
        return {**_measured(row), **said} if verdict["value"] == 1 else said

    def notes(self, row: Row) -> dict[str, Json]:
        """What was measured but does not count, and why the gate is not known."""
        verdict, measured = self.rows.get(row["rollout"]), _measured(row)
        notes: dict[str, Json] = {}
        if measured and "score" not in self.scores(row):
            notes["scores_not_counted"] = measured
        if verdict is not None and verdict["status"] != "score":
            notes["trigger"] = _reason(verdict)
        return notes

    def mean_score(self, rollouts: Iterable[str]) -> dict[str, float]:
        """The mean `trigger_score`, where anything is known of any of the rollouts."""
        known = [self.rows[rollout] for rollout in rollouts if rollout in self.rows]
        said = [_trigger_score(verdict) for verdict in known if verdict["status"] == "score"]
        return {"trigger_score": sum(said) / len(said)} if said else {}


def unit_record(row: Row, verdicts: Verdicts) -> Json:
    """A line of `units.jsonl`."""
    raw_scores = json.loads(row["detail"] or "{}")
    return {
        "unit_id": f"{row['case']}__{row['unit']}",
        "item_id": row["case"],
        "model_id": row["model"],
        "scores": verdicts.scores(row),
        "metadata": {"seed": row["seed"], "raw_scores": raw_scores, **_reason(row), **verdicts.notes(row)},
    }


def item_record(row: Row, verdicts: Verdicts) -> Json:
    """A line of a metric's `items.jsonl`."""
    detail = json.loads(row["detail"] or "{}")
    return {
        "item_id": row["case"],
        "model_id": row["model"],
        "scores": verdicts.scores(row),
        "metadata": {"seed": row["seed"], **detail, **_reason(row), **verdicts.notes(row)},
    }


def summary_record(cell: Cell, rows: Iterable[Row], verdicts: Verdicts, *, has_gates: bool) -> Json:
    """A group of `summary.json`; `rows` are the items of the cell. Where gates are part of the setting, it says
    whether one was asked."""
    summary: dict[str, Json] = {"n": cell.scored, "n_asked": cell.asked, "not_scored": dict(cell.reasons)}
    if cell.failures:
        summary["n_failed"] = cell.failures
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
    """How sure it is that the test is posed. A judge says how sure it is of its verdict: a sure no is a 0."""
    triggered: float = verdict["value"]
    confidence: float | None = verdict["raw"]
    if confidence is None:
        return triggered
    return confidence if triggered == 1 else 1 - confidence


def _reason(row: Row) -> dict[str, str]:
    if row["status"] == "score":
        return {}
    return {"status": row["status"], "reason": row["reason"], "message": row["message"]}
