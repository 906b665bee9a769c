"""What a run does not keep of its cases (captions, phases, true videos), read from the dataset once more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lookaway.core import Rollout, UserError
from lookaway.engine.locking import content_key
from lookaway.engine.reading import read
from lookaway.reports.site.gather import SiteRun


@dataclass(frozen=True, slots=True)
class Reread:
    """The rollouts of a run as its dataset describes them now."""

    rollouts: Mapping[str, Rollout] = field(default_factory=dict)
    """By id: those that are still what was measured."""
    changed: frozenset[str] = frozenset()
    """Ids of rollouts whose files or records are not what was measured."""
    problem: str = ""
    """Why nothing could be read."""


def read_again(run: SiteRun) -> Reread:
    """Read the dataset of a run once more, and keep what has the same content as when it was measured."""
    place = run.about.get("dataset")
    if not isinstance(place, str):
        return Reread(problem="the run does not say where its dataset lies.")
    told = run.lock.entries.get("dataset", {}).get("settings", {})
    try:
        dataset = read(Path(place), suite=run.suite, extrinsics_convention=told.get("extrinsics_convention"))
    except (UserError, OSError) as error:
        return Reread(problem=str(error))
    found = {rollout.id: rollout for rollout in dataset.rollouts if rollout.id in run.rollouts}
    same = {name for name, rollout in found.items() if content_key(rollout) == run.rollouts[name].content}
    return Reread({name: found[name] for name in found if name in same}, frozenset(found) - same)
