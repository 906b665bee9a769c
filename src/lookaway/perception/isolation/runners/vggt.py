"""VGGT."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .shared import fitted, load_network, load_torch

PATCH = 14


def load(settings: dict[str, Any]) -> Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]:
    """The network in a folder."""
    device, precision = settings["device"], settings["precision"]
    torch = load_torch(device)
    network = load_network(import_module("vggt.models.vggt").VGGT, settings["weights"], device)
    decode = import_module("vggt.utils.pose_enc").pose_encoding_to_extri_intri

    def run(arrays: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        pictures = np.stack(fitted(arrays["frames"], settings["longest_side"], PATCH))
        images = torch.from_numpy(pictures).to(device).permute(0, 3, 1, 2)[None].float() / 255
        with torch.inference_mode():
            half = getattr(torch, precision)
            with torch.autocast(torch.device(device).type, half, enabled=precision != "float32"):
                tokens, first_patch = network.aggregator(images)
            encoded = network.camera_head(tokens)[-1]
            poses, intrinsics = decode(encoded, images.shape[-2:])
            depth, _ = network.depth_head(tokens, images, first_patch)
        found = {"poses": poses[0], "intrinsics": intrinsics[0], "depth": depth[0, ..., 0]}
        return {name: values.float().cpu().numpy() for name, values in found.items()}

    return run
