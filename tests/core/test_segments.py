from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lookaway.core.frames import segment_bounds


@given(st.integers(0, 1000), st.integers(1, 12))
def test_segments_cover_every_frame_once_and_differ_by_one_frame_at_most(frame_count, segments):
    bounds = segment_bounds(frame_count, segments)
    lengths = [stop - start for start, stop in bounds]
    assert len(bounds) == segments
    assert (bounds[0][0], bounds[-1][1]) == (0, frame_count)
    assert all(before[1] == after[0] for before, after in pairwise(bounds))
    assert max(lengths) - min(lengths) <= 1
