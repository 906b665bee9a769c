"""Tensors of a published file of torch: the names and shapes that are asked for, or nothing."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from types import ModuleType
from typing import Any, TypeAlias

from lookaway.core import Compute, Reason, Unmeasurable
from lookaway.perception.networks.torch_setup import dtype_of
from lookaway.perception.weights import Weights

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
Tensors: TypeAlias = Mapping[str, Any]


def load_tensors(
    torch: ModuleType, weights: Weights, shapes: Shapes, compute: Compute, *, is_part: bool = False
) -> Tensors:
    """The tensors of the one file of some weights, on their device; of a part of a network, the rest is left aside."""
    (file,) = weights.files
    path = weights.file(file.name)
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError) as error:
        raise _refused(weights, str(error).strip().partition("\n")[0]) from error
    if not isinstance(found, Mapping):
        raise _refused(weights, f"the file holds a {type(found).__name__}, not tensors by their names")
    # Networks trained on several devices are saved with this before every name.
    tensors = {str(name).removeprefix("module."): tensor for name, tensor in found.items()}
    if (problem := difference(tensors, shapes, is_part=is_part)) is not None:
        raise _refused(weights, problem)
    return {name: tensors[name].to(compute.device, dtype_of(torch, compute)) for name in shapes}


def difference(tensors: Tensors, shapes: Shapes, *, is_part: bool = False) -> str | None:
    """What is missing, of another shape or, unless they are a part, too much."""
    missing = [name for name in shapes if name not in tensors]
    surplus = [] if is_part else [name for name in tensors if name not in shapes]
    for problem, names in (("missing", missing), ("not expected", surplus)):
        if names:
            return f"{problem}: {', '.join(names[:3])} ({len(names)} in all)"
    for name, shape in shapes.items():
        if (found := tuple(tensors[name].shape)) != shape:
            return f"{name} has the shape {found}, expected {shape}"
    return None


def _refused(weights: Weights, reason: str) -> Unmeasurable:
    message = f"the weights {weights.name} do not load: {reason}. Nothing was loaded."
    return Unmeasurable(Reason.WRONG_WEIGHTS, message)
