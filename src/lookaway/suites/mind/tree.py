"""A folder of a dataset that is looked into only as far as it lies inside its root."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from lookaway.core import Problem, Unmeasurable
from lookaway.io.files import inside


@dataclass(frozen=True, slots=True)
class Tree:
    """Lists folders and files below a root; what cannot be listed is told."""

    root: Path
    problems: list[Problem]
    allow_outside: bool = False

    def path(self, relative: str) -> Path:
        """A file or folder, whether it exists or not; or an `UnsafePath`."""
        return inside(self.root, relative or ".", allow_outside=self.allow_outside)

    def has(self, relative: str) -> bool:
        """Whether there is such a folder inside the root."""
        try:
            return os.path.isdir(self.path(relative))
        except Unmeasurable:
            return False

    def folders(self, relative: str) -> list[str]:
        """Names of the folders in a folder, sorted; none where there is no such folder."""
        return [name for name in self._names(relative) if os.path.isdir(self.root / relative / name)]

    def files(self, relative: str) -> list[str]:
        """Names of everything else in a folder, sorted."""
        return [name for name in self._names(relative) if not os.path.isdir(self.root / relative / name)]

    def tell(self, relative: str, message: str) -> None:
        """Note something that could not become a rollout."""
        self.problems.append(Problem(where=_shown(relative) or ".", message=message))

    def _names(self, relative: str) -> list[str]:
        try:
            found = sorted(os.listdir(self.path(relative)))
        except FileNotFoundError:
            return []
        except (Unmeasurable, OSError) as error:
            reason = error if isinstance(error, Unmeasurable) else f"cannot be listed: {error.strerror}"
            self.tell(relative, str(reason))
            return []
        names = []
        for name in found:
            if _shown(name) != name:
                self.tell(os.path.join(relative, name), "the name is not UTF-8; left out")
            elif not name.startswith("."):
                names.append(name)
        return names


def _shown(name: str) -> str:
    """Names are bytes; those that are no valid UTF-8 are shown, not refused."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
