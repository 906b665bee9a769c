"""What can go wrong between a question and its answer."""

from __future__ import annotations

from lookaway.core import LookawayError, Reason, Unmeasurable


class TransientError(LookawayError):
    """Nobody answered this time: worth another try, at once or after some seconds that the server asked for."""

    def __init__(self, message: str, after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.after_seconds = after_seconds


class PermanentError(LookawayError):
    """This question will not be answered, however often it is put."""

    def __init__(self, message: str, *, is_refusal: bool = False) -> None:
        super().__init__(message)
        self.is_refusal = is_refusal


class NotAnswered(Unmeasurable):
    """There is no reply; asking in other words may help where the fault lasts, and patience where it passes."""

    def __init__(self, message: str, *, is_lasting: bool, is_refusal: bool = False) -> None:
        super().__init__(Reason.JUDGE_REFUSED if is_refusal else Reason.JUDGE_FAILED, message)
        self.is_lasting = is_lasting


class Unreadable(LookawayError):
    """An answer that is not what was asked for; the message can be told to the judge."""
