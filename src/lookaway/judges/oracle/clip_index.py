"""Clips of the simulated world, each with its truth and with the clip that it should have been."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lookaway.io.clip_card import ClipArrays, ClipCard
from lookaway.io.world_clips import WorldClip


@dataclass(frozen=True, eq=False)
class KnownClip:
    """A clip; its truth is read on first use."""

    clip: WorldClip
    remembered: WorldClip | None = None
    """The clip of the same case and length without faults, if the world has one."""

    @property
    def card(self) -> ClipCard:
        """Facts about the whole clip."""
        return self.clip.card

    @cached_property
    def truth(self) -> ClipArrays:
        """The truth of every frame."""
        return self.clip.arrays()

    @cached_property
    def remembered_truth(self) -> ClipArrays | None:
        """The truth of every frame of a model that forgets nothing."""
        return None if self.remembered is None else self.remembered.arrays()


def index_clips(clips: Sequence[WorldClip]) -> list[KnownClip]:
    """Each clip with its fault-free counterpart: of several, such as one that plays backwards, the first of them."""
    clean = {(clip.card.case, clip.card.frames): clip for clip in reversed(clips) if not clip.card.injections}
    return [KnownClip(clip, clean.get((clip.card.case, clip.card.frames))) for clip in clips]
