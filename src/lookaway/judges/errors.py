"""Errors between a question and its answer."""

from __future__ import annotations

from lookaway.core import LookawayError, Reason, Unmeasurable


class TransientError(LookawayError):
    """No answer this time; worth another attempt, now or after the seconds that the server asks for."""

    def __init__(self, message: str, after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.after_seconds = after_seconds


class PermanentError(LookawayError):
    """This question will not be answered, however often it is sent."""

    def __init__(self, message: str, *, is_refusal: bool = False) -> None:
        super().__init__(message)
        self.is_refusal = is_refusal


class NotAnswered(Unmeasurable):
    """There is no reply: a permanent error needs another request, a transient one may pass with time."""

    def __init__(self, message: str, *, is_permanent: bool, is_refusal: bool = False) -> None:
        super().__init__(Reason.JUDGE_REFUSED if is_refusal else Reason.JUDGE_FAILED, message)
        self.is_permanent = is_permanent


class Unreadable(LookawayError):
    """An answer that does not have the expected form; its message is sent to the judge as a correction.

    So another wording is another question: raise `JudgeModel.version` with it.
    """
