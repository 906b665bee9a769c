from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from lookaway.core import Compute, FrameRequest, Reason, Timeline, Unmeasurable
from lookaway.io.sampling import EveryFrame
from lookaway.io.video import Video
from lookaway.perception.networks import musiq_network
from lookaway.perception.networks.musiq_network import MusiqConfig, musiq_of, musiq_shapes
from lookaway.perception.quality.musiq_quality import MusiqQuality
from lookaway.perception.similarity.compared_frames import Canvas
from tests.support.clips import write_clip
from tests.support.picture_networks import musiq_tensors, noise, random_musiq, save_tensors
from tests.support.watching import perceive, perceive_frames, rollout_of

GOLDEN = {
    (72, 120): [-0.508964478969574, -0.6190410256385803],
    (150, 90): [0.2917463779449463, -0.5898771286010742],
    (33, 400): [0.1486133635044098, 1.0342700481414795],
}
"""What the network of pyiqa 0.1.16 gives for `noise(2, height, width)` with the weights of `musiq_tensors`."""
FAINT = [-0.5557746887207031, -0.36079999804496765]
"""The same for pictures of 72 by 120 that are all but grey, where the small numbers of the norms count."""


@pytest.fixture
def recipe(hub) -> MusiqQuality:
    return MusiqQuality(random_musiq(), EveryFrame())


@pytest.mark.parametrize("size", GOLDEN, ids=str)
def test_quality_is_that_of_the_original(recipe, size):
    feature = perceive_frames(recipe, noise(2, *size))
    np.testing.assert_allclose(feature["quality"], GOLDEN[size], atol=1e-4)
    assert feature.detail == {"video_frames": 2}


def test_quality_of_pictures_that_are_all_but_grey_is_that_of_the_original(recipe):
    faint = [127 + picture // 128 for picture in noise(2, 72, 120)]
    np.testing.assert_allclose(perceive_frames(recipe, faint)["quality"], FAINT, atol=1e-4)


def test_the_network_has_all_its_published_parameters():
    shapes = musiq_shapes()
    assert len(shapes) == 248
    assert sum(int(np.prod(shape)) for shape in shapes.values()) == 27_125_825


def test_how_many_patches_go_together_changes_nothing(monkeypatch):
    network = musiq_of(torch, musiq_tensors(), MusiqConfig())
    batch = torch.from_numpy(np.stack(noise(2, 72, 120))).permute(0, 3, 1, 2) / 127.5 - 1
    monkeypatch.setattr(musiq_network, "PATCHES_AT_ONCE", 7)
    np.testing.assert_allclose(network(batch), GOLDEN[72, 120], atol=1e-4)


def test_frames_are_judged_at_the_height_that_is_asked_for(tmp_path, recipe):
    tall = write_clip(tmp_path / "tall.mp4", noise(2, 144, 240))
    asking = MusiqQuality(recipe.weights, EveryFrame(), height=72)
    with Video(tall) as video:
        frames = [frame.pixels for _, frame in video.frames([FrameRequest(frozenset((0, 1)), 72)])]
    assert frames[0].shape == (72, 120, 3)
    expected = perceive_frames(recipe, frames)["quality"]
    np.testing.assert_allclose(perceive(asking, tall)["quality"], expected, atol=1e-5)


def test_half_precision_is_near(recipe):
    half = MusiqQuality(recipe.weights, EveryFrame(), compute=Compute(precision="bfloat16"))
    near = perceive_frames(half, noise(2, 72, 120))["quality"]
    assert 0 < np.abs(near - GOLDEN[72, 120]).max() < 0.2


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda tensors: tensors.pop("head.bias"), r"missing: head\.bias"),
        (lambda tensors: tensors.update({"head.0.bias": torch.zeros(10)}), r"not expected: head\.0\.bias"),
        (
            lambda tensors: tensors.update({"head.weight": torch.zeros(10, 384)}),
            r"head\.weight has the shape \(10, 384\)",
        ),
    ],
    ids=["missing", "surplus", "shape"],
)
def test_weights_of_another_network_are_refused(hub, change, problem):
    tensors = {name: torch.zeros(1).expand(shape) for name, shape in musiq_shapes().items()}
    change(tensors)
    with pytest.raises(Unmeasurable, match=problem) as refused:
        MusiqQuality(save_tensors("musiq-spaq", tensors)).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_on_a_canvas_frames_of_any_size_are_judged_as_though_they_had_its_size(tmp_path, recipe):
    canvas, frames = Canvas(72, 120), noise(2, 96, 120)
    asking = MusiqQuality(recipe.weights, EveryFrame(), canvas=canvas)
    covered = torch.from_numpy(np.stack([canvas.cover(frame) for frame in frames])).permute(0, 3, 1, 2)
    expected = musiq_of(torch, musiq_tensors(), MusiqConfig())(covered / 127.5 - 1)
    np.testing.assert_allclose(perceive_frames(asking, frames)["quality"], expected, atol=1e-4)
    same = perceive_frames(asking, noise(2, 72, 120))
    np.testing.assert_allclose(same["quality"], GOLDEN[72, 120], atol=1e-4)


def test_frames_of_1080p_that_wait_for_a_canvas_are_few(recipe):
    asking = MusiqQuality(recipe.weights, EveryFrame(), canvas=Canvas(720, 1280))
    watch = asking.load().start(rollout_of(Path("clip.mp4")), Timeline(np.arange(90.0), 1920, 1080), {})
    assert watch.frames_at_once == 2
    small = MusiqQuality(recipe.weights, EveryFrame(), canvas=Canvas(32, 32))
    for width, height, expected in ((64, 48, 32), (3840, 2160, 2)):
        watch = small.load().start(rollout_of(Path("clip.mp4")), Timeline(np.arange(90.0), width, height), {})
        assert watch.frames_at_once == expected
