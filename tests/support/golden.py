"""Numbers that official programs gave, which lie in `tests/golden`; its README says how each was made."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parents[1] / "golden"


@cache
def golden_numbers(name: str) -> dict[str, Any]:
    """What the official programs returned, such as `mind`."""
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


@cache
def golden_arrays(name: str) -> dict[str, np.ndarray]:
    """What they were given, and arrays that they returned."""
    with np.load(GOLDEN / f"{name}.npz") as stored:
        return dict(stored)
