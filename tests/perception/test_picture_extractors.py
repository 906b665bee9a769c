"""What holds for every extractor that shows single pictures to a network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Compute, Extractor, MissingDevice, Reason, Timeline
from lookaway.io.sampling import UniformFrames
from lookaway.perception.depth.depth_anything import DepthAnything
from lookaway.perception.networks import batching
from lookaway.perception.networks.fits import CentreCrop, Squeezed
from lookaway.perception.quality.aesthetic_quality import LaionAesthetics
from lookaway.perception.quality.clip_iqa import ClipIqa
from lookaway.perception.quality.image_reward import ImageRewards
from lookaway.perception.quality.musiq_quality import MusiqQuality
from lookaway.perception.similarity.clip_similarity import ClipSimilarity
from lookaway.perception.similarity.dinov3_embeddings import Dinov3Embeddings
from lookaway.perception.similarity.lpips_steps import LpipsSteps
from lookaway.perception.similarity.vgg_style import VggStyle
from tests.support.beside import DATA, needs_clips
from tests.support.picture_networks import (
    noise,
    random_aesthetic_head,
    random_lpips,
    random_musiq,
    random_vgg19,
    tiny_clip,
    tiny_depth_anything,
    tiny_dinov3,
)
from tests.support.watching import check_documented, perceive, perceive_frames, rollout_of

CLIP = DATA / "wrbench" / "videos" / "case_a_yaw_lr.mp4"
FRAMES = UniformFrames(3)


def lpips() -> LpipsSteps:
    weights, heads = random_lpips("alex")
    return LpipsSteps(weights=weights, heads=heads, frames=FRAMES, height=63)


def aesthetic() -> LaionAesthetics:
    weights, head = tiny_clip("clip-vit-l-14"), random_aesthetic_head()
    return LaionAesthetics(weights, head, FRAMES, CentreCrop(32, 32, antialias=False))


RECIPES: dict[str, Callable[[], Extractor]] = {
    "aesthetic_quality": aesthetic,
    "clip_similarity": lambda: ClipSimilarity(tiny_clip(), FRAMES, CentreCrop(32, 32)),
    "depth_anything_v2": lambda: DepthAnything(tiny_depth_anything(), FRAMES, height=30, side=56),
    "dinov3_embeddings": lambda: Dinov3Embeddings(tiny_dinov3(), FRAMES, Squeezed(64, 64)),
    "lpips_steps": lpips,
    "musiq_quality": lambda: MusiqQuality(random_musiq(), FRAMES, height=63),
    "vgg_style": lambda: VggStyle(random_vgg19(), FRAMES, height=63),
}
DEFAULTS = (
    LaionAesthetics,
    ClipIqa,
    ClipSimilarity,
    DepthAnything,
    Dinov3Embeddings,
    ImageRewards,
    LpipsSteps,
    MusiqQuality,
    VggStyle,
)
ROLLOUT = rollout_of(Path("clip.mp4"), prompt=("a red chair",))


@pytest.fixture(params=sorted(RECIPES))
def recipe(request, hub) -> Extractor:
    return RECIPES[request.param]()


def test_a_feature_holds_what_is_documented_of_the_sampled_frames(recipe):
    feature = perceive_frames(recipe, noise(), rollout=ROLLOUT)
    check_documented(recipe, feature)
    assert feature.arrays.keys() == recipe.arrays.keys()
    assert feature["frame_indices"].tolist() == [0, 2, 4]
    assert all(np.isfinite(array).all() for array in feature.arrays.values())


def test_two_loads_give_the_same_bytes(recipe):
    first, second = (perceive_frames(recipe, noise(), rollout=ROLLOUT) for _ in range(2))
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second[name])


def test_frames_one_by_one_and_together_give_the_same(recipe, monkeypatch):
    together = perceive_frames(recipe, noise(), rollout=ROLLOUT)
    monkeypatch.setattr(batching, "MAX_FRAMES", 1)
    alone = perceive_frames(recipe, noise(), rollout=ROLLOUT)
    for name, array in together.arrays.items():
        np.testing.assert_allclose(alone[name], array, rtol=2e-3, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("name", ["lpips_steps", "musiq_quality", "vgg_style"])
def test_frames_come_at_the_height_that_is_asked_for(name, hub):
    watch = RECIPES[name]().load().start(ROLLOUT, Timeline(np.arange(5) / 8, 224, 126), {})
    assert watch.request.height == 63


@needs_clips
def test_a_clip_of_a_real_model_is_perceived(recipe):
    feature = perceive(recipe, rollout_of(CLIP, prompt=("a red chair",)))
    check_documented(recipe, feature)
    main = next(iter(recipe.arrays))
    assert feature["frame_indices"].tolist()[0] == 0
    assert np.isfinite(feature[main]).all()
    assert np.ptp(feature[main]) > 0


@pytest.mark.parametrize("kind", DEFAULTS, ids=lambda kind: kind.name)
def test_missing_weights_decline_with_the_command_that_fetches_them(kind, hub):
    recipe = kind()
    declined = recipe.declines(ROLLOUT)
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert f"lookaway weights fetch {recipe.weights.name}" in declined.message


@pytest.mark.parametrize("kind", DEFAULTS, ids=lambda kind: kind.name)
def test_a_device_that_is_not_there_ends_the_run(kind, hub):
    with pytest.raises(MissingDevice, match="'cuda'"):
        kind(compute=Compute(device="cuda")).load()
