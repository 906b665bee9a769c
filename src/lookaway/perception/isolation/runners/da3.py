"""Depth Anything 3."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from .shared import load_network, load_torch

NOT_NEEDED = {
    "depth_anything_3.utils.export": "export",
    "depth_anything_3.utils.pose_align": "align_poses_umeyama",
}
"""What the package imports to write files and to fit given poses. It brings thirty packages, and none of it is used."""


def load(settings: dict[str, Any]) -> Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]:
    """The network in a folder."""
    load_torch(settings["device"])
    for name, attribute in NOT_NEEDED.items():
        sys.modules[name] = ModuleType(name)
        setattr(sys.modules[name], attribute, None)
    kind = import_module("depth_anything_3.api").DepthAnything3
    network = load_network(kind, settings["weights"], settings["device"])

    def run(arrays: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        found = network.inference(
            list(arrays["frames"]),
            process_res=settings["longest_side"],
            process_res_method="upper_bound_resize",
            ref_view_strategy=settings["reference_view"],
            use_ray_pose=settings["use_ray_pose"],
        )
        return {"poses": found.extrinsics, "intrinsics": found.intrinsics, "depth": found.depth}

    return run
