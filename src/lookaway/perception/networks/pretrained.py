"""Loads a network of transformers from published weights, whole or not at all."""

from __future__ import annotations

from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

from lookaway.core import Compute, MissingExtra, Reason, Unmeasurable
from lookaway.perception.networks.torch_setup import dtype_of, load_torch
from lookaway.perception.weights import Weights

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
