"""CONTRIBUTING answers where things are, with paths that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "src" / "lookaway"
SECTION = re.search(
    r"^## Where is what$(.*?)^## ",
    (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)
ANSWERS = dict(re.findall(r"^\| ([^|]+\?) \| (.+) \|$", SECTION[1] if SECTION else "", re.MULTILINE))
"""Every question with its answer."""


def test_twelve_questions_are_answered() -> None:
    assert len(ANSWERS) == 12


@pytest.mark.parametrize("question", ANSWERS)
def test_an_answer_names_paths_that_exist(question: str) -> None:
    first, *others = re.findall(r"`([\w/]+(?:/|\.py))`", ANSWERS[question])
    assert (PACKAGE / first).exists(), first
    inside = PACKAGE / first if first.endswith("/") else PACKAGE
    for path in others:
        assert (PACKAGE / path).exists() or (inside / path).exists() or list(inside.glob(f"*/{path}")), path
