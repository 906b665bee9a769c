"""Outcomes of a measurement: a score, an abstention with a typed reason, or a failure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from lookaway.core.lock import Json


class Reason(StrEnum):
    """Why a rollout, or one unit of it, has no value. The names are public: exports and tables show them."""

    MISSING_VIDEO = "missing_video"
    EMPTY_FILE = "empty_file"
    NOT_A_VIDEO = "not_a_video"
    AUDIO_ONLY = "audio_only"
    NO_FRAMES = "no_frames"
    ZERO_SIZE = "zero_size"
    TRUNCATED = "truncated"
    UNDECODABLE = "undecodable"
    TOO_SHORT = "too_short"
    MISSING_INPUT = "missing_input"
    INVALID_INPUT = "invalid_input"
    INVALID_RECORD = "invalid_record"
    UNSAFE_PATH = "unsafe_path"
    POSE_FAILED = "pose_failed"
    POSE_CONVENTION_AMBIGUOUS = "pose_convention_ambiguous"
    TOO_FEW_MATCHES = "too_few_matches"
    NO_TARGET = "no_target"
    NOT_APPLICABLE = "not_applicable"
    GATE_CLOSED = "gate_closed"
    JUDGE_FAILED = "judge_failed"
    JUDGE_REFUSED = "judge_refused"
    NO_JUDGE = "no_judge"
    NO_LOG_PROBABILITIES = "no_log_probabilities"
    MISSING_WEIGHTS = "missing_weights"
    WRONG_WEIGHTS = "wrong_weights"
    TOO_SLOW = "too_slow"
    TOO_LARGE = "too_large"
    NOT_YET_MEASURED = "not_yet_measured"


WORTH_ANOTHER_TRY = frozenset({Reason.JUDGE_FAILED})
"""Reasons that may not recur in a later run with the same rollout and lock."""

OF_THE_MACHINE = frozenset({Reason.MISSING_WEIGHTS, Reason.WRONG_WEIGHTS, Reason.NO_JUDGE})
"""Reasons of this machine, not of the dataset."""

OF_A_LIMIT = frozenset({Reason.TOO_SLOW, Reason.TOO_LARGE})
"""Reasons of a rollout that passed a limit, which `detail.limit` is."""


@dataclass(frozen=True, slots=True)
class Score:
    """A finite measurement.

    >>> Score(0.5).value
    0.5
    >>> Score(float("nan"))
    Traceback (most recent call last):
    ...
    ValueError: A score must be a finite number, found nan. Return an Abstention with its reason instead.
    """

    value: float
    raw: float | None = None
    """The same measurement in its native unit (pixels, a 1 to 5 rating), where the value is a mapping of it."""
    units: tuple[Unit, ...] = ()
    detail: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number in (self.value, self.raw):
            if number is not None and not math.isfinite(number):
                raise ValueError(
                    f"A score must be a finite number, found {number!r}. Return an Abstention with its reason instead."
                )


@dataclass(frozen=True, slots=True)
class Abstention:
    """There is no score, for a typed reason."""

    reason: Reason
    message: str
    units: tuple[Unit, ...] = ()
    detail: Mapping[str, Json] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Failure:
    """The measurement crashed: a bug or a broken machine. Never averaged, always reported, retried on resume."""

    error: str
    message: str
    trace: str = field(default="", compare=False)
    """Traceback; stored with the run's events, not in its rows."""


Outcome: TypeAlias = Score | Abstention | Failure


@dataclass(frozen=True, slots=True)
class Unit:
    """One part of a measurement: a frame pair, a track, a segment, a phase, a probe."""

    name: str
    outcome: Score | Abstention
