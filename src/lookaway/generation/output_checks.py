"""What is wrong with an output of a model: measured by decoding, never read from the plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

import numpy as np

from lookaway.core import Floats, FrameRequest, Pixels, Reason, VideoError
from lookaway.generation.adapter import ModelCard
from lookaway.generation.overlays import find_overlay, is_moving
from lookaway.generation.work_plan import PlanItem
from lookaway.io.video import Video
from lookaway.perception.opencv import load_opencv

SAMPLED_FRAMES: Final = 10
RATE_TOLERANCE: Final = 0.01
BLACK_LEVEL, BLACK_PERCENT = 16, 99
"""A frame is black where so many of its values are below a level; a night has lights."""
COMPARED_SIZE: Final = (64, 36)
MIN_CORRELATION: Final = 0.7
"""Least correlation of two small copies of one picture: 0.997 or more between real outputs and the pictures that they
were made from, 0.76 or more for other sizes, crops to another shape, strong compression, noise, blur and other colours;
at most 0.697 between different scenes."""
MIN_CONTRAST: Final = 4.0
"""Least standard deviation, in levels, of a picture that another one can be told from."""


class OutputProblem(StrEnum):
    """Kinds of problems; the names are public."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    COLLISION = "collision"
    AMBIGUOUS = "ambiguous_match"
    STALE = "stale"
    OTHER_SEED = "other_seed"
    TRUNCATED = "truncated"
    WRONG_FRAME_COUNT = "wrong_frame_count"
    WRONG_RATE = "wrong_fps"
    WRONG_SIZE = "wrong_size"
    TWIN = "upscaled_twin"
    OVERLAY = "overlay"
    OVERLAY_UNKNOWN = "overlay_unknown"
    FIRST_FRAME = "first_frame_mismatch"
    FROZEN = "frozen"
    BLACK = "black"
    RENAMED = "renamed"
    EXTRA = "extra"
    REFUSED = "refused"


NOTES: Final = frozenset(
    {
        OutputProblem.WRONG_RATE,
        OutputProblem.FROZEN,
        OutputProblem.BLACK,
        OutputProblem.RENAMED,
        OutputProblem.EXTRA,
        OutputProblem.OVERLAY_UNKNOWN,
    }
)
"""Kinds that do not keep an output from being measured: a picture that stands still or is black is a result. One that
starts with another picture is none, since the model was not asked what the case asks."""
REASONS: Final = {
    OutputProblem.MISSING: Reason.MISSING_VIDEO,
    OutputProblem.REFUSED: Reason.NOT_APPLICABLE,
    OutputProblem.UNREADABLE: Reason.UNDECODABLE,
    OutputProblem.TRUNCATED: Reason.TRUNCATED,
}
"""Reasons of rollouts; any other kind is an invalid record."""


@dataclass(frozen=True, slots=True)
class OutputFinding:
    """One problem of one output."""

    kind: OutputProblem
    message: str

    @property
    def is_note(self) -> bool:
        """Whether the output is measured all the same."""
        return self.kind in NOTES

    @property
    def reason(self) -> Reason:
        """Why a rollout with this problem has no value."""
        return REASONS.get(self.kind, Reason.INVALID_RECORD)


@dataclass(frozen=True, slots=True)
class MeasuredOutput:
    """An output as it was decoded."""

    frames: int = 0
    fps: float = 0.0
    width: int = 0
    height: int = 0
    findings: tuple[OutputFinding, ...] = field(default_factory=tuple)


def check_output(
    path: Path, item: PlanItem, card: ModelCard, *, first_frame: Pixels | None = None, allow_overlay: bool = False
) -> MeasuredOutput:
    """Decode an output and compare it with its plan, and with the first frame that the model was given."""
    try:
        with Video(path) as video:
            timeline = video.timeline
            rows = np.unique(np.linspace(0, timeline.frame_count - 1, SAMPLED_FRAMES).astype(int))
            shown = [frame.pixels for _, frame in video.frames([FrameRequest(frozenset(rows.tolist()))])]
    except VideoError as error:
        kind = OutputProblem.TRUNCATED if error.reason == Reason.TRUNCATED else OutputProblem.UNREADABLE
        return MeasuredOutput(findings=(OutputFinding(kind, str(error)),))
    fps = _rate(timeline.times_seconds)
    findings = [
        *_counts(timeline.frame_count, item),
        *_rates(fps, item),
        *_sizes(timeline.width, timeline.height, item),
    ]
    if not any(found.kind == OutputProblem.WRONG_SIZE for found in findings):
        if _is_black(shown):
            findings.append(OutputFinding(OutputProblem.BLACK, "all its pictures are black."))
        else:
            findings += _start(shown[0], first_frame, card)
            findings += _pictures(shown, item, card, allow_overlay=allow_overlay)
    return MeasuredOutput(timeline.frame_count, fps, timeline.width, timeline.height, tuple(findings))


