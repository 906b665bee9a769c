"""Frames equally far from the two ends of a clip."""

from __future__ import annotations

import numpy as np

from lookaway.core import Indices, Reason, Unmeasurable


def symmetric_pairs(frames: Indices, *, most: int, min_span_frames: int) -> Indices:
    """Pairs (i, N-1-i) of the given frames, widest first.

    >>> symmetric_pairs(np.arange(6), most=2, min_span_frames=2)
    array([[0, 5],
           [1, 4]])
    """
    half = len(frames) // 2
    pairs = np.stack([frames[:half], frames[::-1][:half]], axis=1)
    pairs = pairs[pairs[:, 1] - pairs[:, 0] >= min_span_frames][:most]
    if len(pairs) == 0:
        raise Unmeasurable(
            Reason.TOO_SHORT, f"{len(frames)} frames give no pair that is {min_span_frames} or more frames apart."
        )
    return pairs.astype(np.int64)
