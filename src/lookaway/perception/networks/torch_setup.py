"""Torch, set up as a worker needs it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from lookaway.core import Compute, MissingDevice, MissingExtra


def load_torch(compute: Compute) -> ModuleType:
    """Import torch with one thread, since workers are parallel over rollouts; the device must be there."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("A network", "torch") from error
    torch.set_num_threads(1)
    try:
        torch.zeros(1, device=compute.device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise MissingDevice(f"Torch cannot use the device {compute.device!r} here: {reason}") from error
    return torch


def dtype_of(torch: ModuleType, compute: Compute) -> Any:
    """The type that torch computes in."""
    return getattr(torch, compute.precision)
