"""Weights as a recipe holds them: by the hash of every file, so that no other weights can take their place."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from lookaway.core import Abstention, Reason, UnknownName, Unmeasurable
from lookaway.perception.weights.catalogue import CATALOGUE, Listing
from lookaway.perception.weights.places import folder_of, latest_revision


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file of a network."""

    name: str
    sha256: str
    """Whole, or its beginning where no more is published; empty where the file is not on this machine."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The files of a network, by what they hash to; where they lie is not part of it."""

    name: Annotated[str, "as `lookaway weights list` names them"]
    source: Annotated[str, "repository of the Hugging Face hub, address of the file, or package that carries it"]
    revision: Annotated[str, "commit of the repository"]
    files: Annotated[tuple[WeightFile, ...], "every file that is loaded, with its SHA-256"]

    def place(self) -> Path | None:
        """The folder in which the files lie or would lie; `None` where there is none yet."""
        return folder_of(self.source, self.revision)

    def declines(self) -> Abstention | None:
        """Why they cannot be loaded, as far as names of files tell."""
        folder = self.place()
        missing = [file.name for file in self.files if folder is None or not (folder / file.name).is_file()]
        if not missing:
            return None
        return Abstention(
            Reason.MISSING_WEIGHTS,
            f"the weights {self.name} are not on this machine ({missing[0]} is missing). "
            f"Fetch them with: lookaway weights fetch {self.name}",
        )

    def folder(self) -> Path:
        """The folder of the files, each of which was read and has its hash; or an `Unmeasurable`."""
        if (declined := self.declines()) is not None:
            raise Unmeasurable(declined.reason, declined.message)
        folder = self.place()
        assert folder is not None  # noqa: S101 - where it is, it has been found above
        for file in self.files:
            found = hash_of(folder / file.name)
            if not file.sha256 or not found.startswith(file.sha256):
                expected = f"begins with {file.sha256}" if file.sha256 else "was to be found when the run was planned"
                raise Unmeasurable(
                    Reason.WRONG_WEIGHTS,
                    f"{file.name} of the weights {self.name} has the SHA-256 {found}, expected {expected}. "
                    f"Nothing was loaded. Fetch them again with: lookaway weights fetch {self.name} --force",
                )
        return folder

    def file(self, name: str) -> Path:
        """One file, after all were found to be what they should be."""
        return self.folder() / name


def published(name: str) -> Weights:
    """The weights of a name in the catalogue, with the hashes of what is on this machine where none are published."""
    if name not in CATALOGUE:
        raise UnknownName("published weights", name, CATALOGUE)
    listing = CATALOGUE[name]
    revision = listing.revision or latest_revision(listing.source)
    folder = folder_of(listing.source, revision)
    files = tuple(WeightFile(file, _expected(listing, folder, file)) for file in listing.files)
    return Weights(name=name, source=listing.source, revision=revision, files=files)


def hash_of(path: Path) -> str:
    """SHA-256 of a file, read whole; once in a process while it does not change."""
    found = path.stat()
    return _hash_of(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=256)
def _hash_of(path: Path, changed: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _expected(listing: Listing, folder: Path | None, name: str) -> str:
    if name in listing.sha256:
        return listing.sha256[name]
    path = None if folder is None else folder / name
    if path is None or not path.is_file():
        return ""
    # The hub's cache names a large file by its hash. It is believed here, and read and compared before it is loaded.
    blob = path.resolve().name
    return blob if re.fullmatch("[0-9a-f]{64}", blob) else hash_of(path)
