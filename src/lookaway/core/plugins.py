"""Finds suites, metrics, extractors, judges, executors and adapters of models by name, of this and other packages."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeAlias

from lookaway.core.errors import NameClash, UnknownName

Kind: TypeAlias = Literal["suites", "metrics", "extractors", "judges", "executors", "adapters"]


def names(kind: Kind) -> list[str]:
    """Names of all installed plugins of this kind, without importing them."""
    return sorted(_offers(kind))


def load(kind: Kind, name: str) -> Any:
    """Import the one plugin of this name."""
    offers = _offers(kind)
    if name not in offers:
        raise UnknownName(kind.removesuffix("s"), name, offers)
    targets = {entry.value: entry for entry in offers[name]}
    if len(targets) > 1:
        raise NameClash(kind.removesuffix("s"), name, (_origin(entry) for entry in offers[name]))
    return next(iter(targets.values())).load()


@cache  # reading the metadata of every installed package takes tens of milliseconds
def _offers(kind: Kind) -> dict[str, list[EntryPoint]]:
    offers: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=f"lookaway.{kind}"):
        offers.setdefault(entry.name, []).append(entry)
    return offers


def _origin(entry: EntryPoint) -> str:
    package = entry.dist.name if entry.dist else "unknown package"
    return f"{package} ({entry.value})"
