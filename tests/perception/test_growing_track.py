from __future__ import annotations

import numpy as np

from lookaway.core import MaskTrack
from lookaway.perception.masks.sam2_masks import GrowingTrack


def test_masks_that_came_one_by_one_are_the_track_of_all_together():
    masks = [*(np.random.default_rng(0).random((4, 9, 16)) > 0.5), np.zeros((9, 16), bool), np.ones((9, 16), bool)]
    frames, things, scores = [0, 0, 3, 5, 5, 8], [0, 1, 0, 0, 1, 0], [0.5, 0.25, 1.0, 0.0, 0.125, 0.75]
    growing = GrowingTrack()
    for mask, frame, thing, score in zip(masks, frames, things, scores, strict=True):
        growing.add(mask, frame, thing, score)
    whole = MaskTrack.of(masks, frames, things, scores).to_feature()
    grown = growing.track().to_feature()
    assert grown.arrays.keys() == whole.arrays.keys()
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(grown[name], array)
        assert grown[name].dtype == array.dtype
