"""Loads a vision-language model with transformers, complete or not at all."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from lookaway.core import Compute, JudgeUnusable, MissingDevice, MissingExtra, Pixels
from lookaway.judges.errors import PermanentError

READ = (".json", ".jinja", ".safetensors")
"""Suffixes of the files that can change an answer; byte-pair vocabularies add one more file, `MERGES`."""
MERGES = "merges.txt"
SHOWN_DIGITS = 16
SHOWN_FILES = 5


def check_model_folder(folder: Path) -> None:
    """Raise `JudgeUnusable` if the folder has no model, or keeps its weights in files that can run code."""
    if not folder.is_dir():
        raise JudgeUnusable(f"{folder} does not exist; expected the folder of a downloaded vision-language model.")
    names = sorted(path.name for path in folder.iterdir())
    if "config.json" not in names or not any(name.endswith(".safetensors") for name in names):
        found = ", ".join(names[:SHOWN_FILES]) + (", ..." if len(names) > SHOWN_FILES else "")
        raise JudgeUnusable(
            f"{folder} contains {found or 'nothing'}; expected a config.json and weights as safetensors, since other "
            "weight files can run code. Download the complete model, or convert its weights."
        )


def model_id(folder: Path) -> str:
    """The folder name and a hash of all files that can change an answer; independent of where the folder is."""
    hasher = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.suffix in READ or path.name == MERGES):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        hasher.update(f"{path.name}\0{content}\0".encode())
    name = os.path.basename(os.path.abspath(folder))
    return f"{name}@sha256:{hasher.hexdigest()[:SHOWN_DIGITS]}"


def picture_settings(folder: Path) -> Mapping[str, Any]:
    """The image processor settings; newer models keep them with the text settings, older ones in their own file."""
    settings = _settings(folder / "processor_config.json").get("image_processor")
    if settings is None:
        settings = _settings(folder / "preprocessor_config.json")
    if not isinstance(settings, Mapping) or not settings:
        raise JudgeUnusable(
            f"{folder} has no image processor settings; expected them in processor_config.json or "
            "preprocessor_config.json. Download the complete model; a text-only model cannot judge videos."
        )
    return settings


def _settings(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_bytes()) if path.is_file() else {}
    except ValueError as error:
        raise JudgeUnusable(f"{path} is not valid JSON: {error}. Download it again.") from error
    return found if isinstance(found, Mapping) else {}


KINDS = ("Qwen2VLImageProcessor", "Qwen2VLImageProcessorFast", "Qwen2VLImageProcessorPil")
BICUBIC = 3
ALWAYS = {"do_resize": True, "do_rescale": True, "do_normalize": True, "resample": BICUBIC, "rescale_factor": 1 / 255}
MAX_ELONGATED = 200
MEAN = (0.48145466, 0.4578275, 0.40821073)
DEVIATION = (0.26862954, 0.26130258, 0.27577711)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patches:
    """Cuts pictures into patches; the fields are the model's own settings, with their usual values as defaults."""

    patch_size: int = 14
    temporal_patch_size: int = 2
    merge_size: int = 2
    min_pixels: int = 56 * 56
    max_pixels: int = 28 * 28 * 1280
    mean: tuple[float, ...] = MEAN
    deviation: tuple[float, ...] = DEVIATION

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """From the settings of a model; raises `JudgeUnusable` if they are not supported."""
        kind = settings.get("image_processor_type")
        if kind not in KINDS:
            raise JudgeUnusable(
                f"The model needs the image processor {kind!r}; a local judge supports {KINDS[0]!r}. "
                "Use a model of the Qwen-VL family, or run the model behind a server."
            )
        unusual = {name: settings[name] for name, value in ALWAYS.items() if settings.get(name, value) != value}
        if unusual:
            raise JudgeUnusable(f"The image processor of the model has {unusual}; expected {ALWAYS}.")
        size = settings.get("size") or {}
        found = {
            "patch_size": settings.get("patch_size"),
            "temporal_patch_size": settings.get("temporal_patch_size"),
            "merge_size": settings.get("merge_size"),
            "min_pixels": settings.get("min_pixels") or size.get("shortest_edge"),
            "max_pixels": settings.get("max_pixels") or size.get("longest_edge"),
            "mean": settings.get("image_mean"),
            "deviation": settings.get("image_std"),
        }
        return cls(**{name: value for name, value in found.items() if value is not None})

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of patches that a picture is cut into, about as wide for its height as the picture is."""
        if max(height, width) > MAX_ELONGATED * min(height, width):
            raise PermanentError(f"a picture of {width}x{height} pixels is too elongated for the model.")
        unit = self.patch_size * self.merge_size
        rows, columns = round(height / unit), round(width / unit)
        if rows * columns * unit**2 > self.max_pixels:
            shrink = math.sqrt(height * width / self.max_pixels)
            rows, columns = (max(1, math.floor(side / shrink / unit)) for side in (height, width))
        elif rows * columns * unit**2 < self.min_pixels:
            grow = math.sqrt(self.min_pixels / (height * width))
            rows, columns = (math.ceil(side * grow / unit) for side in (height, width))
        return rows * self.merge_size, columns * self.merge_size

    def tokens(self, grid: tuple[int, int]) -> int:
        """How many tokens a picture takes."""
        return grid[0] * grid[1] // self.merge_size**2

    def cut(self, torch: ModuleType, pixels: Pixels) -> Any:
        """Patches [patches, values] of a picture [height, width, 3]; those that are merged are adjacent."""
        rows, columns = self.grid(*pixels.shape[:2])
        picture = torch.tensor(pixels).permute(2, 0, 1)[None]
        picture = torch.nn.functional.interpolate(
            picture, (rows * self.patch_size, columns * self.patch_size), mode="bicubic", antialias=True
        )
        mean, deviation = (torch.tensor(colour).view(3, 1, 1) * 255 for colour in (self.mean, self.deviation))
        colours = (picture[0].float() - mean) / deviation
        split = colours.unflatten(2, (-1, self.merge_size, self.patch_size))
        split = split.unflatten(1, (-1, self.merge_size, self.patch_size))
        # From [colour, rows, merged, y, columns, merged, x]; a picture is the same in all frames of a patch.
        ordered = split.permute(1, 4, 2, 5, 0, 3, 6)[..., None, :, :]
        still = ordered.expand(*ordered.shape[:5], self.temporal_patch_size, *ordered.shape[6:])
        return still.reshape(rows * columns, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A loaded model, with what is needed to query it."""

    torch: ModuleType
    model: Any
    tokenizer: Any
    patches: Patches
    id: str
    picture_token: int
    ends: frozenset[int]
    """Tokens that end an answer."""
    context: int
    """Maximum tokens of a question and its answer together."""


