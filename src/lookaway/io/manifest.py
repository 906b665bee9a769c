"""`manifest.json`: the clips of a rendered set and their hashes."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from lookaway.core import DatasetError
from lookaway.io.clip_card import HashesCard
from lookaway.io.dataset_files import DatasetTree, checked
from lookaway.io.files import write_json
from lookaway.io.world_clips import open_world

MANIFEST: Final = "manifest.json"


class ManifestEntry(BaseModel):
    """One clip."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    """Its folder, relative to the root."""
    case: str
    model: str
    take: int
    hashes: HashesCard


class Manifest(BaseModel):
    """The content of `manifest.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    clips: tuple[ManifestEntry, ...]
    """Sorted by path."""


def write_manifest(root: Path) -> Manifest:
    """Write the manifest of the clips in a folder; equal clips give equal bytes."""
    entries = [
        ManifestEntry(
            path=clip.folder.relative_to(root).as_posix(),
            case=clip.card.case,
            model=clip.card.model,
            take=clip.card.take,
            hashes=clip.card.hashes,
        )
        for clip in open_world(root)
    ]
    manifest = Manifest(clips=tuple(entries))
    write_json(root / MANIFEST, manifest.model_dump(mode="json"))
    return manifest


def read_manifest(root: Path) -> Manifest:
    """The manifest; every path is inside the root and listed once."""
    tree = DatasetTree(root)
    manifest = checked(Manifest, tree.json(MANIFEST), str(root / MANIFEST))
    paths = [entry.path for entry in manifest.clips]
    for path in paths:
        tree.path(path)
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise DatasetError(f"{root / MANIFEST}: {twice} is listed more than once; write the manifest again.")
    return manifest
