"""Counts the frames of a video by its packets, which costs no decoding."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats, Indices

MOST_REORDERED = 16
"""No codec shows a frame earlier than this many frames that it is made from."""


@dataclass(frozen=True, slots=True)
class PacketTime:
    """When the frame in a packet is shown, in ticks of the stream's clock, and whether decoding can start with it."""

    ticks: int | None
    duration_ticks: int
    is_keyframe: bool

    @property
    def end_ticks(self) -> int:
        """When the frame is no longer shown."""
        return (self.ticks or 0) + self.duration_ticks


@dataclass(frozen=True, slots=True)
class FrameIndex:
    """Time of every frame in the order in which they are shown, and which of them a decoder can start from."""

    times_seconds: Floats
    ticks: tuple[int, ...]
    """Presentation times that name each frame; empty where they are missing or repeat: then frames are counted."""
    keyframes: tuple[int, ...]
    trusted_after: Indices
    """Until which frame to decode before a frame can be trusted: later ones that it is made from may prove damaged."""

    @classmethod
    def of(
        cls, packets: Sequence[PacketTime], *, seconds_per_tick: float, fps: float, has_order: bool = True
    ) -> FrameIndex:
        """The index of all packets of a stream; without `has_order` their times say when they are stored, not shown."""
        known = np.array([packet.ticks for packet in packets if packet.ticks is not None])
        count = len(packets)
        if len(np.unique(known)) < count:
            times, has_order = np.arange(count) / fps, False
        else:
            times = (np.sort(known).astype(np.float64) - known.min()) * seconds_per_tick
        if not has_order:
            return cls(times, (), (0,), np.minimum(np.arange(count) + MOST_REORDERED, count - 1))
        stored_at = np.argsort(known)
        shown_at = np.argsort(stored_at)
        is_keyframe = np.array([packet.is_keyframe for packet in packets])
        return cls(
            times_seconds=times,
            ticks=tuple(known[stored_at].tolist()),
            keyframes=tuple(np.flatnonzero(is_keyframe[stored_at]).tolist()),
            trusted_after=np.maximum.accumulate(shown_at)[stored_at],
        )

    def __len__(self) -> int:
        return len(self.times_seconds)

    def keyframe_before(self, index: int) -> int:
        """The last frame up to this one that a decoder can start from; the first frame where there is none."""
        position = bisect_right(self.keyframes, index)
        return self.keyframes[position - 1] if position else 0
