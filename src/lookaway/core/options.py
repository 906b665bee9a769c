"""Options of a suite: one list for flags, checks, `run.json`, the lock, and reading a dataset again."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from lookaway.core.errors import UserError

OptionType: TypeAlias = type[str] | type[int] | type[float] | type[bool] | type[Path]

_EXPECTED: dict[OptionType, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    Path: "a path",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of how a suite reads or measures a dataset.

    >>> alignment = Option(name="alignment", help="What is fitted.", choices=("sim3", "none"), default="sim3")
    >>> alignment.flag, alignment.check(None), alignment.check("none")
    ('--alignment', 'sim3', 'none')
    >>> alignment.check("sim2")
    Traceback (most recent call last):
        ...
    lookaway.core.errors.UserError: --alignment is 'sim2', expected one of sim3, none. Correct it, or leave it out.
    """

    name: str
    """Keyword of `read`, such as `max_frames`; the flag is `--max-frames`."""
    help: str
    """One sentence for `--help`."""
    type: OptionType = str
    """An option of type `bool` is off by default, and a flag without a value."""
    choices: tuple[str, ...] = ()
    """All possible values of a text option; empty is any."""
    minimum: float | None = None
    """Minimum of a number."""
    default: Any = None
    """Value if the option is not given."""
    metavar: str | None = None
    """Placeholder for the value in `--help`."""
    moves_numbers: bool = False
    """Whether the value itself can change a number, and therefore belongs in the lock.

    Not so for paths and selections: the lock covers the content of files.
    """
    lock_name: str | None = None
    """Its name in the settings of a dataset, and so in the lock; by default its own."""

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name != self.name.lower():
            raise ValueError(f"An option is named {self.name!r}, expected a name such as 'max_frames'.")
        if self.type not in _EXPECTED:
            raise TypeError(f"{self.flag}: its type is {self.type!r}, expected str, int, float, bool or Path.")
        if self.choices and self.type is not str:
            raise TypeError(f"{self.flag}: choices are for text, found the type {self.type.__name__}.")
        if self.minimum is not None and self.type not in (int, float):
            raise TypeError(f"{self.flag}: a minimum is for numbers, found the type {self.type.__name__}.")
        if self.moves_numbers and self.is_path:
            raise TypeError(f"{self.flag}: a path does not belong in the lock, only the content of its files.")
        if self.type is bool:
            if self.default:
                raise ValueError(f"{self.flag}: a flag without a value is off by default, found {self.default!r}.")
            object.__setattr__(self, "default", False)
        self.check(self.default)

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_path(self) -> bool:
        """Whether it is a path, which differs between machines."""
        return self.type is Path

    @property
    def setting(self) -> str:
        """Its name in the settings of a dataset."""
        return self.lock_name or self.name

    @property
    def expected(self) -> str:
        """Description of its values."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return _EXPECTED[self.type] + (f", {self.minimum:g} or more" if self.minimum is not None else "")

    def check(self, value: object) -> Any:
        """The value as a suite gets it: the default for `None`, an absolute path for a path; or a `UserError`."""
        if value is None:
            return self.default
        if self.is_path and isinstance(value, str | os.PathLike) and os.fspath(value):
            return Path(value).absolute()  # workers and reports may be in another folder
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not self._allows(value):
            raise UserError(f"{self.flag} is {value!r:.80}, expected {self.expected}. Correct it, or leave it out.")
        return value

    def _allows(self, value: object) -> bool:
        if isinstance(value, bool) or self.type is bool:
            return isinstance(value, bool) and self.type is bool
        if isinstance(value, str):
            return self.type is str and (value in self.choices if self.choices else value != "")
        if not isinstance(value, int | float) or not isinstance(value, self.type):
            return False
        return math.isfinite(value) and (self.minimum is None or value >= self.minimum)
