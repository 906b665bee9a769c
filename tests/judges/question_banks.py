"""Banks of questions: small ones, and MemoBench's own where they lie beside the project."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from tests.support.beside import DATA, needs_banks

REAL = DATA / "memobench" / "vqa_questions"
REAL_BANKS = ("Havana-1", "Nordic-1", "WinterTown-2", "Zen_Garden-5")
ON_TRUTH, ON_FAILURE, HINTED = "Evaluation on ground truth", "Evaluation on failure", "Revised Evaluation on failure"

needs_real_banks = needs_banks

SMALL = [
    {"id": 7, "dimension": "memory", "polarity": "positive", "question": "Is the cup still there?"},
    {"id": 2, "dimension": "memory", "polarity": "negative", "question": "Is there a second cup?"},
    {"id": 5, "dimension": "physics", "polarity": "positive", "question": "Does the cup stand upright?"},
]


def write_bank(path: Path, questions: Any = None, **more: Any) -> Path:
    """A bank as a file."""
    path.write_text(json.dumps({"questions": SMALL if questions is None else questions, **more}), encoding="utf-8")
    return path


def real_row(name: str) -> dict[str, list[dict[str, Any]]]:
    """The lists of one of MemoBench's files, by their column."""
    with (REAL / f"{name}-questions.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    return {column: json.loads(value) for column, value in row.items() if value.startswith("[")}


def as_bank(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Questions of MemoBench as ours."""
    return [
        {
            "id": entry["ID"],
            "dimension": entry["Dimension"],
            "polarity": entry["Dimension Polarity"].lower(),
            "question": entry["Question"],
        }
        for entry in listed
    ]
