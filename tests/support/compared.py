"""Answers that lie beside the true video they are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from lookaway.core import Reference, Rollout
from lookaway.io.encoding import write_video
from tests.support.watching import rollout_of


def kept(path: Path, pictures: Sequence[np.ndarray]) -> Path:
    """A video that keeps every pixel."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_video(path, pictures, fps=8, lossless=True)
    return path


def beside(answer: Path, truth: Path, start: int = 0, end: int | None = None) -> Rollout:
    """An answer whose first frame stands for frame `start` of the true video, which is said to have `end` frames."""
    rollout = rollout_of(answer)
    return replace(rollout, case=replace(rollout.case, reference=Reference(video=truth, start=start, end=end)))


def answered(folder: Path, answer: Sequence[np.ndarray], truth: Sequence[np.ndarray], start: int = 0) -> Rollout:
    """The same, of pictures."""
    return beside(kept(folder / "answer.mp4", answer), kept(folder / "truth.mp4", truth), start)
