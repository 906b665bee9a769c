"""A cache of published weights that a test fills: the layout is the hub's own, the networks are tiny and random."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lookaway.perception.weights import CATALOGUE, WeightFile, Weights
from lookaway.perception.weights.places import URL, hub_cache, hub_home

COMMIT = "5e" * 20


def empty_hub(home: Path, patch: pytest.MonkeyPatch) -> None:
    """Look for published weights in a cache that holds none, and fetch nothing."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        patch.delenv(name, raising=False)
    patch.setenv("HF_HOME", str(home))
    patch.setenv("HF_HUB_OFFLINE", "1")


def put_into_hub(name: str, save: Callable[[Path], Any], commit: str = COMMIT) -> Weights:
    """Save the files of a published network as if they had been fetched; returns them as a recipe holds them."""
    listing = CATALOGUE[name]
    if listing.source.startswith(URL):
        folder = hub_home() / "lookaway"
        folder.mkdir(parents=True, exist_ok=True)
        save(folder)
        return as_saved(name, folder, "")
    repository = hub_cache() / f"models--{listing.source.replace('/', '--')}"
    snapshot, blobs, work = repository / "snapshots" / commit, repository / "blobs", repository / "work"
    for folder in (snapshot, blobs, work, repository / "refs"):
        folder.mkdir(parents=True, exist_ok=True)
    save(work)
    for path in sorted(work.rglob("*")):
        if path.is_file():
            blob = blobs / sha256(path)
            link = snapshot / path.relative_to(work)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            shutil.move(path, blob)
            link.symlink_to(blob)
    shutil.rmtree(work)
    (repository / "refs" / "main").write_text(commit)
    return as_saved(name, snapshot, commit)


def publish(weights: Weights, patch: pytest.MonkeyPatch) -> None:
    """Let the catalogue name the hashes of these files: everything else is as for those that are really published."""
    hashes = {file.name: file.sha256 for file in weights.files}
    listing = replace(CATALOGUE[weights.name], revision=weights.revision, sha256=hashes)
    patch.setitem(CATALOGUE, weights.name, listing)


def as_saved(name: str, folder: Path, revision: str) -> Weights:
    """The files of a folder under the name of published weights, with the hashes that they have."""
    listing = CATALOGUE[name]
    files = tuple(WeightFile(file, sha256(folder / file)) for file in listing.files)
    return Weights(name=name, source=listing.source, revision=revision, files=files)


def sha256(path: Path) -> str:
    """Of a whole file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
