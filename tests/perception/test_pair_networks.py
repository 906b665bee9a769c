from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lookaway.core import Reason
from lookaway.io.sampling import EveryFrame
from lookaway.metrics.given_pairs import GivenPairs
from lookaway.metrics.known_returns import AnchorPairs
from lookaway.perception.networks.fits import WholeFrame
from lookaway.perception.similarity.compared_frames import MirroredFrames
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from lookaway.perception.similarity.lpips_pairs import LpipsPairs
from lookaway.perception.similarity.pair_networks import PairLpips, PairTokens, patch_means
from tests.support.compared import kept
from tests.support.networks import tiny_dinov2
from tests.support.picture_networks import noise, random_lpips
from tests.support.revisit_golden import extracted, rollout_of
from tests.support.watching import check_documented, perceive, perceive_frames

GIVEN = rollout_of(pairs=[(0, 3, 0), (1, 2, 1), (1, 3, 2)])


def test_lpips_of_chosen_pairs_is_that_of_any_other_pairs(hub, tmp_path):
    weights, heads = random_lpips("alex")
    recipe = PairLpips(pairs=GivenPairs(fps=8), weights=weights, heads=heads)
    video = kept(tmp_path / "clip.mp4", noise(4, 64, 96))
    feature = perceive(recipe, replace(GIVEN, video=video))
    check_documented(recipe, feature)
    assert feature["frames"].tolist() == [[1, 2], [0, 3], [1, 3]]
    mirrored = perceive(LpipsPairs(compared=MirroredFrames(), weights=weights, heads=heads), video)
    assert feature["distances"][[1, 0]] == pytest.approx(mirrored["distances"], rel=1e-4)


def test_distances_of_tokens_are_those_of_their_mean_patches(hub):
    weights, pictures = tiny_dinov2(), noise(4, 63, 112)
    recipe = PairTokens(pairs=GivenPairs(fps=8), weights=weights, fit=WholeFrame(112))
    feature = extracted(recipe, pictures, GIVEN, fps=8)
    check_documented(recipe, feature)
    tokens = perceive_frames(Dinov2Embeddings(weights=weights, fit=WholeFrame(112), frames=EveryFrame()), pictures)
    means = patch_means(tokens["patches"])
    expected = [1 - means[first] @ means[second] for first, second in feature["frames"]]
    assert feature["distances"] == pytest.approx(expected, abs=1e-3)


def test_a_picture_is_at_no_distance_from_itself(hub):
    picture = noise(1, 63, 112)[0]
    recipe = PairTokens(pairs=AnchorPairs(), weights=tiny_dinov2(), fit=WholeFrame(112))
    assert extracted(recipe, [picture] * 3, rollout_of())["distances"] == pytest.approx([0.0], abs=1e-6)


def test_the_length_of_a_token_does_not_matter():
    tokens = np.random.default_rng(0).normal(size=(2, 5, 8))
    lengths = np.random.default_rng(1).uniform(0.5, 9, (2, 5, 1))
    np.testing.assert_allclose(patch_means(tokens * lengths), patch_means(tokens))


@pytest.mark.parametrize("kind", [PairLpips, PairTokens])
def test_missing_pairs_and_missing_weights_are_declined(hub, kind):
    assert kind(pairs=GivenPairs()).declines(rollout_of()).reason == Reason.MISSING_INPUT
    assert kind(pairs=GivenPairs()).declines(GIVEN).reason == Reason.MISSING_WEIGHTS
