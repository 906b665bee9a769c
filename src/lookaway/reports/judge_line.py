"""Which judge a run asked, and in whose words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lookaway.core import Json
from lookaway.engine.run import Run

OWN_WORDING = "own wording"
"""The project holds nobody's text: without a folder of prompts all questions are in its own words."""
SHOWN_CHARACTERS = 16


def judge_lines(run: Run) -> list[str]:
    """The judge of a run with the wording of its questions; nothing where none was asked."""
    requested = run.about.get("requested") or {}
    asked = {f"judge{of}": requested.get(name) for name, of in (("judge", ""), ("gate_judge", " of gates"))}
    return [f"{title} {judge['model']}, {_wording(run, judge)}" for title, judge in asked.items() if judge]


def _wording(run: Run, judge: Mapping[str, Any]) -> str:
    given = judge.get("prompts")
    if not given:
        return OWN_WORDING
    used = set(_prompts(run.lock.entries.get("metrics", {})))
    words = f"prompts of {given['folder']} ({given['sha256'][:SHOWN_CHARACTERS]})"
    return words if used <= set(given["names"]) else f"{words}, the rest in {OWN_WORDING}"


def _prompts(entry: Json) -> Iterator[str]:
    """Names of all prompts in a lock: what is described by a name and a hash alone."""
    if isinstance(entry, Mapping):
        if entry.keys() == {"kind", "name", "sha256"}:
            yield entry["name"]
        for inner in entry.values():
            yield from _prompts(inner)
    elif isinstance(entry, Sequence) and not isinstance(entry, str):
        for inner in entry:
            yield from _prompts(inner)
