"""`plan.jsonl` of a work folder: what each model was given for each case, with hashes."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from lookaway.core import DatasetError
from lookaway.io.dataset_files import DatasetTree

PLAN: Final = "plan.jsonl"
CASES: Final = "cases"
RUN_RECORD: Final = "lookaway_run.json"
"""Written by run.sh beside an output: which plan and seed it is of, and how long it took."""
MAX_SLUG: Final = 60
Name = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,120}$")


class PlanItem(BaseModel):
    """One case with one seed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    model: str
    commit: str
    licence: str
    case: str
    subset: str
    scene: str
    action: str | None
    prompt: list[str]
    seed: int
    folder: str = Name
    files: dict[str, str]
    """SHA-256 of everything that is delivered, by name."""
    native: str
    output: str
    frames: int = Field(ge=0)
    fps: float = Field(gt=0)
    width: int = Field(ge=0)
    height: int = Field(ge=0)
    loss: dict[str, Any] | None
    refusal: dict[str, Any] | None = None
    camera_source: str
    moves: bool
    """Whether a camera motion is asked for."""
    exported: float
    """Seconds since 1970."""
    sha256: str
    """Hash of the files and the command."""


def item_folder(case: str, seed: int) -> str:
    """A short name that no two cases share, whatever their ids.

    >>> item_folder("a/b", 0) == item_folder("a_b", 0)
    False
    """
    slug = re.sub(r"[^A-Za-z0-9_.-]+", "_", case).strip("._-")[:MAX_SLUG] or "case"
    slug = slug if slug[0].isalnum() else f"c{slug}"
    return f"{slug}-{hashlib.sha256(case.encode()).hexdigest()[:10]}-s{seed}"


def read_plan(work: Path) -> list[PlanItem]:
    """All items; a line that is wrong is an error, since nothing can be collected without it."""
    if not os.path.isfile(work / PLAN):
        raise DatasetError(f"{work}: there is no {PLAN}. Make it with `lookaway cases export`.")
    tree = DatasetTree(work)
    items = [item for _, item in tree.records(PLAN, PlanItem)]
    if tree.problems:
        first = tree.problems[0]
        raise DatasetError(f"{work}: {first.where}: {first.message}. Export the cases again.")
    folders = [item.folder for item in items]
    if len(set(folders)) < len(folders):
        raise DatasetError(f"{work / PLAN}: two items have one folder. Export the cases again.")
    return items
