"""An environment with torch, once for all tests that need one."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lookaway.perception.poses.network_poses import DA3_ENVIRONMENT
from lookaway.perception.weights import WeightFile, Weights

SCHEMAS = """
import sys
from importlib.abc import MetaPathFinder

class Declare(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            import torch
            library = torch.library.Library("torchvision", "DEF")
            for operator in ("nms", "qnms"):
                library.define(operator + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            sys.torchvision_schemas = library

sys.meta_path.insert(0, Declare())
"""
"""A torchvision built for CUDA does not import beside a torch for CPUs, unless two of its operators are declared."""


def torch_python() -> Path:
    """The Python of the environment in which Depth Anything 3 runs, made where it is not there yet."""
    python = DA3_ENVIRONMENT.ensure()
    (site_packages(python) / "declared_schemas.py").write_text(SCHEMAS)
    (site_packages(python) / "declared_schemas.pth").write_text("import declared_schemas\n")
    return python


def site_packages(python: Path) -> Path:
    """Where its packages are."""
    return next(python.parents[1].glob("lib/python*/site-packages"))


def local_weights(hub: Path, source: str, *files: str) -> Weights:
    """Weights in a folder of the hub's cache, by the hashes of what is there."""
    folder = snapshot(hub, source)
    hashed = [WeightFile(name, hashlib.sha256((folder / name).read_bytes()).hexdigest()) for name in files]
    return Weights(name=source.partition("/")[2], source=source, revision="0" * 40, files=tuple(hashed))


def snapshot(hub: Path, source: str) -> Path:
    """Where the cache keeps the files of a repository."""
    return hub / f"models--{source.replace('/', '--')}" / "snapshots" / ("0" * 40)
