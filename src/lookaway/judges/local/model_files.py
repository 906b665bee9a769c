"""The folder that a published vision-language model is kept in: what must be there, and what it is called."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lookaway.core import JudgeUnusable

READ = (".json", ".jinja", ".safetensors")
"""Endings of the files that can move an answer; vocabularies of byte pairs have one more, `MERGES`."""
MERGES = "merges.txt"
SHOWN_DIGITS = 16
SHOWN_FILES = 5


def check_model_folder(folder: Path) -> None:
    """A `JudgeUnusable` where the folder is none of a model, or has its weights in files that can run code."""
    if not folder.is_dir():
        raise JudgeUnusable(
            f"There is no folder {folder}; the folder of a downloaded vision-language model is expected."
        )
    names = sorted(path.name for path in folder.iterdir())
    if "config.json" not in names or not any(name.endswith(".safetensors") for name in names):
        found = ", ".join(names[:SHOWN_FILES]) + (", ..." if len(names) > SHOWN_FILES else "")
        raise JudgeUnusable(
            f"{folder} holds {found or 'nothing'}; a config.json and weights as safetensors are expected, since other "
            "files of weights can run code. Download the model whole, or convert its weights."
        )


def model_id(folder: Path) -> str:
    """Name of the folder and a hash of all files that can move an answer; where the folder is, does not show."""
    hasher = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.suffix in READ or path.name == MERGES):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        hasher.update(f"{path.name}\0{content}\0".encode())
    name = os.path.basename(os.path.abspath(folder))
    return f"{name}@sha256:{hasher.hexdigest()[:SHOWN_DIGITS]}"


def picture_settings(folder: Path) -> Mapping[str, Any]:
    """How the model wants its pictures; newer folders keep it together with the settings of text, older ones apart."""
    settings = _settings(folder / "processor_config.json").get("image_processor")
    if settings is None:
        settings = _settings(folder / "preprocessor_config.json")
    if not isinstance(settings, Mapping) or not settings:
        raise JudgeUnusable(
            f"{folder} does not say how its pictures are prepared: expected in processor_config.json or "
            "preprocessor_config.json. Download the model whole; a model of text alone cannot judge videos."
        )
    return settings


def _settings(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_bytes()) if path.is_file() else {}
    except ValueError as error:
        raise JudgeUnusable(f"{path} is no JSON: {error}. Download it again.") from error
    return found if isinstance(found, Mapping) else {}
