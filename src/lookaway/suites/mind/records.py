"""`action.json`: the controls of every frame, and where the context ends."""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

LONGEST: Final = 10_000_000
"""No video has more frames: a larger number is an error."""
Key = Annotated[int, Field(ge=0, le=2)]
Time = Annotated[int, Field(ge=0, le=LONGEST)]
STEERING: Final = {
    "ws": ("forward", "backward"),
    "ad": ("left", "right"),
    "ud": ("look_up", "look_down"),
    "lr": ("look_left", "look_right"),
}
"""Meaning of 1 and 2, in the order in which names are joined; 0 is no key."""
NOTHING: Final = "no_op"


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class FrameKeys(_Record):
    """The keys held in one frame. The dataset card counts from 0; files and official code count from 1."""

    ws: Key
    ad: Key
    ud: Key
    lr: Key

    @property
    def control(self) -> str:
        """All held keys as one name.

        >>> FrameKeys(ws=1, ad=0, ud=0, lr=2).control
        'forward+look_right'
        >>> FrameKeys(ws=0, ad=0, ud=0, lr=0).control
        'no_op'
        """
        held = (names[getattr(self, key) - 1] for key, names in STEERING.items() if getattr(self, key))
        return "+".join(held) or NOTHING


class ActionRecord(_Record):
    """The used part of `action.json`; frames are counted in the video, not here."""

    mark_time: Time
    total_time: Time
    caption: str = ""
    data: list[FrameKeys]

    @model_validator(mode="after")
    def _marks_a_frame(self) -> Self:
        if self.mark_time >= self.total_time:
            raise ValueError(
                f"mark_time is {self.mark_time}, expected a frame before total_time, which is {self.total_time}"
            )
        return self

    @property
    def values(self) -> frozenset[int]:
        """All values of keys."""
        return frozenset(getattr(keys, name) for keys in self.data for name in STEERING)

    @property
    def controls(self) -> tuple[str, ...]:
        """Controls of every frame from the mark on."""
        return tuple(keys.control for keys in self.data[self.mark_time :])
