"""MapAnything."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .shared import fitted, load_network, load_torch

PATCH = 14
SHORT_NAMES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


def load(settings: dict[str, Any]) -> Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]:
    """The network in a folder."""
    torch = load_torch(settings["device"])
    network = load_network(import_module("mapanything.models").MapAnything, settings["weights"], settings["device"])
    prepare = import_module("mapanything.utils.image").preprocess_inputs

    def run(arrays: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        side, precision = settings["longest_side"], settings["precision"]
        if settings["crops"]:
            views = prepare([{"img": frame} for frame in arrays["frames"]], resolution_set=side)
        else:
            # Already of the size that the network asks for, so that its own preparation crops nothing.
            pictures = [np.asarray(picture) for picture in fitted(arrays["frames"], side, PATCH)]
            views = prepare([{"img": picture} for picture in pictures], resize_mode="longest_side", size=side)
        with torch.inference_mode():
            found = network.infer(
                views,
                memory_efficient_inference=True,
                use_amp=precision != "float32",
                amp_dtype=SHORT_NAMES[precision],
                apply_mask=True,
                mask_edges=False,
            )
        return {
            "poses": _joined(view["camera_poses"] for view in found),
            "intrinsics": _joined(view["intrinsics"] for view in found),
            "depth": _joined(view["depth_z"] for view in found)[..., 0],
        }

    return run


def _joined(values: Any) -> Any:
    return np.concatenate([value.float().cpu().numpy() for value in values])
