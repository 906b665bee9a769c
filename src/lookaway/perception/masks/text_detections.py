"""Where a detector finds what a text names: the interface of detectors for the reappearance of targets."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from lookaway.core import (
    Abstention,
    Feature,
    Features,
    Frame,
    FrameRequest,
    Json,
    Reason,
    Rollout,
    SampledExtractor,
    Sampler,
    Timeline,
    Unmeasurable,
)
from lookaway.io.phases import EveryInPhases

Wording: TypeAlias = Literal["subject", "clause"]
"""What a detector is asked for: the name of the target, or the clause of the prompt that MemoBench's own code takes."""
TARGET_CLAUSE: Final = re.compile(r"sees (.*?\(subject\)[^.,]*)")


class Detection(NamedTuple):
    """Something that was found in a frame."""

    coverage: float
    """Share of the frame that its mask covers."""
    score: float


Detect: TypeAlias = Callable[[Frame, str], Sequence[Detection]]
"""Everything in a frame that a text may mean, however unsure."""


def target_words(rollout: Rollout, wording: Wording) -> str | None:
    """What a detector is asked for; `None` where the case names no target.

    The clause goes from "sees" to the end of the clause, and keeps the mark "(subject)"; a prompt without one
    has the name of the target, as those of real clips do.
    """
    target = rollout.case.target
    if target is None or not target.name:
        return None
    if wording == "clause":
        for prompt in rollout.case.prompt:
            if match := TARGET_CLAUSE.search(prompt):
                return match[1].strip()
    return target.name


@dataclass(frozen=True, slots=True)
class TextDetections(SampledExtractor):
    """An extractor of detections; a subclass gives `load_detector`, and the fields that its detector depends on."""

    bytes_per_frame: ClassVar[float] = 3000.0
    arrays: ClassVar[Mapping[str, str]] = {
        "coverages": "float64 [detections]: share of the frame that each detection covers",
        "scores": "float64 [detections]: how sure the detector is, from 0 to 1",
        "detection_frames": "int64 [detections]: the frame of each detection",
        "frame_indices": "int64 [frames]: all frames that were looked at",
    }

    frames: Annotated[Sampler, "which frames are looked at"] = EveryInPhases(("reappeared",))
    wording: Annotated[
        Wording,
        "`subject` is the name of the target, `clause` the clause of the prompt that MemoBench's own code takes",
    ] = "subject"

    @abstractmethod
    def load_detector(self) -> Detect:
        """The detector."""

    def declines(self, rollout: Rollout) -> Abstention | None:
        """There must be a target to look for."""
        if target_words(rollout, self.wording) is None:
            return Abstention(Reason.NO_TARGET, f"the case {rollout.case.id} names no target to look for.")
        return None

    def load(self) -> LoadedTextDetections:
        """Load the detector."""
        return LoadedTextDetections(self, self.load_detector())


@dataclass(frozen=True, slots=True)
class LoadedTextDetections:
    """Detections with their detector loaded."""

    recipe: TextDetections
    detect: Detect

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> DetectionExtraction:
        """Start on one rollout."""
        words = target_words(rollout, self.recipe.wording)
        if words is None:
            raise Unmeasurable(Reason.NO_TARGET, f"the case {rollout.case.id} names no target to look for.")
        detail: dict[str, Json] = {"words": words, "video_frames": timeline.frame_count}
        return DetectionExtraction(self.detect, words, self.recipe.request(timeline, rollout), detail)


@dataclass(slots=True)
class DetectionExtraction:
    """Collects the detections of one rollout."""

    detect: Detect
    words: str
    request: FrameRequest
    detail: Mapping[str, Json]
    _found: list[tuple[int, Detection]] = field(default_factory=list)
    _indices: list[int] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        """Look at one frame."""
        self._indices.append(frame.index)
        self._found += [(frame.index, detection) for detection in self.detect(frame, self.words)]

    def finish(self) -> Feature:
        """All detections of all frames."""
        arrays = {
            "coverages": np.array([detection.coverage for _, detection in self._found], np.float64),
            "scores": np.array([detection.score for _, detection in self._found], np.float64),
            "detection_frames": np.array([frame for frame, _ in self._found], np.int64),
            "frame_indices": np.array(self._indices, np.int64),
        }
        return Feature(arrays, self.detail)
