"""Fills a network that is built in code with its published parameters."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from lookaway.core import Compute
from lookaway.perception.networks.checkpoints import load_tensors
from lookaway.perception.networks.torch_setup import dtype_of
from lookaway.perception.weights import Weights


def load_parameters(torch: ModuleType, network: Any, weights: Weights, compute: Compute) -> Any:
    """The network with all its parameters and no others, on its device, ready to look."""
    shapes = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    network.load_state_dict(load_tensors(torch, weights, shapes, compute))
    return network.to(compute.device, dtype_of(torch, compute)).eval()
