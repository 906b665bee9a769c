from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from lookaway.core import Compute, Reason, Timeline, Unmeasurable
from lookaway.perception.motion.warp_errors import RaftWarpErrors, warp_error
from lookaway.perception.networks.raft_network import (
    LEVELS,
    RADIUS,
    RaftConfig,
    RaftNetwork,
    correlation_pyramid,
    look_up,
    places,
    raft_shapes,
    upsample,
)
from lookaway.perception.similarity.compared_frames import GeneratedSize
from tests.support.picture_networks import noise, raft_tensors, random_raft, save_tensors
from tests.support.watching import check_documented, perceive_frames, rollout_of

ROLLOUT = replace(rollout_of(Path("clip.mp4")), phases={"visible": (0, 2), "reappeared": (2, 2)})
GOLDEN = {
    (5, 7): (1.6717360019683838, 3.0532288551330566),
    (64, 100): (4.823642730712891, 4.712681770324707),
    (127, 135): (1.440783977508545, 3.2501583099365234),
}
"""What `raft_large` of torchvision 0.28 gives for `noise(2, 128, 136)` with the weights of `raft_tensors`."""
GOLDEN_MEAN = 4.296832084655762
"""The mean size of the numbers of the same flow."""


def random(*shape):
    return torch.from_numpy(np.random.default_rng(0).normal(size=shape).astype(np.float32))


# The network


def test_the_network_has_the_names_of_the_published_parameters_and_as_many():
    shapes = raft_shapes()
    learned = {name: shape for name, shape in shapes.items() if "running" not in name and "tracked" not in name}
    assert (len(shapes), sum(int(np.prod(shape)) for shape in learned.values())) == (169, 5_257_536)
    assert shapes["feature_encoder.convnormrelu.0.weight"] == (64, 3, 7, 7)
    assert "feature_encoder.convnormrelu.1.weight" not in shapes
    assert shapes["context_encoder.layer2.0.downsample.1.running_var"] == (96,)
    assert "context_encoder.layer1.0.downsample.0.weight" not in shapes
    assert shapes["update_block.motion_encoder.convcorr1.0.weight"] == (256, 324, 1, 1)
    assert shapes["update_block.recurrent_block.convgru2.convq.weight"] == (128, 384, 5, 1)
    assert shapes["mask_predictor.conv.weight"] == (576, 256, 1, 1)


@pytest.mark.merge
def test_flow_is_that_of_torchvision():
    pictures = [torch.from_numpy(picture).permute(2, 0, 1)[None] / 127.5 - 1 for picture in noise(2, 128, 136)]
    flow = RaftNetwork(torch, raft_tensors(), RaftConfig())(*pictures)[0]
    for (row, column), expected in GOLDEN.items():
        np.testing.assert_allclose(flow[:, row, column], expected, atol=1e-3)
    assert float(flow.abs().mean()) == pytest.approx(GOLDEN_MEAN, abs=1e-3)


@pytest.mark.merge
def test_without_steps_of_refinement_there_is_no_flow():
    last = {name: torch.zeros(shape) for name, shape in raft_shapes().items() if "flow_head.conv2" in name}
    pictures = random(2, 1, 3, 128, 128)
    assert RaftNetwork(torch, {**raft_tensors(), **last}, RaftConfig())(*pictures).abs().max() == 0


def between(grid, row, column):
    """A value of a grid between its neighbours, 0 beyond its edges."""
    top, left = int(np.floor(row)), int(np.floor(column))
    value = 0.0
    for y, x in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        if 0 <= y < grid.shape[0] and 0 <= x < grid.shape[1]:
            value += (1 - abs(row - y)) * (1 - abs(column - x)) * grid[y, x]
    return value


