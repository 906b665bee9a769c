"""What turns a question into an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from lookaway.core import Json
from lookaway.judges.oracle.known_clip import KnownClip
from lookaway.judges.question import Answer

AnswerFunction: TypeAlias = Callable[[KnownClip | None, Mapping[str, Json], tuple[int, ...]], Answer | bool]
"""From the clip that is shown (`None` without pictures), the pieces of material by name, and the frames that are shown,
to an answer: an object, or whether it is a yes."""
