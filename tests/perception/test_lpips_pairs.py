from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Compute, Reason, Timeline, UnknownName, Unmeasurable
from lookaway.perception.networks import batching
from lookaway.perception.networks.lpips_network import TRUNKS, load_lpips
from lookaway.perception.similarity.compared_frames import Canvas, MirroredFrames
from lookaway.perception.similarity.lpips_pairs import LpipsPairs
from tests.perception.test_lpips_steps import GOLDEN, HEIGHT, WIDTH
from tests.support.compared import answered, beside, kept
from tests.support.picture_networks import in_colours, noise, random_lpips
from tests.support.watching import check_documented, perceive, rollout_of


def recipe_of(trunk: str) -> LpipsPairs:
    weights, heads = random_lpips(trunk)
    return LpipsPairs(trunk=trunk, weights=weights, heads=heads)


@pytest.fixture
def recipe(hub) -> LpipsPairs:
    return recipe_of("alex")


@pytest.mark.parametrize("trunk", sorted(TRUNKS))
def test_distances_are_those_of_the_original(hub, tmp_path, trunk):
    clip = kept(tmp_path / "clip.mp4", noise(4, HEIGHT, WIDTH))
    feature = perceive(recipe_of(trunk), beside(clip, clip, start=1))
    check_documented(recipe_of(trunk), feature)
    np.testing.assert_allclose(feature["distances"], GOLDEN[trunk], atol=1e-5)
    assert (feature["frame_indices"].tolist(), feature["partner_indices"].tolist()) == ([0, 1, 2], [1, 2, 3])


def test_frames_that_are_equal_have_no_distance_and_others_the_more_the_more_differs(recipe, tmp_path):
    truth, other = noise(2, HEIGHT, WIDTH)
    answer = [np.where(np.arange(WIDTH)[:, None] < changed, other, truth) for changed in (0, 12, 48, 96)]
    distances = perceive(recipe, answered(tmp_path, answer, [truth] * 4))["distances"]
    assert distances[0] == 0
    assert 0 < distances[1] < distances[2] / 2 < distances[3] / 3


def test_a_path_that_is_gone_back_is_compared_with_itself(recipe, tmp_path):
    way = noise(3, HEIGHT, WIDTH)
    mirrored = replace(recipe, compared=MirroredFrames())
    back = perceive(mirrored, kept(tmp_path / "back.mp4", [*way, *way[::-1]]))
    assert (back["distances"].tolist(), back.detail) == ([0, 0, 0], {"video_frames": 6})
    onwards = perceive(mirrored, kept(tmp_path / "onwards.mp4", [*way, *way]))
    assert (onwards["distances"] > 0.1).tolist() == [True, False, True]


def test_pairs_on_a_canvas_are_pairs_of_pictures_that_were_scaled_before(recipe, tmp_path):
    answer, truth, canvas = noise(2, 96, 128), noise(2, 80, 128, seed=1), Canvas(HEIGHT, WIDTH)
    rollout = answered(tmp_path, answer, truth)
    with pytest.raises(Unmeasurable, match="frames are 128 x 96") as found:
        perceive(recipe, rollout)
    assert found.value.reason is Reason.INVALID_INPUT
    network = load_lpips("alex", recipe.weights, recipe.heads, recipe.min_length, Compute())
    first, second = (in_colours([canvas.cover(picture) for picture in each]) for each in (answer, truth))
    distances = perceive(replace(recipe, canvas=canvas), rollout)["distances"]
    np.testing.assert_allclose(distances, network(first, second), atol=1e-5)


def test_how_many_pairs_go_together_changes_nothing(recipe, tmp_path, monkeypatch):
    rollout = answered(tmp_path, noise(5, HEIGHT, WIDTH), noise(5, HEIGHT, WIDTH, seed=1))
    whole = perceive(recipe, rollout)
    monkeypatch.setattr(batching, "MAX_FRAMES", 2)
    parts = perceive(recipe, rollout)
    np.testing.assert_allclose(parts["distances"], whole["distances"], rtol=1e-4)
    assert parts["partner_indices"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("canvas", [None, Canvas(720, 1280), Canvas(64, 64)])
def test_pairs_of_1080p_that_wait_take_less_than_100_megabytes(recipe, canvas):
    mirrored = replace(recipe, compared=MirroredFrames(), canvas=canvas)
    watch = mirrored.load().start(rollout_of(Path("clip.mp4")), Timeline(np.arange(90.0), 1920, 1080), {})
    assert watch.frames_at_once * 2 * (3 * 1920 * 1080) < 100e6


def test_half_precision_is_near(recipe, tmp_path):
    rollout = answered(tmp_path, noise(2, HEIGHT, WIDTH), noise(2, HEIGHT, WIDTH, seed=1))
    half = replace(recipe, compute=Compute(precision="bfloat16"))
    exact, near = (perceive(each, rollout)["distances"] for each in (recipe, half))
    assert 0 < np.abs(exact - near).max() < 0.01
    assert near.dtype == np.float32


def test_without_a_true_video_weights_or_heads_it_declines(recipe, tmp_path):
    clip = kept(tmp_path / "clip.mp4", noise(1, HEIGHT, WIDTH))
    assert recipe.declines(beside(clip, clip)) is None
    assert recipe.declines(rollout_of(clip)).reason is Reason.MISSING_INPUT
    recipe.heads.file("alex.pth").unlink()
    assert "lookaway weights fetch lpips-alex" in recipe.declines(beside(clip, clip)).message


def test_a_trunk_that_is_not_known_is_no_recipe():
    with pytest.raises(UnknownName, match="'squeeze'"):
        LpipsPairs(trunk="squeeze")
