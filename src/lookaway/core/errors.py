"""Every error of the package.

LookawayError
├── UserError                a message for the user and exit code 2, never a traceback
│   ├── DatasetError         the files do not have the shape that the suite expects
│   ├── UnknownName          nothing of that name is installed
│   ├── NameClash            two packages offer one name
│   ├── RunError             the run folder cannot be used
│   │   └── StorageError     object storage cannot be used
│   ├── MissingExtra         an optional dependency is not installed
│   ├── NoEnvironment        an environment for a network could not be made
│   ├── MissingDevice        the device that was asked for is not in this machine
│   ├── JudgeUnusable        the judge cannot be asked: wrong key, unknown model, no server
│   └── BudgetSpent          a judge may not be asked more
└── Unmeasurable             this rollout cannot be measured; becomes an abstention with its typed reason
    ├── VideoError           the video cannot be read
    ├── ArtifactError        a file beside the video (poses, depth) cannot be read
    └── UnsafePath           a path of the dataset leaves its root

Anything else that is raised is a bug of ours and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from lookaway.core.outcomes import Reason

MAX_NAMED = 20
"""Names that a message lists; a dataset may have thousands of cases."""


def _restored(kind: type[LookawayError], args: tuple[object, ...], state: dict[str, object]) -> LookawayError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class LookawayError(Exception):
    """Root of all errors that this package raises on purpose."""

    def __reduce__(self) -> tuple[object, ...]:
        # The default calls __init__ with the finished message, which most of our errors do not take.
        return _restored, (type(self), self.args, self.__dict__)


class UserError(LookawayError):
    """Something the user can put right; the message says what was found, expected, and what to do."""


class DatasetError(UserError):
    """The files do not have the shape that the suite expects."""


class UnknownName(UserError):
    """Nothing of that name is installed."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Known: {_some(known)}."
        super().__init__(f"No {kind} is named {name!r}. {hint}")


def _some(names: list[str]) -> str:
    rest = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {rest:,} more" if rest > 0 else "") or "none"


class NameClash(UserError):
    """Two packages offer one name; silently choosing one would change numbers by install order."""

    def __init__(self, kind: str, name: str, offers: Iterable[str]) -> None:
        super().__init__(
            f"The {kind} name {name!r} is offered more than once: {'; '.join(sorted(offers))}. "
            "Uninstall one of the packages, or rename one entry point."
        )


class RunError(UserError):
    """The run folder cannot be used."""


class StorageError(RunError, OSError):
    """Object storage cannot be used; the message says what to do, and holds no secret."""


class MissingExtra(UserError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency. Install it with: pip install 'lookaway[{extra}]'")


class NoEnvironment(UserError):
    """An environment for a network could not be made."""


class MissingDevice(UserError):
    """The device that was asked for is not in this machine."""


class JudgeUnusable(UserError):
    """The judge cannot be asked."""


class BudgetSpent(UserError):
    """A judge may not be asked more."""


class Unmeasurable(LookawayError):
    """This rollout cannot be measured, and why."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class VideoError(Unmeasurable):
    """The video cannot be read."""


class ArtifactError(Unmeasurable):
    """A file beside the video (poses, depth) cannot be read."""


class UnsafePath(Unmeasurable):
    """A path of the dataset leaves its root."""
