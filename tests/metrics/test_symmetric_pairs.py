from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lookaway.core import Reason, Unmeasurable
from lookaway.metrics.fold_pairs import symmetric_pairs


def test_the_middle_frame_of_an_odd_clip_is_paired_with_none():
    assert symmetric_pairs(np.arange(5), most=20, min_span_frames=2).tolist() == [[0, 4], [1, 3]]


@given(st.lists(st.integers(0, 200), max_size=20, unique=True), st.integers(1, 5), st.integers(1, 20))
def test_pairs_are_mirror_images_widest_first_and_wide_enough(frames, most, min_span):
    frames = sorted(frames)
    try:
        pairs = symmetric_pairs(np.array(frames, np.int64), most=most, min_span_frames=min_span).tolist()
    except Unmeasurable as error:
        pairs, reason = [], error.reason
    assert pairs or reason is Reason.TOO_SHORT
    assert bool(pairs) == (len(frames) >= 2 and frames[-1] - frames[0] >= min_span)
    assert pairs == [[frames[i], frames[-1 - i]] for i in range(len(pairs))]
    assert len(pairs) <= most
    assert all(second - first >= min_span for first, second in pairs)
