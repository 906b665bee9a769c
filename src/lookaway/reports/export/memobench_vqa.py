"""A run's answers to question banks as the CSV files of MemoBench's VQA program, one folder for each model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from lookaway.core import Reason
from lookaway.engine.question_banks import bank_name
from lookaway.engine.run import Run
from lookaway.judges.question_writing import DIMENSIONS
from lookaway.reports.as_published import require_published
from lookaway.reports.export.mbench import folder_name
from lookaway.reports.export.rows import write_csv_file
from lookaway.reports.memobench.scores import SUITE
from lookaway.reports.scored_rollouts import require_suite

METRICS: Final = {f"{SUITE}.vqa.{name.lower().replace(' ', '_')}": name for name in DIMENSIONS}
CLIP_COLUMNS: Final = ("scene", "video_id", "folder", "Evaluation", "score")
OVERALL_COLUMNS: Final = ("scene", "video_id", *DIMENSIONS)

Row: TypeAlias = Mapping[str, Any]


def export_memobench_answers(run: Run, output: Path) -> list[Path]:
    """Write `vqa_results/<model>/{scene}-{video_id}.csv` and `overall.csv`; nothing if no question was asked.

    Scores are pass rates over all questions of the bank and all repeats, to 4 decimals; an answer is that of most
    repeats. A clip whose questions were not all answered has no file, and a row in `overall.csv` that says why.
    """
    require_suite(run, SUITE)
    requested = [metric.name for metric in run.metrics if metric.name in METRICS]
    if not requested:
        return []
    require_published(run, METRICS)
    outcomes: dict[str, dict[str, dict[str, Row]]] = {}
    for row in run.items():
        if row["metric"] in METRICS:
            outcomes.setdefault(row["model"], {}).setdefault(row["case"], {})[METRICS[row["metric"]]] = row
    evaluations: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for metric in requested:
        for row in run.units(metric):
            evaluations.setdefault((row["model"], row["case"]), []).append(_answer(row))
    written = []
    for model, clips in sorted(outcomes.items()):
        folder = output / "vqa_results" / folder_name(model)
        overall = []
        for case, found in sorted(clips.items()):
            scene, _, number = bank_name(case).rpartition("-")
            clip = {"scene": scene, "video_id": number}
            scores = {name: round(row["value"], 4) for name, row in found.items() if row["status"] == "score"}
            overall.append({**clip, **scores, "error": _error(found)})
            if scores:
                evaluation = sorted(evaluations.get((model, case), ()), key=lambda answer: int(answer["ID"]))
                path = folder / f"{folder_name(f'{scene}-{number}')}.csv"
                texts = {"Evaluation": _json(evaluation), "score": _json(scores)}
                write_csv_file(path, CLIP_COLUMNS, [{**clip, "folder": case.partition("/")[2], **texts}])
                written.append(path)
        columns = [*OVERALL_COLUMNS, *(["error"] if any(row["error"] for row in overall) else [])]
        write_csv_file(folder / "overall.csv", columns, overall)
        written.append(folder / "overall.csv")
    return written


def _answer(row: Row) -> dict[str, Any]:
    """A record as in the published files."""
    detail = json.loads(row["detail"])
    says_yes = 2 * sum(detail["says_yes"]) > len(detail["says_yes"])
    return {
        "ID": int(row["unit"].removeprefix("question")),
        "Dimension": detail["dimension"],
        "Dimension Polarity": "Positive" if detail["is_positive"] else "Negative",
        "Question": detail["question"],
        "Answer": "Yes" if says_yes else "No",
        "Verdict": "Pass" if says_yes == detail["is_positive"] else "Fail",
        "Reasoning": detail["reasons"][detail["says_yes"].index(says_yes)] if says_yes in detail["says_yes"] else "",
    }


def _error(found: Mapping[str, Row]) -> str:
    """Why a dimension has no score; a bank without a question of it needs none."""
    reasons = {
        name: f"{row['reason']}: {row['message']}"
        for name, row in found.items()
        if row["status"] != "score" and row["reason"] != Reason.NOT_APPLICABLE.value
    }
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
