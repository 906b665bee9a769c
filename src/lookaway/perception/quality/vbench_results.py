"""What VBench itself wrote about a video."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar, Final

import numpy as np

from lookaway.core import (
    Abstention,
    ArtifactError,
    DatasetError,
    Feature,
    Features,
    FramelessExtractor,
    Json,
    Reason,
    Rollout,
    Timeline,
)
from lookaway.io.dataset_files import read_dataset_json

ARTIFACT: Final = "vbench"
OUT_OF_100: Final = frozenset({"imaging_quality"})
"""Dimensions that VBench writes from 0 to 100 for single videos, and from 0 to 1 for their mean."""


@dataclass(frozen=True, slots=True)
class VbenchResults(FramelessExtractor):
    """The values of one video in VBench's `..._eval_results.json`, the rollout's `vbench` artifact.

    There may be several such files (`vbench`, `vbench_01` and so on), as where VBench ran once for each dimension.
    Videos are found by the name of their file. Values go from 0 to 1.
    """

    name: ClassVar[str] = "vbench_results"
    seconds_per_frame: ClassVar[float] = 0.0001
    bytes_per_frame: ClassVar[float] = 1.0
    arrays: ClassVar[Mapping[str, str]] = {"values": "float64 [dimensions]: in the order of `detail.dimensions`"}

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether there is an artifact."""
        if any(path.is_file() for path in _paths(rollout)):
            return None
        return Abstention(Reason.MISSING_INPUT, "VBench's results are not given: run VBench, and supply its JSON.")

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the values."""
        values: dict[str, float] = {}
        for path in _paths(rollout):
            found = {name: _value(name, entry, rollout.video.name) for name, entry in _content(path).items()}
            values |= {name: value for name, value in found.items() if value is not None}
        if not values:
            names = ", ".join(path.name for path in _paths(rollout))
            message = f"{names} does not name the video {rollout.video.name}. Run VBench on it."
            raise ArtifactError(Reason.MISSING_INPUT, message)
        return Feature({"values": np.array([*values.values()], np.float64)}, {"dimensions": [*values]})


def _paths(rollout: Rollout) -> list[Path]:
    return [path for name, path in sorted(rollout.artifacts.items()) if name.partition("_")[0] == ARTIFACT]


def _content(path: Path) -> dict[str, Json]:
    try:
        content = read_dataset_json(path)
    except DatasetError as error:
        raise ArtifactError(Reason.INVALID_INPUT, str(error)) from error
    if not isinstance(content, dict):
        raise ArtifactError(Reason.INVALID_INPUT, f"{path.name}: expected a value for each dimension of VBench.")
    return content


def _value(dimension: str, entry: Json, video: str) -> float | None:
    """The value of one video, from `[mean, [{"video_path": ..., "video_results": ...}, ...]]`."""
    rows = entry[1] if isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], list) else []
    for row in rows:
        if isinstance(row, dict) and PurePosixPath(str(row.get("video_path"))).name == video:
            value = row.get("video_results")
            if isinstance(value, int | float):
                return float(value) / (100 if dimension in OUT_OF_100 else 1)
    return None
