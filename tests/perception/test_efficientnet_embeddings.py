from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
import torch
from efficientnet_lite_pytorch import EfficientNet

from lookaway.core import Compute, MissingDevice, Reason, Unmeasurable
from lookaway.io.sampling import UniformFrames
from lookaway.perception.networks.fits import CentreCrop, Squeezed
from lookaway.perception.similarity.efficientnet_embeddings import EfficientnetEmbeddings
from lookaway.perception.weights import WeightFile, published
from tests.support.hub import sha256
from tests.support.watching import check_documented, perceive_frames, rollout_of

RECIPE = EfficientnetEmbeddings(frames=UniformFrames(3), fit=Squeezed(96, 96, "bicubic"), side=96)


def pictures(count: int = 5, seed: int = 0) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).integers(0, 256, (count, 54, 96, 3), np.uint8))


def with_hash(recipe: EfficientnetEmbeddings, sha256: str) -> EfficientnetEmbeddings:
    file = WeightFile(recipe.weights.files[0].name, sha256)
    return replace(recipe, weights=replace(recipe.weights, files=(file,)))


def test_a_feature_holds_what_is_documented():
    feature = perceive_frames(RECIPE, pictures())
    check_documented(RECIPE, feature)
    assert feature["vectors"].shape == (3, 1280)
    assert feature["frame_indices"].tolist() == [0, 2, 4]


def test_vectors_are_means_of_the_last_map_before_the_classes():
    frame = np.random.default_rng(0).integers(0, 256, (96, 96, 3), np.uint8)
    vector = perceive_frames(RECIPE, [frame])["vectors"][0]
    network = EfficientNet.from_name("efficientnet-lite0").eval()
    network.load_state_dict(torch.load(RECIPE.weights.file(RECIPE.weights.files[0].name), weights_only=True))
    with torch.inference_mode():
        classes = network((torch.from_numpy(frame).permute(2, 0, 1)[None].float() - 127) / 128)[0]
        from_vector = network._fc(torch.from_numpy(vector))
    np.testing.assert_allclose(from_vector, classes, atol=1e-4)


def test_the_network_knows_a_picture_from_its_like():
    x, y = np.meshgrid(np.arange(96), np.arange(54))
    stripes, checks = ((x // 6) % 2, (x // 6 + y // 6) % 2)
    first, second = (np.repeat((each * 200 + 20).astype(np.uint8)[..., None], 3, 2) for each in (stripes, checks))
    embed = RECIPE.embedder()
    vectors = embed([first, cv2.GaussianBlur(first, (0, 0), 0.7), second])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > unit[0] @ unit[2] + 0.05


def test_what_a_crop_cuts_off_is_not_seen_and_what_is_squeezed_is():
    frame, changed = pictures(1)[0], pictures(1)[0].copy()
    changed[:, :8] = 0
    squeezed = [perceive_frames(RECIPE, [picture])["vectors"] for picture in (frame, changed)]
    crop = replace(RECIPE, fit=CentreCrop(64, 64))
    cropped = [perceive_frames(crop, [picture])["vectors"] for picture in (frame, changed)]
    assert np.abs(squeezed[0] - squeezed[1]).max() > 1e-3
    np.testing.assert_array_equal(*cropped)


def test_two_loads_give_the_same_bytes():
    first, second = (perceive_frames(RECIPE, pictures())["vectors"] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_half_precision_is_near_and_is_another_recipe():
    half = replace(RECIPE, compute=Compute(precision="bfloat16"))
    exact, near = (perceive_frames(each, pictures())["vectors"] for each in (RECIPE, half))
    assert 0 < np.abs(exact - near).max() < 0.3
    assert half != RECIPE


def test_regions_of_any_size_are_embedded_each_by_itself():
    embed = RECIPE.embedder()
    regions = [*pictures(2), pictures(1)[0][:20, :30], pictures(1, seed=1)[0]]
    together = embed(regions)
    np.testing.assert_allclose(together, np.concatenate([embed([region]) for region in regions]), atol=1e-5)
    assert embed([]).shape == (0, 1280)


def test_weights_without_their_package_decline_with_the_command_that_fetches_it(tmp_path):
    weights = replace(RECIPE.weights, source="package:lookaway-no-such-package==1.0")
    declined = replace(RECIPE, weights=weights).declines(rollout_of(tmp_path / "clip.mp4"))
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert "lookaway weights fetch efficientnet-lite0" in declined.message
    assert RECIPE.declines(rollout_of(tmp_path / "clip.mp4")) is None


def test_weights_of_another_hash_are_refused():
    with pytest.raises(Unmeasurable, match="Nothing was loaded") as refused:
        with_hash(RECIPE, "0" * 64).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_a_checkpoint_of_another_network_is_refused():
    with pytest.raises(Unmeasurable, match="missing: _conv_stem") as refused:
        replace(RECIPE, weights=published("transnetv2")).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_a_checkpoint_that_holds_code_is_refused(hub):
    folder = hub / "lookaway"
    folder.mkdir(parents=True)
    torch.save({"weight": RECIPE}, folder / "code.pth")
    weights = replace(RECIPE.weights, source="https://example.org/code.pth", files=(WeightFile("code.pth", ""),))
    found = with_hash(replace(RECIPE, weights=weights), sha256(folder / "code.pth"))
    with pytest.raises(Unmeasurable, match="do not load") as refused:
        found.load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_a_device_that_is_not_there_ends_the_run():
    with pytest.raises(MissingDevice, match="'cuda'"):
        replace(RECIPE, compute=Compute(device="cuda")).load()
