from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from lookaway.core import Reason, Unmeasurable
from lookaway.io.sampling import EveryFrame
from lookaway.perception.networks import batching
from lookaway.perception.similarity.vgg_style import VggStyle
from tests.support.hub import as_saved
from tests.support.picture_networks import noise, random_vgg19, save_tensors, spoil, vgg19_tensors
from tests.support.watching import perceive_frames

HEIGHT, WIDTH = 48, 64


def stripes(period: int) -> np.ndarray:
    line = np.where(np.arange(WIDTH) % period < period // 2, 220, 30).astype(np.uint8)
    return np.broadcast_to(line[None, :, None], (HEIGHT, WIDTH, 3)).copy()


@pytest.fixture
def recipe(hub) -> VggStyle:
    return VggStyle(random_vgg19(), EveryFrame(), height=HEIGHT)


def test_distances_are_those_of_torchvisions_layers(recipe):
    """The table of layers is written down here as in the paper, and built of torch's own modules."""
    widths = [64, 64, 0, 128, 128, 0, 256, 256, 256, 256, 0, 512, 512, 512, 512, 0, 512]
    modules: list[torch.nn.Module] = []
    before = 3
    for width in widths:
        if width:
            modules += [torch.nn.Conv2d(before, width, 3, padding=1), torch.nn.ReLU()]
            before = width
        else:
            modules += [torch.nn.MaxPool2d(2)]
    network = torch.nn.Sequential(*modules)
    state = torch.load(recipe.weights.file("vgg19-dcbb9e9d.pth"))
    network.load_state_dict({name[9:]: tensor for name, tensor in state.items() if name.startswith("features.")})
    frames = noise(2, HEIGHT, WIDTH)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    values = ((torch.from_numpy(np.stack(frames)).float() / 255 - mean) / std).permute(0, 3, 1, 2)
    expected = []
    with torch.inference_mode():
        for place, module in enumerate(network):
            values = module(values)
            if place in (1, 6, 11, 20, 29):
                channels, pixels = values.shape[1], values.shape[2] * values.shape[3]
                grams = torch.einsum("nchw,ndhw->ncd", values, values) / (channels * pixels)
                expected.append(float(((grams[0] - grams[1]) ** 2).sum() ** 0.5))
    np.testing.assert_allclose(perceive_frames(recipe, frames)["distances"][0], expected, rtol=1e-4)


def test_frames_that_are_the_same_have_no_distance(recipe):
    distances = perceive_frames(recipe, [stripes(8)] * 3)["distances"]
    np.testing.assert_array_equal(distances, np.zeros((2, 5)))


def test_a_frame_of_another_texture_is_far_from_its_neighbours(recipe):
    distances = perceive_frames(recipe, [stripes(8), stripes(8), stripes(32), stripes(8)])["distances"]
    np.testing.assert_array_equal(distances[0], 0)
    assert (distances[1] > 0.01).all()
    np.testing.assert_allclose(distances[1], distances[2], rtol=1e-4)


def test_where_a_texture_is_matters_less_than_which_it_is(recipe):
    moved = np.roll(stripes(16), 8, axis=1)
    places, textures = perceive_frames(recipe, [moved, stripes(16), stripes(4)])["distances"]
    assert (places < textures / 3).all()


def test_batches_do_not_lose_the_step_between_them(recipe, monkeypatch):
    frames = noise(5, HEIGHT, WIDTH)
    whole = perceive_frames(recipe, frames)["distances"]
    for size in (1, 3):
        monkeypatch.setattr(batching, "MAX_FRAMES", size)
        np.testing.assert_allclose(perceive_frames(recipe, frames)["distances"], whole, rtol=1e-3)


def test_of_earlier_frames_one_row_is_held(recipe, monkeypatch):
    monkeypatch.setattr(batching, "MAX_FRAMES", 2)
    held = []
    original = torch.Tensor.clone
    monkeypatch.setattr(torch.Tensor, "clone", lambda tensor: held.append(tensor.shape[0]) or original(tensor))
    perceive_frames(recipe, noise(4, HEIGHT, WIDTH))
    assert held == [1] * 10


def test_a_single_frame_has_no_step(recipe):
    with pytest.raises(Unmeasurable, match="1 of the 1 frames") as found:
        perceive_frames(recipe, noise(1, HEIGHT, WIDTH))
    assert found.value.reason is Reason.TOO_SHORT


def test_the_format_of_files_from_before_2020_is_read(recipe):
    new = perceive_frames(recipe, noise(2, HEIGHT, WIDTH))["distances"]
    weights = save_tensors("vgg19", vgg19_tensors(), is_old_format=True)
    old = perceive_frames(VggStyle(weights, EveryFrame(), height=HEIGHT), noise(2, HEIGHT, WIDTH))["distances"]
    np.testing.assert_array_equal(old, new)


def test_a_changed_file_is_refused(recipe):
    spoil(recipe.weights.file("vgg19-dcbb9e9d.pth"))
    with pytest.raises(Unmeasurable, match="Nothing was loaded") as refused:
        recipe.load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def without(name: str) -> dict:
    return {other: tensor for other, tensor in vgg19_tensors().items() if other != name}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (lambda: without("features.28.bias"), r"missing: features\.28\.bias \(1 in all\)"),
        (lambda: {**without(""), "features.0.bias": torch.zeros(3)}, r"features\.0\.bias has the shape \(3,\)"),
        (lambda: [torch.zeros(3)], "holds a list"),
    ],
    ids=["missing", "shape", "list"],
)
def test_a_file_with_other_content_is_refused(hub, content, problem):
    path = random_vgg19().file("vgg19-dcbb9e9d.pth")
    torch.save(content(), path)
    with pytest.raises(Unmeasurable, match=problem) as refused:
        VggStyle(as_saved("vgg19", path.parent, "")).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


class Leaves:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_code_in_a_file_is_refused_and_not_run(hub):
    path = random_vgg19().file("vgg19-dcbb9e9d.pth")
    torch.save({"features.0.bias": Leaves(hub / "trace")}, path)
    with pytest.raises(Unmeasurable, match="vgg19 do not load") as refused:
        VggStyle(as_saved("vgg19", path.parent, "")).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS
    assert not (hub / "trace").exists()
