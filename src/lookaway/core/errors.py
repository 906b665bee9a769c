"""Every error of the package.

LookawayError
├── UserError                a message for the user and exit code 2, never a traceback
│   ├── DatasetError         the files do not have the shape that the suite expects
│   ├── UnknownName          nothing of that name is installed
│   ├── NameClash            two packages register the same name
│   ├── RunError             the run folder cannot be used
│   │   ├── DamagedFile      a file of a run does not have the content that was written
│   │   └── StorageError     object storage cannot be used
│   ├── MissingExtra         an optional dependency is not installed
│   ├── NoEnvironment        the environment of a network could not be created
│   ├── MissingDevice        this machine does not have the requested device
│   ├── JudgeUnusable        the judge cannot be used: wrong key, unknown model, no server
│   └── BudgetSpent          the budget for judge calls is used up
└── Unmeasurable             this rollout cannot be measured; becomes an abstention with its typed reason
    ├── VideoError           the video cannot be read
    ├── ArtifactError        a file beside the video (poses, depth) cannot be read
    └── UnsafePath           a path of the dataset leaves its root

Any other exception is a bug in this package and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from lookaway.core.outcomes import Reason

MAX_NAMED = 20
"""Maximum names in a message; a dataset may have thousands of cases."""


MAX_MEANT = 3
"""Maximum names that begin with what was written and are offered all."""


def _restored(kind: type[LookawayError], args: tuple[object, ...], state: dict[str, object]) -> LookawayError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class LookawayError(Exception):
    """Root of all errors that this package raises on purpose."""

    def __reduce__(self) -> tuple[object, ...]:
        # The default calls __init__ with the finished message, which most subclasses do not take.
        return _restored, (type(self), self.args, self.__dict__)


class UserError(LookawayError):
    """An error that the user can fix; the message says what was found, what was expected, and what to do."""


class DatasetError(UserError):
    """The files do not have the shape that the suite expects."""


class UnknownName(UserError):
    """Nothing of that name is installed."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        begun = [entry for entry in known if name and entry.startswith(name)]
        close = begun if 1 < len(begun) <= MAX_MEANT else difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Known: {_some(known)}."
        super().__init__(f"No {kind} is named {name!r}. {hint}")


def _some(names: list[str]) -> str:
    rest = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {rest:,} more" if rest > 0 else "") or "none"


class NameClash(UserError):
    """Two packages register the same name; silently choosing one would make numbers depend on install order."""

    def __init__(self, kind: str, name: str, offers: Iterable[str]) -> None:
        super().__init__(
            f"The {kind} name {name!r} is registered more than once: {'; '.join(sorted(offers))}. "
            "Uninstall one of the packages, or rename one entry point."
        )


class RunError(UserError):
    """The run folder cannot be used."""


class DamagedFile(RunError):
    """A file of a run does not have the content that was written; the message says what to do."""


class StorageError(RunError, OSError):
    """Object storage cannot be used; the message says what to do, and contains no secret."""


class MissingExtra(UserError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency. Install it with: pip install 'lookaway[{extra}]'")


class NoEnvironment(UserError):
    """The environment of a network could not be created."""


class MissingDevice(UserError):
    """This machine does not have the requested device."""


class JudgeUnusable(UserError):
    """The judge cannot be used."""


class BudgetSpent(UserError):
    """The budget for judge calls is used up."""


class Unmeasurable(LookawayError):
    """This rollout cannot be measured, with the reason."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class VideoError(Unmeasurable):
    """The video cannot be read."""


class ArtifactError(Unmeasurable):
    """A file beside the video (poses, depth) cannot be read."""


class UnsafePath(Unmeasurable):
    """A path of the dataset leaves its root."""
