from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Feature, Reason
from lookaway.metrics.visual_integrity import VisualIntegrity
from tests.support.golden import golden_arrays, golden_numbers
from tests.support.published import published
from tests.support.watching import rollout_of

ROLLOUT = rollout_of(Path("clip.mp4"))


def tokens(cls, patches):
    return {
        "tokens": Feature({"cls": cls, "patches": patches, "frame_indices": np.arange(len(cls))}),
    }


def random_tokens(frames=5, *, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(frames, 16)), random.normal(size=(frames, 12, 16))


def measured(cls, patches, metric=None):
    return (metric or VisualIntegrity()).measure(ROLLOUT, tokens(cls, patches))


def test_the_number_is_that_of_the_official_code():
    expected = golden_numbers("wrbench")["d2"]
    given = golden_arrays("wrbench")
    outcome = measured(given["cls"], given["patches"], published("wrbench.visual_integrity").metric)
    assert outcome.value == pytest.approx(expected["score"], abs=1e-6)
    assert outcome.detail["global"] == pytest.approx(expected["global"], abs=1e-6)
    assert outcome.detail["local"] == pytest.approx(expected["local"], abs=1e-6)


def test_a_picture_that_stays_scores_1():
    cls, patches = (np.repeat(array[:1], 4, axis=0) for array in random_tokens())
    assert measured(cls, patches).value == pytest.approx(1)


def test_a_video_that_ends_in_the_opposite_scores_0():
    cls, patches = (np.repeat(array[:1], 4, axis=0) for array in random_tokens())
    outcome = measured(np.concatenate([cls[:3], -cls[3:]]), patches)
    assert (outcome.value, outcome.detail["local"]) == (0, pytest.approx(1))


def test_frames_that_share_nothing_with_their_neighbours_score_0_though_the_last_is_the_first():
    cls = np.repeat(np.eye(8)[:1], 4, axis=0)
    patches = np.stack([np.tile(np.eye(8)[frame % 2], (6, 1)) for frame in range(4)])
    outcome = measured(cls, patches)
    assert (outcome.value, outcome.detail["global"]) == (0, pytest.approx(1))


def test_where_patches_are_and_how_long_tokens_are_does_not_matter():
    cls, patches = random_tokens()
    shuffled = np.stack([np.random.default_rng(frame).permutation(patches[frame]) for frame in range(len(patches))])
    assert measured(3 * cls, 5 * shuffled).value == pytest.approx(measured(cls, patches).value)


def test_there_is_a_unit_for_every_pair_and_few_bad_pairs_decide():
    cls, patches = (np.repeat(array[:1], 11, axis=0) for array in random_tokens())
    patches = np.concatenate([patches[:8], random_tokens(3, seed=1)[1]])
    outcome = measured(cls, patches)
    assert [unit.name for unit in outcome.units][:2] == ["f0-f1", "f1-f2"]
    values = [unit.outcome.value for unit in outcome.units]
    assert outcome.value == outcome.detail["local"] == pytest.approx(np.percentile(values, 20))
    assert outcome.value < np.median(values)


def test_what_says_nothing_is_declined():
    cls, patches = random_tokens()
    assert measured(cls[:1], patches[:1]).reason is Reason.TOO_SHORT
    assert measured(cls, np.zeros_like(patches)).reason is Reason.INVALID_INPUT
    assert measured(np.full_like(cls, np.nan), patches).reason is Reason.INVALID_INPUT
    assert measured(cls, patches[:, :0]).reason is Reason.INVALID_INPUT
    with pytest.raises(ValueError, match="between 0 and 100"):
        VisualIntegrity(percentile=101)