def test_correlations_are_looked_up_around_where_the_flow_points():
    first, second = random(2, 1, 6, 16, 17)
    pyramid = correlation_pyramid(torch, first, second)
    reached = places(torch, first) + 3 * random(1, 2, 16, 17)
    found = look_up(torch, pyramid, reached)
    side = 2 * RADIUS + 1
    assert found.shape == (1, LEVELS * side * side, 16, 17)
    for row, column in ((0, 0), (7, 3), (15, 16)):
        alike = (first[0, :, row, column] @ second[0].flatten(1)).view(16, 17).numpy() / np.sqrt(6)
        across, down = reached[0, :, row, column].tolist()
        for level in range(LEVELS):
            expected = [
                between(alike, down / 2**level + y, across / 2**level + x)
                for x in range(-RADIUS, RADIUS + 1)
                for y in range(-RADIUS, RADIUS + 1)
            ]
            own = found[0, level * side * side : (level + 1) * side * side, row, column]
            np.testing.assert_allclose(own, expected, atol=1e-4)
            rows, columns = (length // 2 for length in alike.shape)
            alike = alike[: 2 * rows, : 2 * columns].reshape(rows, 2, columns, 2).mean((1, 3))


def test_upsampled_flow_is_a_weighted_mean_of_nine_neighbours_eight_times_as_long():
    flow, mask = random(1, 2, 3, 4), random(1, 576, 3, 4)
    found = upsample(torch, flow, mask)
    assert found.shape == (1, 2, 24, 32)
    padded = np.pad(flow[0].numpy(), ((0, 0), (1, 1), (1, 1)))
    for row, column in ((0, 0), (9, 30), (23, 31)):
        (y, inner_y), (x, inner_x) = divmod(row, 8), divmod(column, 8)
        logits = mask[0].view(9, 8, 8, 3, 4)[:, inner_y, inner_x, y, x].numpy()
        weights = np.exp(logits) / np.exp(logits).sum()
        expected = 8 * (padded[:, y : y + 3, x : x + 3].reshape(2, 9) * weights).sum(axis=1)
        np.testing.assert_allclose(found[0, :, row, column], expected, rtol=1e-4, atol=1e-5)


# The extractor


@pytest.fixture
def recipe(hub) -> RaftWarpErrors:
    recipe = RaftWarpErrors(weights=random_raft())
    return replace(recipe, frames=replace(recipe.frames, phases=("visible",), step=1))


def padded_flow(pictures):
    """By hand, of pictures of 130 by 131 pixels that are already on the scale of the network."""
    sides = ((0, 6), (0, 5), (0, 0))
    batches = [torch.from_numpy(np.pad(picture, sides, "edge")).permute(2, 0, 1)[None] for picture in pictures]
    flow = RaftNetwork(torch, raft_tensors(), RaftConfig())(*(batch.float() for batch in batches))
    return flow[0].permute(1, 2, 0).numpy()[:130, :131]


@pytest.mark.merge
@pytest.mark.parametrize("as_the_code", [False, True])
def test_pictures_are_padded_by_their_edges_and_on_the_scale_that_is_asked_for(recipe, as_the_code):
    shown = noise(2, 130, 131)
    recipe = replace(recipe, samples_earlier=as_the_code, from_zero=as_the_code)
    feature = perceive_frames(recipe, shown, rollout=ROLLOUT)
    check_documented(recipe, feature)
    earlier, later = (picture / 255 for picture in shown)
    flow = padded_flow([picture if as_the_code else 2 * picture - 1 for picture in (earlier, later)])
    expected = warp_error(earlier, later, flow, samples_earlier=as_the_code)
    assert feature["errors"].tolist() == [pytest.approx(expected, abs=1e-5)]
    assert feature["frame_indices"].tolist() == [0, 1]


def test_frames_that_are_too_small_for_the_network_are_declined():
    recipe = RaftWarpErrors(size=GeneratedSize(200))
    with pytest.raises(Unmeasurable, match=r"200 x 112 .* RAFT needs 128 pixels each way") as declined:
        recipe.request(Timeline(np.zeros(2), 1280, 720), ROLLOUT)
    assert declined.value.reason is Reason.INVALID_INPUT
    assert recipe.request(Timeline(np.zeros(2), 200, 121), ROLLOUT).indices == {0}


def test_missing_weights_decline_with_the_command_that_fetches_them(hub):
    declined = RaftWarpErrors().declines(ROLLOUT)
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert "lookaway weights fetch raft-large" in declined.message


def test_weights_of_another_network_are_refused(hub):
    tensors = {name: tensor for name, tensor in raft_tensors().items() if not name.startswith("mask_predictor")}
    with pytest.raises(Unmeasurable, match=r"missing: mask_predictor\.convrelu\.0\.weight") as refused:
        RaftWarpErrors(weights=save_tensors("raft-large", tensors)).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


@pytest.mark.merge
def test_half_precision_is_near(recipe):
    shown = noise(2, 128, 128)
    halved = replace(recipe, compute=Compute(precision="bfloat16"))
    whole, half = (perceive_frames(each, shown, rollout=ROLLOUT)["errors"][0] for each in (recipe, halved))
    assert half == pytest.approx(whole, rel=0.1)
