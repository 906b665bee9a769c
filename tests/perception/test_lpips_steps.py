from __future__ import annotations

import numpy as np
import pytest
import torch

from lookaway.core import Compute, Reason, UnknownName, Unmeasurable
from lookaway.io.sampling import EveryFrame
from lookaway.perception.networks import batching
from lookaway.perception.networks.conv_trunks import ConvTrunk
from lookaway.perception.networks.lpips_network import TRUNKS, LpipsNetwork, load_lpips
from lookaway.perception.similarity.lpips_steps import LpipsSteps
from tests.support.picture_networks import in_colours, lpips_tensors, noise, random_lpips, save_tensors
from tests.support.watching import perceive_frames

HEIGHT, WIDTH = 64, 96
GOLDEN = {
    "alex": [0.19861382246017456, 0.19558775424957275, 0.1898280531167984],
    "vgg": [0.1506911963224411, 0.1511646956205368, 0.1501511186361313],
}
"""Distances that `lpips` 0.1.4 gives for `noise(4, 64, 96)` with the weights of `lpips_tensors`."""


def recipe_of(trunk: str) -> LpipsSteps:
    weights, heads = random_lpips(trunk)
    return LpipsSteps(trunk, weights, heads, EveryFrame(), HEIGHT)


@pytest.fixture
def recipe(hub) -> LpipsSteps:
    return recipe_of("alex")


@pytest.mark.parametrize("trunk", sorted(TRUNKS))
def test_distances_are_those_of_the_original(hub, trunk):
    feature = perceive_frames(recipe_of(trunk), noise(4, HEIGHT, WIDTH))
    np.testing.assert_allclose(feature["distances"], GOLDEN[trunk], atol=1e-5)


def test_pairs_of_pictures_from_anywhere_are_compared(recipe):
    network = load_lpips("alex", recipe.weights, recipe.heads, recipe.min_length, Compute())
    first, second = in_colours(noise(4, HEIGHT, WIDTH)).split(2)
    found = network(first, second)
    assert found.shape == (2,)
    np.testing.assert_allclose(network(second, first), found, atol=1e-6)


def test_a_network_is_made_of_tensors_at_hand():
    trunk, heads = lpips_tensors("alex")
    network = LpipsNetwork(ConvTrunk(torch, TRUNKS["alex"], trunk), heads, 1e-10)
    batch = in_colours(noise(4, HEIGHT, WIDTH))
    np.testing.assert_allclose(network(batch[:-1], batch[1:]), GOLDEN["alex"], atol=1e-5)


def test_frames_that_are_the_same_have_no_distance(recipe):
    np.testing.assert_array_equal(perceive_frames(recipe, noise(1, HEIGHT, WIDTH) * 3)["distances"], [0, 0])


def test_the_more_of_a_frame_changes_the_farther_it_is(recipe):
    frame, other = noise(2, HEIGHT, WIDTH)
    mixed = [np.where(np.arange(WIDTH)[:, None] < changed, other, frame) for changed in (12, 48, 96)]
    distances = perceive_frames(recipe, [frame, mixed[0], frame, mixed[1], frame, mixed[2]])["distances"]
    assert 0 < distances[0] < distances[2] / 2 < distances[4] / 3


def test_batches_do_not_lose_the_step_between_them(recipe, monkeypatch):
    frames = noise(5, HEIGHT, WIDTH)
    whole = perceive_frames(recipe, frames)["distances"]
    for size in (1, 3):
        monkeypatch.setattr(batching, "MAX_FRAMES", size)
        np.testing.assert_allclose(perceive_frames(recipe, frames)["distances"], whole, rtol=1e-4)


def test_each_frame_goes_through_the_trunk_once(recipe, monkeypatch):
    seen = []
    original = ConvTrunk.__call__
    monkeypatch.setattr(ConvTrunk, "__call__", lambda trunk, batch: seen.append(len(batch)) or original(trunk, batch))
    monkeypatch.setattr(batching, "MAX_FRAMES", 2)
    perceive_frames(recipe, noise(5, HEIGHT, WIDTH))
    assert seen == [2, 2, 1]


def test_pictures_that_excite_nothing_are_not_apart_in_half_precision(hub):
    trunk, heads = lpips_tensors("alex")
    silent = {name: torch.full_like(tensor, -1e3) if "bias" in name else tensor for name, tensor in trunk.items()}
    weights = save_tensors("alexnet", silent), save_tensors("lpips-alex", heads)
    for precision in ("float32", "bfloat16", "float16"):
        recipe = LpipsSteps("alex", *weights, EveryFrame(), HEIGHT, compute=Compute(precision=precision))
        np.testing.assert_array_equal(perceive_frames(recipe, noise(2, HEIGHT, WIDTH))["distances"], [0])


def test_half_precision_is_near(recipe):
    half = LpipsSteps(
        "alex", recipe.weights, recipe.heads, recipe.frames, HEIGHT, compute=Compute(precision="bfloat16")
    )
    exact, near = (perceive_frames(each, noise(3, HEIGHT, WIDTH))["distances"] for each in (recipe, half))
    assert 0 < np.abs(exact - near).max() < 0.01
    assert near.dtype == np.float32


def test_a_single_frame_has_no_step(recipe):
    with pytest.raises(Unmeasurable, match="a step needs two") as found:
        perceive_frames(recipe, noise(1, HEIGHT, WIDTH))
    assert found.value.reason is Reason.TOO_SHORT


def test_a_trunk_that_is_not_known_is_no_recipe():
    with pytest.raises(UnknownName, match="'squeeze'"):
        LpipsSteps("squeeze")


def test_missing_heads_decline(hub):
    weights, heads = random_lpips("alex")
    heads.file("alex.pth").unlink()
    declined = LpipsSteps(weights=weights, heads=heads).declines(None)
    assert "lookaway weights fetch lpips-alex" in declined.message


def test_the_heads_of_another_trunk_are_refused(hub):
    (weights, _), (_, heads) = random_lpips("alex"), random_lpips("vgg")
    with pytest.raises(Unmeasurable, match=r"lin1\.model\.1\.weight has the shape \(1, 128, 1, 1\)") as refused:
        LpipsSteps(weights=weights, heads=heads).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_heads_with_something_more_are_refused(hub):
    weights, _ = random_lpips("alex")
    heads = save_tensors("lpips-alex", {**lpips_tensors("alex")[1], "lin5.model.1.weight": torch.zeros(1)})
    with pytest.raises(Unmeasurable, match=r"not expected: lin5\.model\.1\.weight"):
        LpipsSteps(weights=weights, heads=heads).load()
