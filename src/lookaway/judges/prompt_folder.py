"""Prompts of the user's own, such as the wording of a publication's authors, in place of ours.

The project holds nobody's text: its prompts ask what a publication asks in words of their own. A folder with files of
the same names replaces them. A text is sent as it is, and only its hash is recorded.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lookaway.core import BoundMetric, Json, Unmeasurable, UserError, digest
from lookaway.io.dataset_files import decoded, inside, read_limited
from lookaway.io.limits import MAX_PROMPT_BYTES
from lookaway.judges.prompts import SUFFIX, Prompt, prompt_names

NO_METRIC_ASKS: Final = ("check_", "introduction", "question_writing")
"""How the names of prompts begin that test a server or write questions: they move no number of a run."""
PLACEHOLDER: Final = re.compile(r"\{\{?\s*[A-Za-z_]\w*\s*\}?\}|%\([A-Za-z_]\w*\)s")
"""What a program would fill in: `{caption}`, `{{ caption }}`, `${caption}`, `%(caption)s`."""


@dataclass(frozen=True, slots=True)
class PromptFolder:
    """The prompts in a folder, by name."""

    folder: str
    prompts: Mapping[str, Prompt]

    @classmethod
    def read(cls, folder: Path) -> PromptFolder:
        """All prompts of a folder; a `UserError` for a file that replaces none of ours, or cannot replace it."""
        if not folder.is_dir():
            raise UserError(f"{folder}: there is no such folder. Name one that holds prompts, such as trigger{SUFFIX}.")
        files = sorted(file for file in folder.iterdir() if not file.name.startswith("."))
        known = replaceable()
        for file in files:
            if file.suffix != SUFFIX or file.stem not in known:
                raise UserError(
                    f"{file}: no prompt has this name, so that the file would be ignored. Known: "
                    f"{', '.join(f'{name}{SUFFIX}' for name in known)}."
                )
        if not files:
            raise UserError(f"{folder}: holds no prompts. Known: {', '.join(f'{name}{SUFFIX}' for name in known)}.")
        return cls(str(folder), {file.stem: _read(folder, file) for file in files})

    def to_json(self) -> Json:
        """What `run.json` records: the folder, which prompts it holds, and a hash of them; never their text."""
        hashes = {name: prompt.sha256 for name, prompt in self.prompts.items()}
        return {"folder": self.folder, "names": sorted(hashes), "sha256": digest(hashes)}

    def replace_in(self, bounds: tuple[BoundMetric, ...]) -> tuple[BoundMetric, ...]:
        """Metrics whose recipes ask with these prompts."""
        return tuple(
            dataclasses.replace(bound, recipes={name: self._in(recipe) for name, recipe in bound.recipes.items()})
            for bound in bounds
        )

    def _in(self, value: Any) -> Any:
        """A recipe, or a part of one, with these prompts; the same object where it has none."""
        if isinstance(value, Prompt):
            return self.prompts.get(value.name, value)
        if isinstance(value, tuple):
            found = tuple(self._in(entry) for entry in value)
            _require_question(found)
            return value if all(new is old for new, old in zip(found, value, strict=True)) else found
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            return value
        inner = {entry.name: getattr(value, entry.name) for entry in dataclasses.fields(value) if entry.init}
        changed = {name: new for name, old in inner.items() if (new := self._in(old)) is not old}
        return dataclasses.replace(value, **changed) if changed else value


def replaceable() -> list[str]:
    """Names of the prompts that metrics ask with."""
    return [name for name in prompt_names() if not name.startswith(NO_METRIC_ASKS)]


def _read(folder: Path, file: Path) -> Prompt:
    try:
        path = inside(folder, str(file.resolve()))
    except Unmeasurable as error:
        raise UserError(f"{file}: leads out of {folder}. Copy the file itself into the folder.") from error
    text = decoded(read_limited(path, MAX_PROMPT_BYTES, str(file)), str(file))
    ours, found = (set(PLACEHOLDER.findall(each)) for each in (Prompt.named(file.stem).text, text))
    if found - ours:
        raise UserError(
            f"{file}: has {', '.join(sorted(found - ours))}, which would be sent as it is: nothing is filled into a "
            "prompt. What is known of a case, such as its event, follows the prompt as JSON. Refer to it there, as our "
            f"{file.name} does."
        )
    if ours - found:
        raise UserError(f"{file}: lacks {', '.join(sorted(ours - found))}, which our {file.name} has. Add it.")
    return Prompt.given(file.stem, text)


def _require_question(parts: tuple[Any, ...]) -> None:
    """A part of a question may be empty, where the authors' wording has all in one; the whole may not."""
    if parts and all(isinstance(part, Prompt) and not part.text.strip() for part in parts):
        names = ", ".join(f"{part.name}{SUFFIX}" for part in parts)
        raise UserError(f"{names}: empty, so that nothing would be asked. Write the question into one of them.")
