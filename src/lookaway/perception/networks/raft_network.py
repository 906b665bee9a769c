"""RAFT, which refines optical flow step by step. Teed, Deng: RAFT, 2020. Large, as torchvision publishes it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Annotated, Any, Final

from lookaway.core import Compute
from lookaway.perception.networks.pretrained import Shapes, Tensors, load_tensors, load_torch
from lookaway.perception.weights import Weights

STRIDE: Final = 8
"""Pixels of a picture for each place of a feature map, across and down."""
LEVELS, RADIUS = 4, 4
"""Sizes at which correlations are looked up, and places around the one that the flow points to."""
MIN_SIDE: Final = STRIDE * 2 * 2 ** (LEVELS - 1)
"""The smallest picture that leaves two places at the last size."""
ENCODER_WIDTHS: Final = (64, 64, 96, 128)
"""Channels of the stem and of the three layers."""
FEATURES: Final = 256
HIDDEN: Final = 128
"""Channels of the state, of the context, and of what describes motion."""
CORRELATIONS: Final = LEVELS * (2 * RADIUS + 1) ** 2
FEATURE_ENCODER, CONTEXT_ENCODER, MOTION = "feature_encoder", "context_encoder", "update_block.motion_encoder"


@dataclass(frozen=True, slots=True)
class RaftConfig:
    """What RAFT is besides its parameters."""

    refinements: Annotated[int, "steps in which flow is refined"] = 12
    mask_scale: Annotated[float, "factor of the mask by which flow is brought to full size"] = 0.25
    norm_epsilon: Annotated[float, "added to a variance before it divides"] = 1e-5


def load_raft(weights: Weights, config: RaftConfig, compute: Compute) -> RaftNetwork:
    """RAFT from its published file."""
    torch = load_torch(compute)
    return RaftNetwork(torch, load_tensors(torch, weights, raft_shapes(), compute), config)


def raft_shapes() -> Shapes:
    """Every parameter by its published name, and the statistics of batch norms."""
    shapes = _encoder(FEATURE_ENCODER, has_norms=False) | _encoder(CONTEXT_ENCODER, has_norms=True)
    shapes |= _convolution(f"{MOTION}.convcorr1.0", 256, CORRELATIONS, 1, 1)
    shapes |= _convolution(f"{MOTION}.convcorr2.0", 192, 256, 3, 3)
    shapes |= _convolution(f"{MOTION}.convflow1.0", 128, 2, 7, 7)
    shapes |= _convolution(f"{MOTION}.convflow2.0", 64, 128, 3, 3)
    shapes |= _convolution(f"{MOTION}.conv.0", HIDDEN - 2, 192 + 64, 3, 3)
    for name, kernel in (("convgru1", (1, 5)), ("convgru2", (5, 1))):
        for gate in ("convz", "convr", "convq"):
            shapes |= _convolution(f"update_block.recurrent_block.{name}.{gate}", HIDDEN, 3 * HIDDEN, *kernel)
    shapes |= _convolution("update_block.flow_head.conv1", 256, HIDDEN, 3, 3)
    shapes |= _convolution("update_block.flow_head.conv2", 2, 256, 3, 3)
    shapes |= _convolution("mask_predictor.convrelu.0", 256, HIDDEN, 3, 3)
    return shapes | _convolution("mask_predictor.conv", 9 * STRIDE**2, 256, 1, 1)


@dataclass(frozen=True, slots=True)
class RaftNetwork:
    """Loaded RAFT."""

    torch: ModuleType
    tensors: Tensors
    config: RaftConfig

    def __call__(self, earlier: Any, later: Any) -> Any:
        """Flow [N, 2, height, width] to the right and down, in pixels, from pictures [N, 3, height, width] to others.

        Sides are multiples of 8, and 128 or more.
        """
        torch = self.torch
        with torch.inference_mode():
            first, second = self._encoded(torch.cat([earlier, later]), FEATURE_ENCODER).chunk(2)
            pyramid = correlation_pyramid(torch, first, second)
            hidden, context = self._encoded(earlier, CONTEXT_ENCODER).split(HIDDEN, dim=1)
            hidden, context = torch.tanh(hidden), torch.relu(context)
            start = places(torch, first)
            reached = start
            for _ in range(self.config.refinements):
                correlations = look_up(torch, pyramid, reached)
                motion = self._motion(reached - start, correlations)
                hidden = self._refined(hidden, torch.cat([context, motion], dim=1))
                inner = self._convolved(hidden, "update_block.flow_head.conv1", is_active=True)
                reached = reached + self._convolved(inner, "update_block.flow_head.conv2")
            inner = self._convolved(hidden, "mask_predictor.convrelu.0", is_active=True)
            mask = self.config.mask_scale * self._convolved(inner, "mask_predictor.conv")
            return upsample(torch, reached - start, mask)

    def _encoded(self, pictures: Any, encoder: str) -> Any:
        maps = self._normed(pictures, f"{encoder}.convnormrelu", stride=2).relu()
        for layer in range(1, len(ENCODER_WIDTHS)):
            stride = 1 if layer == 1 else 2
            for block, step in ((f"{encoder}.layer{layer}.0", stride), (f"{encoder}.layer{layer}.1", 1)):
                inner = self._normed(maps, f"{block}.convnormrelu1", stride=step).relu()
                inner = self._normed(inner, f"{block}.convnormrelu2").relu()
                kept = maps if step == 1 else self._normed(maps, f"{block}.downsample", stride=step)
                maps = (kept + inner).relu()
        return self._convolved(maps, f"{encoder}.conv")

    def _normed(self, maps: Any, name: str, *, stride: int = 1) -> Any:
        """Convolved, and then normed over the picture or, in the context encoder, by what training saw."""
        functional, tensors = self.torch.nn.functional, self.tensors
        found = self._convolved(maps, f"{name}.0", stride=stride)
        if not name.startswith(CONTEXT_ENCODER):
            return functional.instance_norm(found, eps=self.config.norm_epsilon)
        mean, spread, weight, bias = (
            tensors[f"{name}.1.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
        )
        return functional.batch_norm(found, mean, spread, weight, bias, eps=self.config.norm_epsilon)

    def _motion(self, flow: Any, correlations: Any) -> Any:
        seen = self._convolved(correlations, f"{MOTION}.convcorr1.0", is_active=True)
        seen = self._convolved(seen, f"{MOTION}.convcorr2.0", is_active=True)
        moved = self._convolved(flow, f"{MOTION}.convflow1.0", is_active=True)
        moved = self._convolved(moved, f"{MOTION}.convflow2.0", is_active=True)
        both = self._convolved(self.torch.cat([seen, moved], dim=1), f"{MOTION}.conv.0", is_active=True)
        return self.torch.cat([both, flow], dim=1)

    def _refined(self, hidden: Any, seen: Any) -> Any:
        """The next state: a gated recurrent unit along rows, and another along columns."""
        torch = self.torch
        for unit in ("update_block.recurrent_block.convgru1", "update_block.recurrent_block.convgru2"):
            both = torch.cat([hidden, seen], dim=1)
            update, reset = (torch.sigmoid(self._convolved(both, f"{unit}.{gate}")) for gate in ("convz", "convr"))
            proposed = torch.tanh(self._convolved(torch.cat([reset * hidden, seen], dim=1), f"{unit}.convq"))
            hidden = (1 - update) * hidden + update * proposed
        return hidden

    def _convolved(self, maps: Any, name: str, *, stride: int = 1, is_active: bool = False) -> Any:
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        padding = tuple(side // 2 for side in weight.shape[2:])
        found = self.torch.nn.functional.conv2d(maps, weight, bias, stride=stride, padding=padding)
        return found.relu() if is_active else found


def places(torch: ModuleType, maps: Any) -> Any:
    """[N, 2, rows, columns]: column and row of each place of feature maps [N, channels, rows, columns]."""
    count, _, rows, columns = maps.shape
    down = torch.arange(rows, device=maps.device, dtype=maps.dtype)[:, None].expand(rows, columns)
    across = torch.arange(columns, device=maps.device, dtype=maps.dtype)[None].expand(rows, columns)
    return torch.stack([across, down]).expand(count, -1, -1, -1)


def correlation_pyramid(torch: ModuleType, first: Any, second: Any) -> list[Any]:
    """How alike each place of the first maps is to every place of the second, [N * places, 1, rows, columns] each.

    Each is half the size of the one before.
    """
    count, channels, rows, columns = first.shape
    alike = first.flatten(2).transpose(1, 2) @ second.flatten(2) / channels**0.5
    pyramid = [alike.reshape(count * rows * columns, 1, rows, columns)]
    for _ in range(LEVELS - 1):
        pyramid.append(torch.nn.functional.avg_pool2d(pyramid[-1], 2, stride=2))
    return pyramid


def look_up(torch: ModuleType, pyramid: list[Any], reached: Any) -> Any:
    """[N, 324, rows, columns]: correlations around where each place [N, 2, rows, columns] has moved to.

    At each size they go by columns, from left to right, and in each column down.
    """
    count, _, rows, columns = reached.shape
    steps = torch.arange(-RADIUS, RADIUS + 1, device=reached.device, dtype=reached.dtype)
    around = torch.stack(torch.meshgrid(steps, steps, indexing="ij"), dim=-1)
    middles = reached.permute(0, 2, 3, 1).reshape(-1, 1, 1, 2)
    found = []
    for level, correlations in enumerate(pyramid):
        last = torch.tensor(correlations.shape[:1:-1], device=reached.device, dtype=reached.dtype) - 1
        where = 2 * (middles / 2**level + around) / last - 1
        sampled = torch.nn.functional.grid_sample(correlations, where, mode="bilinear", align_corners=True)
        found.append(sampled.view(count, rows, columns, -1))
    return torch.cat(found, dim=-1).permute(0, 3, 1, 2)


def upsample(torch: ModuleType, flow: Any, mask: Any) -> Any:
    """Flow at eight times its size: each pixel has a weighted mean of the nine places around its own.

    Weights are a softmax over the nine of the mask, [N, 9 * 64, rows, columns].
    """
    count, _, rows, columns = flow.shape
    weights = mask.view(count, 1, 9, STRIDE, STRIDE, rows, columns).softmax(dim=2)
    around = torch.nn.functional.unfold(STRIDE * flow, 3, padding=1).view(count, 2, 9, 1, 1, rows, columns)
    found = (weights * around).sum(dim=2)
    return found.permute(0, 1, 4, 2, 5, 3).reshape(count, 2, STRIDE * rows, STRIDE * columns)


def _encoder(name: str, *, has_norms: bool) -> dict[str, tuple[int, ...]]:
    shapes = _normed(f"{name}.convnormrelu", ENCODER_WIDTHS[0], 3, 7, has_norms=has_norms)
    for layer, (before, after) in enumerate(pairwise(ENCODER_WIDTHS), start=1):
        for place, inputs in enumerate((before, after)):
            block = f"{name}.layer{layer}.{place}"
            shapes |= _normed(f"{block}.convnormrelu1", after, inputs, 3, has_norms=has_norms)
            shapes |= _normed(f"{block}.convnormrelu2", after, after, 3, has_norms=has_norms)
            if inputs != after:
                shapes |= _normed(f"{block}.downsample", after, inputs, 1, has_norms=has_norms)
    return shapes | _convolution(f"{name}.conv", FEATURES, ENCODER_WIDTHS[-1], 1, 1)


def _normed(name: str, after: int, before: int, side: int, *, has_norms: bool) -> dict[str, tuple[int, ...]]:
    shapes = _convolution(f"{name}.0", after, before, side, side)
    if has_norms:
        shapes |= {f"{name}.1.{part}": (after,) for part in ("weight", "bias", "running_mean", "running_var")}
        shapes[f"{name}.1.num_batches_tracked"] = ()
    return shapes


def _convolution(name: str, after: int, before: int, *kernel: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (after, before, *kernel), f"{name}.bias": (after,)}
