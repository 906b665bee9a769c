"""Clips, prompts and tables of the benchmarks' authors, which lie beside the project and are not ours to copy."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared"
DATA = SHARED / "data"
WHY = "not beside the project, and not ours to copy into it"


def needs_beside(path: Path, what: str) -> pytest.MarkDecorator:
    """Skip a test where the file or folder is missing; one reason for each kind, so that CI can count them."""
    return pytest.mark.skipif(not path.exists(), reason=f"{what}: {WHY}")


needs_clips = needs_beside(DATA / "wrbench" / "videos", "clips of real models")
needs_natural25 = needs_beside(DATA / "wrbench" / "natural25", "prompts and first frames of Natural-25")
needs_results = needs_beside(DATA / "wrbench" / "results", "published results of WRBench")
needs_subjects = needs_beside(DATA / "memobench" / "synthetic_metadata.csv", "prompts of MemoBench")
needs_banks = needs_beside(DATA / "memobench" / "vqa_questions", "question banks of MemoBench")
