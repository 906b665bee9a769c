from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Compute, Frame, FrameRequest
from lookaway.perception.networks.batching import CPU_BYTES, MAX_FRAMES, BatchedExtraction, batch_size


def watch(batches: list[int], at_once: int) -> BatchedExtraction:
    def look(frames):
        batches.append(len(frames))
        return {"means": np.array([frame.pixels.mean() for frame in frames], np.float32)}

    return BatchedExtraction(FrameRequest(frozenset(range(10))), at_once, look, {"by": "test"})


@pytest.mark.parametrize(
    ("frames", "at_once", "expected"), [(7, 3, [3, 3, 1]), (6, 3, [3, 3]), (2, 8, [2]), (3, 1, [1] * 3)]
)
def test_frames_go_in_full_batches_and_the_rest_at_the_end(frames, at_once, expected):
    batches: list[int] = []
    watching = watch(batches, at_once)
    for index in range(frames):
        watching.add_frame(Frame(2 * index, index / 8, np.full((2, 2, 3), index, np.uint8)))
    feature = watching.finish()
    assert batches == expected
    assert feature["means"].tolist() == list(range(frames))
    assert feature["frame_indices"].tolist() == list(range(0, 2 * frames, 2))
    assert feature.detail == {"by": "test"}


def test_no_more_frames_than_a_batch_are_held():
    batches: list[int] = []
    watching = watch(batches, 4)
    for index in range(9):
        watching.add_frame(Frame(index, 0.0, np.zeros((2, 2, 3), np.uint8)))
        assert len(watching._waiting) < 4


def test_large_frames_go_one_by_one_and_small_ones_in_bounded_numbers():
    assert batch_size(2 * CPU_BYTES, Compute()) == 1
    assert batch_size(CPU_BYTES / 4, Compute()) == 4
    assert batch_size(1, Compute()) == MAX_FRAMES


def test_a_gpu_takes_more_at_once():
    assert batch_size(CPU_BYTES, Compute(device="cuda")) > batch_size(CPU_BYTES, Compute())
