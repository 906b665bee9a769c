"""What runner files have in common."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np


class RunnerError(Exception):
    """There is nothing to be measured, for a reason of the names that lookaway knows."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def load_torch(device: str) -> Any:
    """Torch with one thread, since workers are parallel over rollouts."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    torch.zeros(1, device=device)
    return torch


def load_network(kind: Any, folder: str, device: str) -> Any:
    """A network of the Hugging Face hub from a local folder, with none of its parameters left to chance."""
    network = kind.from_pretrained(folder, local_files_only=True)
    file = Path(folder) / "model.safetensors"
    with import_module("safetensors").safe_open(file, "np") as stored:
        missing = {name for name, _ in network.named_parameters()} - set(stored.keys())
    if missing:
        raise RunnerError(
            "wrong_weights",
            f"{file.name} has no values for {len(missing)} parameters of {kind.__name__}, such as {min(missing)}.",
        )
    return network.to(device).eval()


def fitted(frames: Any, longest_side: int, multiple: int) -> list[Any]:
    """Whole frames as pictures whose sides are multiples, the longer one as asked for."""
    image = import_module("PIL.Image")
    height, width = frames.shape[1:3]
    scale = longest_side / max(height, width)
    size = [max(multiple, round(side * scale / multiple) * multiple) for side in (width, height)]
    return [image.fromarray(np.ascontiguousarray(frame)).resize(size, image.Resampling.BICUBIC) for frame in frames]
