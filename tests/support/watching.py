"""Runs an extractor on a video or on frames, without an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lookaway.core import Case, Extractor, Feature, Frame, Rollout, Target, Timeline
from lookaway.engine.feature_job import Extractors, FeatureJob


def rollout_of(video: Path, *, target: Target | None = None, **fields: Any) -> Rollout:
    """A rollout of a case that asks for nothing more."""
    case = Case(id="room", subset="all", scene="room", target=target, prompt=fields.pop("prompt", ()))
    return Rollout(case=case, model="model", video=video, **fields)


def perceive(recipe: Extractor, video: Path | Rollout) -> Feature:
    """What an extractor perceives in a video, with all that it needs; raises what kept it from perceiving."""
    rollout = video if isinstance(video, Rollout) else rollout_of(video)
    found = FeatureJob(Extractors(None), rollout, "content", [recipe]).run()[recipe]
    if isinstance(found, Exception):
        raise found
    return found


def perceive_frames(
    recipe: Extractor,
    pictures: Sequence[np.ndarray],
    features: Mapping[str, Feature] | None = None,
    rollout: Rollout | None = None,
) -> Feature:
    """What an extractor perceives in pictures, which it must ask for at their own height."""
    height, width = pictures[0].shape[:2]
    timeline = Timeline(np.arange(len(pictures)) / 8, width, height)
    extraction = recipe.load().start(rollout or rollout_of(Path("clip.mp4")), timeline, features or {})
    assert extraction.request is None or extraction.request.height in (None, height)
    for index in sorted(extraction.request.indices if extraction.request else ()):
        extraction.add_frame(Frame(index, index / 8, pictures[index]))
    return extraction.finish()


def check_documented(recipe: Extractor, feature: Feature) -> None:
    """That a feature holds just the arrays that its recipe documents, with those types and numbers of axes.

    Arrays that a recipe can leave out may be missing; an axis named by the same word has the same length everywhere.
    """
    lengths: dict[str, int] = {}
    assert feature.arrays.keys() <= recipe.arrays.keys(), feature.arrays.keys() - recipe.arrays.keys()
    for name, array in feature.arrays.items():
        dtype, _, rest = recipe.arrays[name].partition(" [")
        axes = [axis.strip() for axis in rest.partition("]")[0].split(",") if axis.strip()]
        assert str(array.dtype) == dtype, f"{name} is {array.dtype}, documented as {dtype}"
        assert array.ndim == len(axes), f"{name} has {array.ndim} axes, documented as {axes}"
        for axis, length in zip(axes, array.shape, strict=True):
            word, _, more = axis.partition(" + ")
            expected = int(word) if word.isdigit() else lengths.setdefault(word, length - int(more or 0))
            assert length == expected + int(more or 0), f"{name}: axis {axis} is {length} long, expected {expected}"
