"""A clip whose truth is known, and the clip that it should have been."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lookaway.io.clip_arrays import ClipArrays
from lookaway.io.clip_card import ClipCard
from lookaway.io.world_clips import WorldClip


@dataclass(frozen=True, eq=False)
class KnownClip:
    """A clip, with its truth read when it is first needed."""

    clip: WorldClip
    remembered: WorldClip | None = None
    """A clip of the same case and length without faults, where the world holds one."""

    @property
    def card(self) -> ClipCard:
        """What is known of it as a whole."""
        return self.clip.card

    @cached_property
    def truth(self) -> ClipArrays:
        """What is true of every frame."""
        return self.clip.arrays()

    @cached_property
    def remembered_truth(self) -> ClipArrays | None:
        """What would be true of every frame if nothing had been forgotten."""
        return None if self.remembered is None else self.remembered.arrays()


def know_clips(clips: Sequence[WorldClip]) -> list[KnownClip]:
    """Each clip together with the one that it should have been."""
    clean = {(clip.card.case, clip.card.frames): clip for clip in reversed(clips) if not clip.card.injections}
    return [KnownClip(clip, clean.get((clip.card.case, clip.card.frames))) for clip in clips]