def _rate(times: Floats) -> float:
    seconds = float(times[-1] - times[0])
    return (len(times) - 1) / seconds if seconds > 0 else 0.0


def _counts(frames: int, item: PlanItem) -> list[OutputFinding]:
    if frames == item.frames:
        return []
    kind = OutputProblem.TRUNCATED if frames < item.frames else OutputProblem.WRONG_FRAME_COUNT
    return [OutputFinding(kind, f"it has {frames} frames, expected {item.frames} as in the plan. Generate it again.")]


def _rates(fps: float, item: PlanItem) -> list[OutputFinding]:
    if not fps or abs(fps / item.fps - 1) <= RATE_TOLERANCE:
        return []
    return [
        OutputFinding(
            OutputProblem.WRONG_RATE,
            f"it plays at {fps:.3g} frames per second, expected {item.fps:g}; times of the request are by frames.",
        )
    ]


def _sizes(width: int, height: int, item: PlanItem) -> list[OutputFinding]:
    if (width, height) == (item.width, item.height):
        return []
    hint = " Width and height are swapped." if (height, width) == (item.width, item.height) else ""
    if width == item.width and height in (2 * item.height, 3 * item.height):
        hint = " It looks like a panel of several videos."
    return [
        OutputFinding(
            OutputProblem.WRONG_SIZE, f"its pictures are {width}x{height}, expected {item.width}x{item.height}.{hint}"
        )
    ]


def _is_black(shown: list[Pixels]) -> bool:
    return all(float(np.percentile(frame, BLACK_PERCENT)) < BLACK_LEVEL for frame in shown)


def _start(shown: Pixels, given: Pixels | None, card: ModelCard) -> list[OutputFinding]:
    """A model that is only prompted need not have seen the picture."""
    if given is None or not card.first_frame_kept or card.executable == "text" or is_same_picture(given, shown):
        return []
    message = "it does not start with the first frame of the case; it may be of another case. Generate it again."
    return [OutputFinding(OutputProblem.FIRST_FRAME, message)]


def _pictures(shown: list[Pixels], item: PlanItem, card: ModelCard, *, allow_overlay: bool) -> list[OutputFinding]:
    findings = []
    if item.moves and not is_moving(shown):
        findings.append(OutputFinding(OutputProblem.FROZEN, "nothing moves, although a camera motion was asked for."))
    if card.overlay is None or allow_overlay:
        return findings
    overlay = find_overlay(shown, card.overlay)
    if overlay == "found":
        findings.append(
            OutputFinding(
                OutputProblem.OVERLAY,
                "keys or a joystick are drawn into its frames and would be measured too. Generate it without them, or "
                "pass --allow-overlay.",
            )
        )
    elif overlay == "unknown":
        findings.append(
            OutputFinding(OutputProblem.OVERLAY_UNKNOWN, "it is not known whether keys are drawn into its frames.")
        )
    return findings


def is_same_picture(given: Pixels, shown: Pixels) -> bool:
    """Whether a frame shows a picture, stretched to its shape or cut to it; a picture without contrast is any other."""
    height, width = shown.shape[:2]
    frame = _small(shown)
    return any(_correlation(_small(copy), frame) >= MIN_CORRELATION for copy in (given, _cut(given, width / height)))


def _cut(picture: Pixels, aspect: float) -> Pixels:
    """The middle of a picture, as wide and high as an aspect allows."""
    height, width = picture.shape[:2]
    kept_width, kept_height = min(width, max(1, round(height * aspect))), min(height, max(1, round(width / aspect)))
    left, top = (width - kept_width) // 2, (height - kept_height) // 2
    return picture[top : top + kept_height, left : left + kept_width]


def _small(picture: Pixels) -> Floats:
    cv2 = load_opencv()
    small = cv2.resize(np.ascontiguousarray(picture), COMPARED_SIZE, interpolation=cv2.INTER_AREA).astype(np.float64)
    # A shift by a pixel of the model's own size is no other picture.
    return np.asarray(cv2.GaussianBlur(small, (0, 0), 1.0))


def _correlation(first: Floats, second: Floats) -> float:
    first, second = first - first.mean(axis=(0, 1)), second - second.mean(axis=(0, 1))
    if min(first.std(), second.std()) < MIN_CONTRAST:
        return 1.0
    return float((first * second).sum() / np.sqrt((first**2).sum() * (second**2).sum()))
