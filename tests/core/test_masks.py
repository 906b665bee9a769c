from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lookaway.core import MaskTrack


def track(*masks: np.ndarray) -> MaskTrack:
    return MaskTrack.of(masks, range(len(masks)), [7] * len(masks), [0.5] * len(masks))


@given(arrays.arrays(bool, st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 6))))
def test_masks_come_back_as_they_were(masks):
    kept = MaskTrack.from_feature(track(*masks).to_feature())
    for position, mask in enumerate(masks):
        np.testing.assert_array_equal(kept.mask(position), mask)
    assert kept.areas.tolist() == masks.sum(axis=(1, 2)).tolist()


def test_every_mask_keeps_its_frame_thing_and_score():
    kept = MaskTrack.of([np.eye(3, dtype=bool)] * 2, [4, 9], [1, 2], [0.25, 1.0])
    assert len(kept) == 2
    assert (kept.frame_indices.tolist(), kept.things.tolist(), kept.scores.tolist()) == ([4, 9], [1, 2], [0.25, 1.0])


def test_an_empty_mask_is_one_run():
    assert track(np.zeros((30, 40), bool)).runs.tolist() == [1200]


def test_a_blob_in_480p_takes_less_than_four_kilobytes():
    rows, columns = np.indices((480, 832))
    blob = (rows - 240) ** 2 + (columns - 400) ** 2 < 150**2
    assert track(blob).to_feature().nbytes < 4096


@pytest.mark.parametrize("masks", [[], [np.zeros((2, 2), bool), np.zeros((2, 3), bool)]])
def test_a_track_has_masks_of_one_size(masks):
    with pytest.raises(ValueError, match="one or more masks of one size"):
        track(*masks)


def test_a_mask_without_a_frame_is_a_mistake():
    with pytest.raises(ValueError, match="one frame, one thing and one score"):
        MaskTrack.of([np.zeros((2, 2), bool)], [], [1], [1.0])
