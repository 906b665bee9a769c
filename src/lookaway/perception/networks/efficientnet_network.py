"""EfficientNet-Lite0. Tan, Le: EfficientNet, ICML 2019; without squeezing and with ReLU6, as its Lite family is."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

CHANNELS = 1280
STRIDE = 32
"""Pixels of the input to one of the last map."""
CLASSES = 1000


class _Stage(NamedTuple):
    blocks: int
    kernel: int
    stride: int
    """Stride of its first block."""
    expansion: int
    channels: int


STEM = 32
STAGES = (
    _Stage(1, 3, 1, 1, 16),
    _Stage(2, 3, 2, 6, 24),
    _Stage(2, 5, 2, 6, 40),
    _Stage(3, 3, 2, 6, 80),
    _Stage(3, 5, 1, 6, 112),
    _Stage(4, 5, 2, 6, 192),
    _Stage(1, 3, 1, 6, 320),
)


def efficientnet_lite0(torch: ModuleType) -> Any:
    """The network without its parameters, under the names of the published ones."""
    nn = torch.nn
    blocks, channels = [], STEM
    for stage in STAGES:
        for place in range(stage.blocks):
            blocks.append(_block(nn, channels, stage, stage.stride if place == 0 else 1))
            channels = stage.channels
    return nn.ModuleDict(
        {
            "_conv_stem": nn.Conv2d(3, STEM, 3, stride=2, bias=False),
            "_bn0": _norm(nn, STEM),
            "_blocks": nn.ModuleList(blocks),
            "_conv_head": nn.Conv2d(channels, CHANNELS, 1, bias=False),
            "_bn1": _norm(nn, CHANNELS),
            "_fc": nn.Linear(CHANNELS, CLASSES),
        }
    )


def last_map(torch: ModuleType, network: Any, batch: Any) -> Any:
    """[pictures, 1280, height / 32, width / 32] of a batch [pictures, 3, height, width]."""
    functional = torch.nn.functional
    maps = functional.relu6(network["_bn0"](_convolved(functional, network["_conv_stem"], batch)))
    for block in network["_blocks"]:
        inner = maps
        if "_expand_conv" in block:
            inner = functional.relu6(block["_bn0"](block["_expand_conv"](inner)))
        inner = functional.relu6(block["_bn1"](_convolved(functional, block["_depthwise_conv"], inner)))
        inner = block["_bn2"](block["_project_conv"](inner))
        maps = inner + maps if inner.shape == maps.shape else inner
    return functional.relu6(network["_bn1"](network["_conv_head"](maps)))


def _block(nn: ModuleType, before: int, stage: _Stage, stride: int) -> Any:
    inner = before * stage.expansion
    expanding = {"_expand_conv": nn.Conv2d(before, inner, 1, bias=False), "_bn0": _norm(nn, inner)}
    return nn.ModuleDict(
        {
            **(expanding if stage.expansion > 1 else {}),
            "_depthwise_conv": nn.Conv2d(inner, inner, stage.kernel, stride=stride, groups=inner, bias=False),
            "_bn1": _norm(nn, inner),
            "_project_conv": nn.Conv2d(inner, stage.channels, 1, bias=False),
            "_bn2": _norm(nn, stage.channels),
        }
    )


def _norm(nn: ModuleType, channels: int) -> Any:
    return nn.BatchNorm2d(channels, eps=1e-3)


def _convolved(functional: ModuleType, convolution: Any, maps: Any) -> Any:
    """It was trained where an odd pixel of padding goes to the right and below."""
    padding = convolution.kernel_size[0] - convolution.stride[0]
    before, after = padding // 2, padding - padding // 2
    return convolution(functional.pad(maps, (before, after, before, after)))
