"""Features that are read or computed without looking at a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Feature, Frame, FrameRequest


@dataclass(frozen=True, slots=True)
class Reading:
    """A watch that asks for no frames."""

    read: Callable[[], Feature]
    request: ClassVar[FrameRequest | None] = None

    def add_frame(self, frame: Frame) -> None:
        """Nobody asked for a frame."""
        raise NotImplementedError("no frames were asked for")

    def finish(self) -> Feature:
        """What was read."""
        return self.read()
