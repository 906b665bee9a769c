"""What the site says about extractors and their weights."""

from __future__ import annotations

import dataclasses
from typing import Any, get_type_hints

from generate.markdown import escaped, paragraphs, table
from generate.metric_pages import Binding, bindings, meaning_of
from lookaway.core import ExtractorBase, plugins
from lookaway.perception.weights import CATALOGUE, Weights


def extractors() -> str:
    """All extractors with their fields."""
    parts = []
    for name in plugins.names("extractors"):
        kind = plugins.load("extractors", name)
        hints = get_type_hints(kind, include_extras=True)
        rows = [
            (f"`{field.name}`", _default(field), escaped(meaning_of(hints[field.name])))
            for field in dataclasses.fields(kind)
        ]
        users = sorted({binding.bound.metric.name for binding in bindings() if f"`{name}` version" in _values(binding)})
        parts += [
            f"## {name} {{ #{name} }}",
            *paragraphs(kind),
            table(
                ("", ""),
                [
                    ("Version", str(kind.version)),
                    ("Software in the lock", _software(kind)),
                    ("Rough cost", f"{kind.seconds_per_frame:g} s and {kind.bytes_per_frame:g} bytes per frame"),
                    ("Used by", ", ".join(f"[{user}](metrics/{user}.md)" for user in users) or "no installed suite"),
                ],
            ),
            table(("Field", "Default", "Meaning"), rows) if rows else "",
            table(("Array", "Type and axes", "Meaning"), [_array(*entry) for entry in kind.arrays.items()]),
        ]
    return "\n\n".join(parts)


def _values(binding: Binding) -> str:
    return " ".join(value for value, _ in binding.constants.values())


def _default(field: dataclasses.Field[Any]) -> str:
    default = field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    if isinstance(default, Weights):
        return f"`{default.name}`"
    return "set by the suite" if default is dataclasses.MISSING else f"`{default}`"


def _software(kind: Any) -> str:
    software = () if kind.software is ExtractorBase.software else kind.software
    if not isinstance(software, tuple):
        return "that of its components"
    return ", ".join(f"`{entry}`" for entry in software) or "none"


def _array(name: str, text: str) -> tuple[str, str, str]:
    kind, _, meaning = text.partition(": ")
    return f"`{name}`", f"`{kind}`", escaped(meaning)


def weights() -> str:
    """All published weights."""
    rows = []
    for name, listing in CATALOGUE.items():
        known = len(listing.sha256) == len(listing.files)
        pinned = "every file" if known else f"{len(listing.sha256)} of {len(listing.files)} files"
        rows.append(
            (
                f"`{name}`",
                escaped(listing.purpose),
                f"{listing.megabytes}",
                escaped(listing.licence),
                escaped(listing.gate),
                f"`{listing.source}`",
                pinned,
            )
        )
    return table(("Weights", "Purpose", "MB", "Licence", "Access", "Source", "Known hashes"), rows)
