"""Prompt segments as stretches of frames."""

from __future__ import annotations

from itertools import pairwise


def segment_bounds(frame_count: int, segments: int) -> list[tuple[int, int]]:
    """First frame and one past the last frame of each of equally long segments.

    >>> segment_bounds(10, 3)
    [(0, 3), (3, 7), (7, 10)]
    """
    edges = [round(frame_count * edge / segments) for edge in range(segments + 1)]
    return list(pairwise(edges))
