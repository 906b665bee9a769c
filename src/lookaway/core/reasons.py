"""The typed reasons for which something was not measured."""

from __future__ import annotations

from enum import StrEnum


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
    NOT_YET_MEASURED = "not_yet_measured"


WORTH_ANOTHER_TRY = frozenset({Reason.JUDGE_FAILED})
"""What a later run may find otherwise, though the rollout and the lock are the same."""

OF_THE_MACHINE = frozenset({Reason.MISSING_WEIGHTS, Reason.WRONG_WEIGHTS, Reason.NO_JUDGE})
"""What is missing here, and not in the dataset."""