def load_network(folder: Path, compute: Compute) -> Network:
    """The model in a folder, loaded on its device."""
    torch, transformers = _torch(compute), _transformers()
    check_model_folder(folder)
    patches, name = Patches.of(picture_settings(folder)), model_id(folder)
    tokenizer, model = _loaded(transformers, folder, getattr(torch, compute.precision))
    picture_token = getattr(model.config, "image_token_id", None)
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if picture_token is None or context is None or not tokenizer.chat_template or not tokenizer.is_fast:
        raise JudgeUnusable(
            f"{folder} contains a {type(model).__name__} that cannot answer about pictures; expected a picture token, "
            "a context length, a fast tokenizer and a chat template. Use an instruction-tuned model."
        )
    ends = model.generation_config.eos_token_id
    ends = tokenizer.eos_token_id if ends is None else ends
    ends = [ends] if isinstance(ends, int) else list(ends or ())
    # Published models set their own sampling and penalties; here the settings of the judge decide.
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
            f"{folder} does not load as a vision-language model: {reason} Download it again, or use a "
            "model that transformers supports without remote code."
        ) from error
    # A network with randomly initialised parameters would answer too. Weights of wrong sizes are reported here as well.
    missing = sorted(str(name) for problem in ("missing_keys", "mismatched_keys") for name in report[problem])
    if missing:
        raise JudgeUnusable(
            f"{folder} lacks weights of its {type(model).__name__}: {', '.join(missing[:3])} ({len(missing)} in all). "
            "Download the complete model."
        )
    return tokenizer, model


def _torch(compute: Compute) -> ModuleType:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("A local judge", "torch") from error
    # Sums over another number of threads round differently, so answers would depend on the number of cores.
    torch.set_num_threads(1)
    try:
        torch.zeros(1, device=compute.device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise MissingDevice(f"Torch cannot use the device {compute.device!r} here: {reason}") from error
    return torch


def _transformers() -> ModuleType:
    try:
        import transformers
    except ImportError as error:
        raise MissingExtra("A local judge", "torch") from error
    # What it would warn about is checked above.
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    return transformers
