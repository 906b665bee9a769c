"""The prompts of judges: files, each with a hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Any

from lookaway.core import UnknownName, UserError

OURS = "lookaway.judges.prompts"
SUFFIX = ".md"
_GIVEN: dict[str, str] = {}
"""Texts that are no file of a package, by hash: a lock has the hash of each, and nobody's text."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file. Names are `name` for a built-in one, and `package:name` for a file in another package."""

    name: Annotated[str, "name of the file"]
    sha256: Annotated[str, "SHA-256 of its text"]

    @classmethod
    def named(cls, name: str) -> Prompt:
        """The prompt as it is now."""
        return cls(name, hashlib.sha256(_text(name).encode()).hexdigest())

    @classmethod
    def given(cls, name: str, text: str) -> Prompt:
        """A text of the user's in place of the prompt with this name."""
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        _GIVEN[sha256] = text
        return cls(name, sha256)

    def __reduce__(self) -> tuple[Any, ...]:
        """With its text where it is no file, since another process has no other source of it."""
        if (text := _GIVEN.get(self.sha256)) is not None:
            return Prompt.given, (self.name, text)
        return Prompt, (self.name, self.sha256)

    @property
    def text(self) -> str:
        """The text; raises `UserError` if it has changed since it was hashed."""
        if (given := _GIVEN.get(self.sha256)) is not None:
            return given
        text = _text(self.name)
        found = hashlib.sha256(text.encode()).hexdigest()
        if found != self.sha256:
            raise UserError(
                f"The prompt {self.name!r} has the SHA-256 {found}, expected {self.sha256}: it was changed after the "
                "run was planned. Start again with a new run, whose lock names the new prompt."
            )
        return text


def prompt_names() -> list[str]:
    """All built-in prompts."""
    files = (entry.name for entry in resources.files(OURS).iterdir())
    return sorted(name.removesuffix(SUFFIX) for name in files if name.endswith(SUFFIX))


@cache
def _text(name: str) -> str:
    package, _, file = name.rpartition(":")
    try:
        return (resources.files(package or OURS) / f"{file}{SUFFIX}").read_text(encoding="utf-8")
    except (FileNotFoundError, ModuleNotFoundError) as error:
        raise UnknownName("prompt", name, prompt_names()) from error


__all__ = ["Prompt"]
