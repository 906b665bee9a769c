"""Loads a network of transformers from published weights, whole or not at all."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from types import ModuleType
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from lookaway.core import Compute, MissingDevice, MissingExtra, Reason, Unmeasurable
from lookaway.perception.weights import Weights


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


_LOADED: WeakValueDictionary[tuple[str, Weights, Compute], Any] = WeakValueDictionary()
"""Models in use: recipes that differ in the frames they see share one."""


def load_pretrained(kind: str, weights: Weights, compute: Compute) -> Any:
    """The model of a class of transformers, on its device, ready to look; its files were compared with their hashes."""
    torch, transformers, folder = load_torch(compute), _transformers(), weights.folder()
    if (loaded := _LOADED.get((kind, weights, compute))) is not None:
        return loaded
    try:
        model, report = getattr(transformers, kind).from_pretrained(
            folder,
            local_files_only=True,
            use_safetensors=True,
            dtype=dtype_of(torch, compute),
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise _refused(kind, weights, reason) from error
    # A network with parameters left to chance would run, and give numbers.
    for problem in ("missing_keys", "mismatched_keys"):
        if report[problem]:
            names = sorted(str(name) for name in report[problem])
            raise _refused(kind, weights, f"{problem.replace('_', ' ')}: {', '.join(names[:3])} ({len(names)} in all)")
    _LOADED[kind, weights, compute] = ready = model.to(compute.device).eval()
    return ready


def load_tokenizer(kind: str, weights: Weights) -> Any:
    """The tokenizer that was published with a network; another one would cut text into other tokens."""
    transformers, folder = _transformers(), weights.folder()
    try:
        return getattr(transformers, kind).from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
        raise _refused(kind, weights, str(error).strip().partition("\n")[0]) from error


def _transformers() -> ModuleType:
    try:
        import transformers
    except ImportError as error:
        raise MissingExtra("A network", "torch") from error
    # What it would say is checked here, and refused where it matters.
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    return transformers


def _refused(kind: str, weights: Weights, reason: str) -> Unmeasurable:
    message = f"the weights {weights.name} do not load as {kind}: {reason}. Nothing was loaded."
    return Unmeasurable(Reason.WRONG_WEIGHTS, message)


Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
Tensors: TypeAlias = Mapping[str, Any]


def load_tensors(
    torch: ModuleType, weights: Weights, shapes: Shapes, compute: Compute, *, is_part: bool = False
) -> Tensors:
    """The tensors of the one file of some weights, on their device; of a part of a network, the rest is left aside.

    A file of one tensor without a name has the name that is expected.
    """
    found = _content(torch, weights)
    if isinstance(found, torch.Tensor) and len(shapes) == 1:
        found = dict.fromkeys(shapes, found)
    if not isinstance(found, Mapping):
        raise _not_loaded(weights, f"the file holds a {type(found).__name__}, not tensors by their names")
    # Networks trained on several devices are saved with this before every name.
    tensors = {str(name).removeprefix("module."): tensor for name, tensor in found.items()}
    if (problem := difference(tensors, shapes, is_part=is_part)) is not None:
        raise _not_loaded(weights, problem)
    return {name: tensors[name].to(compute.device, dtype_of(torch, compute)) for name in shapes}


def _content(torch: ModuleType, weights: Weights) -> object:
    """What the one file of some weights holds; no code that it may carry is run."""
    (file,) = weights.files
    path = weights.file(file.name)
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        content: object = torch.load(path, map_location="cpu", weights_only=True)
        return content
    except (pickle.UnpicklingError, SafetensorError, RuntimeError, ValueError, EOFError) as error:
        raise _not_loaded(weights, str(error).strip().partition("\n")[0]) from error


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


def _not_loaded(weights: Weights, reason: str) -> Unmeasurable:
    message = f"the weights {weights.name} do not load: {reason}. Nothing was loaded."
    return Unmeasurable(Reason.WRONG_WEIGHTS, message)


def load_parameters(torch: ModuleType, network: Any, weights: Weights, compute: Compute) -> Any:
    """The network with all its parameters and no others, on its device, ready to look."""
    shapes = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    network.load_state_dict(load_tensors(torch, weights, shapes, compute))
    return network.to(compute.device, dtype_of(torch, compute)).eval()
