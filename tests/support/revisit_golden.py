"""What the code of published revisit protocols gave, and rollouts to compare with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lookaway.core import Case, Extractor, Feature, Frame, GivenPair, Rollout, Timeline
from tests.support.golden import golden_arrays, golden_numbers


def official() -> dict[str, Any]:
    """Numbers by protocol."""
    return golden_numbers("revisit")


def arrays() -> dict[str, np.ndarray]:
    """The arrays that they are about."""
    return golden_arrays("revisit")


def rollout_of(
    *, action: str | None = None, pairs: Sequence[tuple[int, int, float | None]] | None = None, **fields: Any
) -> Rollout:
    """A rollout of a case with an action, or with given pairs: first frame, second frame, cost."""
    given = None if pairs is None else tuple(GivenPair(first=a, second=b, cost=cost) for a, b, cost in pairs)
    case = Case(id="room", subset="all", scene="room", action=action, pairs=given)
    return Rollout(case=case, model="model", video=Path("clip.mp4"), **fields)


def timeline_of(frames: int, fps: float = 16, width: int = 64, height: int = 48) -> Timeline:
    """Frames at a constant rate."""
    return Timeline(np.arange(frames) / fps, width, height)


def extracted(
    recipe: Extractor,
    pictures: Sequence[np.ndarray],
    rollout: Rollout,
    *,
    fps: float = 16,
    features: dict[str, Feature] | None = None,
) -> Feature:
    """What an extractor makes of pictures that are shown at some rate."""
    height, width = pictures[0].shape[:2]
    timeline = timeline_of(len(pictures), fps, width, height)
    extraction = recipe.load().start(rollout, timeline, features or {})
    assert extraction.request is not None
    for index in sorted(extraction.request.indices):
        extraction.add_frame(Frame(index, index / fps, pictures[index]))
    found = extraction.finish()
    assert isinstance(found, Feature)
    return found
