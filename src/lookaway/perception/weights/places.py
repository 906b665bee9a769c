"""Where weights lie on this machine: in the cache of the Hugging Face hub, beside it, or inside a package."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

PACKAGE, URL = "package:", "https://"
"""How a source begins that is neither."""


def hub_cache() -> Path:
    """The cache of the Hugging Face hub, as its own tools find it."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    return hub_home() / "hub"


def hub_home() -> Path:
    """The folder of the Hugging Face tools."""
    if os.environ.get("HF_HOME"):
        return Path(os.environ["HF_HOME"]).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface"


def folder_of(source: str, revision: str) -> Path | None:
    """The folder in which the files of a source lie or would lie; `None` where it has none yet."""
    if source.startswith(PACKAGE):
        return _package_folder(source.removeprefix(PACKAGE))
    if source.startswith(URL):
        return hub_home() / "lookaway"
    return _repository(source) / "snapshots" / revision if revision else None


def latest_revision(source: str) -> str:
    """The revision that the cache knows as the newest; empty where it knows none, or the source has none."""
    if source.startswith((PACKAGE, URL)):
        return ""
    try:
        return (_repository(source) / "refs" / "main").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _repository(source: str) -> Path:
    return hub_cache() / f"models--{source.replace('/', '--')}"


def fetched_package(pin: str) -> Path:
    """Where the files of a package lie or would lie that was fetched for its weights alone."""
    return hub_home() / "lookaway" / pin.replace("==", "-")


def _package_folder(pin: str) -> Path:
    fetched = fetched_package(pin)
    name, _, version = pin.partition("==")
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        return fetched
    return fetched if fetched.is_dir() or installed.version != version else Path(str(installed.locate_file("")))
