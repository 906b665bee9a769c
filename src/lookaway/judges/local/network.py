"""Loads a vision-language model of transformers, whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from lookaway.core import Compute, JudgeUnusable, MissingDevice, MissingExtra
from lookaway.judges.local.model_files import check_model_folder, model_id, picture_settings
from lookaway.judges.local.patches import Patches


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A loaded model, with what is needed to ask it."""

    torch: ModuleType
    model: Any
    tokenizer: Any
    patches: Patches
    id: str
    picture_token: int
    ends: frozenset[int]
    """Tokens that end an answer."""
    context: int
    """Tokens that a question and its answer may have together."""


def load_network(folder: Path, compute: Compute) -> Network:
    """The model of a folder, on its device, ready to answer."""
    torch, transformers = _torch(compute), _transformers()
    check_model_folder(folder)
    patches, name = Patches.of(picture_settings(folder)), model_id(folder)
    tokenizer, model = _loaded(transformers, folder, getattr(torch, compute.precision))
    picture_token = getattr(model.config, "image_token_id", None)
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if picture_token is None or context is None or not tokenizer.chat_template or not tokenizer.is_fast:
        raise JudgeUnusable(
            f"{folder} holds a {type(model).__name__} that cannot be asked about pictures: a token for pictures, a "
            "longest context, a fast tokenizer and a chat template are expected. Take an instruction-tuned model."
        )
    ends = model.generation_config.eos_token_id
    ends = tokenizer.eos_token_id if ends is None else ends
    ends = [ends] if isinstance(ends, int) else list(ends or ())
    # Models are published with habits of sampling and of penalties; how a judge chooses its words is not theirs to say.
    model.generation_config = transformers.GenerationConfig(eos_token_id=ends or None, pad_token_id=(ends or [0])[0])
    return Network(
        torch=torch,
        model=model.to(compute.device),
        tokenizer=tokenizer,
        patches=patches,
        id=name,
        picture_token=picture_token,
        ends=frozenset(ends),
        context=context,
    )


def _loaded(transformers: ModuleType, folder: Path, dtype: Any) -> tuple[Any, Any]:
    from safetensors import SafetensorError

    safely = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safely)
        model, report = transformers.AutoModelForImageTextToText.from_pretrained(
            folder,
            **safely,
            use_safetensors=True,
            dtype=dtype,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise JudgeUnusable(
            f"{folder} does not load as a vision-language model: {reason} Nothing was loaded; download it again, or "
            "take a model that transformers knows without running code of others."
        ) from error
    # A network with parameters left to chance would answer. Weights of wrong sizes are reported here as well.
    missing = sorted(str(name) for problem in ("missing_keys", "mismatched_keys") for name in report[problem])
    if missing:
        raise JudgeUnusable(
            f"{folder} lacks weights of its {type(model).__name__}: {', '.join(missing[:3])} ({len(missing)} in all). "
            "Download the model whole."
        )
    return tokenizer, model


def _torch(compute: Compute) -> ModuleType:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("A local judge", "torch") from error
    # Sums in another number of threads round otherwise, and answers would depend on the machine's cores.
    torch.set_num_threads(1)
    try:
        torch.zeros(1, device=compute.device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise MissingDevice(f"Torch cannot use the device {compute.device!r} here: {reason}") from error
    return torch


def _transformers() -> ModuleType:
    try:
        import jinja2  # noqa: F401  (transformers fills chat templates with it, and asks for it only then)
        import transformers
    except ImportError as error:
        raise MissingExtra("A local judge", "torch") from error
    # What it would say is checked here, and refused where it matters.
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    return transformers
