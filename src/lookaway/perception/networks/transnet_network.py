"""TransNet V2, which sees where one shot ends. Soucek, Lokoc: TransNet V2, 2020."""

from __future__ import annotations

from types import ModuleType
from typing import Any

WIDTH, HEIGHT = 48, 27
DILATIONS = (1, 2, 4, 8)
FILTERS = (16, 32, 64)
"""Filters of each dilation, in the three stages."""
REACH = 50
"""Frames before and after each that it is compared with."""
COLOUR_STEPS = 8
"""Bins of each channel in a histogram."""
NUMBERS = tuple(f"{__name__}:{name}" for name in ("WIDTH", "HEIGHT", "DILATIONS", "REACH", "COLOUR_STEPS"))
"""What the lock of whoever uses the network holds."""


def transnet(torch: ModuleType) -> Any:
    """The network without its parameters, under the names of the published ones."""
    nn = torch.nn
    inputs = (3, *(filters * len(DILATIONS) for filters in FILTERS))
    stages = [_stage(nn, inputs[place], filters) for place, filters in enumerate(FILTERS)]
    seen = 2 * REACH + 1
    described = 128
    flattened = inputs[-1] * (HEIGHT // 8) * (WIDTH // 8)
    return nn.ModuleDict(
        {
            "SDDCNN": nn.ModuleList(stages),
            "frame_sim_layer": nn.ModuleDict(
                {"projection": nn.Linear(sum(inputs[1:]), described), "fc": nn.Linear(seen, described)}
            ),
            "color_hist_layer": nn.ModuleDict({"fc": nn.Linear(seen, described)}),
            "fc1": nn.Linear(flattened + 2 * described, 1024),
            "cls_layer1": nn.Linear(1024, 1),
            "cls_layer2": nn.Linear(1024, 1),
        }
    )


def cut_probabilities(torch: ModuleType, network: Any, frames: Any) -> Any:
    """[frames]: that a shot ends with each of some consecutive frames, bytes [frames, 27, 48, 3]."""
    functional = torch.nn.functional
    dtype = network["fc1"].weight.dtype
    maps = (frames.to(dtype) / 255).permute(3, 0, 1, 2)[None]
    pooled = []
    for stage in network["SDDCNN"]:
        maps = _through(torch, stage["DDCNN"], maps)
        pooled.append(maps.mean((3, 4))[0].T)
    content = functional.normalize(network["frame_sim_layer"]["projection"](torch.cat(pooled, 1)), dim=1)
    colours = functional.normalize(_histograms(torch, frames).to(dtype), dim=1)
    described = [
        functional.relu(network[layer]["fc"](_similarity(torch, vectors)))
        for layer, vectors in (("color_hist_layer", colours), ("frame_sim_layer", content))
    ]
    flat = maps[0].permute(1, 2, 3, 0).flatten(1)
    hidden = functional.relu(network["fc1"](torch.cat([*described, flat], 1)))
    return torch.sigmoid(network["cls_layer1"](hidden)[:, 0].float())


def _stage(nn: ModuleType, inputs: int, filters: int) -> Any:
    outputs = filters * len(DILATIONS)
    return nn.ModuleDict({"DDCNN": nn.ModuleList([_block(nn, inputs, filters), _block(nn, outputs, filters)])})


def _block(nn: ModuleType, inputs: int, filters: int) -> Any:
    """Convolutions over space and then over time, with four reaches in time side by side."""
    convolutions = {
        f"Conv3D_{dilation}": nn.ModuleDict(
            {
                "layers": nn.Sequential(
                    nn.Conv3d(inputs, 2 * filters, (1, 3, 3), padding=(0, 1, 1), bias=False),
                    nn.Conv3d(
                        2 * filters, filters, (3, 1, 1), dilation=(dilation, 1, 1), padding=(dilation, 0, 0), bias=False
                    ),
                )
            }
        )
        for dilation in DILATIONS
    }
    return nn.ModuleDict({**convolutions, "bn": nn.BatchNorm3d(filters * len(DILATIONS), eps=1e-3)})


def _through(torch: ModuleType, blocks: Any, maps: Any) -> Any:
    first, second = blocks
    early = torch.relu(_convolved(torch, first, maps))
    late = torch.relu(_convolved(torch, second, early))
    return torch.nn.functional.avg_pool3d(early + late, (1, 2, 2))


def _convolved(torch: ModuleType, block: Any, maps: Any) -> Any:
    parts = [block[f"Conv3D_{dilation}"]["layers"](maps) for dilation in DILATIONS]
    return block["bn"](torch.cat(parts, 1))


def _histograms(torch: ModuleType, frames: Any) -> Any:
    """[frames, 512]: how many pixels have each colour."""
    steps = frames.long() // (256 // COLOUR_STEPS)
    colours = ((steps[..., 0] * COLOUR_STEPS + steps[..., 1]) * COLOUR_STEPS + steps[..., 2]).flatten(1)
    counts = torch.zeros(len(frames), COLOUR_STEPS**3, device=frames.device)
    return counts.scatter_add_(1, colours, torch.ones_like(colours, dtype=counts.dtype))


def _similarity(torch: ModuleType, vectors: Any) -> Any:
    """[frames, 101]: of each frame with those around it, 0 beyond the ends."""
    padded = torch.nn.functional.pad(vectors @ vectors.T, (REACH, REACH))
    around = torch.arange(len(vectors), device=vectors.device)[:, None]
    return padded.gather(1, around + torch.arange(2 * REACH + 1, device=vectors.device))
