"""What a reader of a table should know about its scenes: too few, or a new one for every seed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lookaway.core import Estimate
from lookaway.reports.numbers import amount
from lookaway.statistics.scene_bootstrap import MIN_SCENES

RARE_FAILURES_BELOW = 20
"""Fewer scenes often hold no example of what goes wrong in one scene out of ten."""
WEIGHTING = "every rollout counts once; 95 % intervals over scenes"
SEED = re.compile(r"[^a-z0-9]*seed[^a-z0-9]?[0-9]+", re.IGNORECASE)
"""A seed as part of a scene's name: `kitchen_seed3`."""
SAME_SCENE = "If seeds show the same scene, intervals are too narrow: give their rollouts one scene name."


def few_scene_notes(estimates: Iterable[Estimate | None], what: str = "cell") -> list[str]:
    """Notes on the estimates that rest on few scenes; each is counted in one of them.

    >>> few_scene_notes([Estimate(mean=1.0, low=0.8, high=1.0, scored=12, scenes=12)])[0][:46]
    '1 of 1 cell has fewer than 20 scenes: rare fai'
    """
    scenes = [estimate.scenes for estimate in estimates if estimate is not None]
    notes = []
    if few := sum(MIN_SCENES <= count < RARE_FAILURES_BELOW for count in scenes):
        notes.append(
            f"{few} of {amount(len(scenes), what)} {'has' if few == 1 else 'have'} fewer than {RARE_FAILURES_BELOW} "
            "scenes: rare failures may be missing from these scenes, and the interval cannot show that."
        )
    if fewest := sum(count < MIN_SCENES for count in scenes):
        notes.append(
            f"{fewest} of {amount(len(scenes), what)} {'has' if fewest == 1 else 'have'} fewer than {MIN_SCENES} "
            "scenes: the mean of each scene is shown instead of an interval, and rare failures may be missing."
        )
    return notes


class SceneOfRollout(NamedTuple):
    """Which scene one rollout of a model shows, and with which seed it was generated."""

    model: str
    scene: str
    seed: str


def seed_scene_notes(rollouts: Iterable[SceneOfRollout]) -> list[str]:
    """Notes on models whose scenes are unique per seed: seeds of one scene would count as so many scenes.

    >>> seed_scene_notes([SceneOfRollout("a", "room 1", "1"), SceneOfRollout("a", "room 2", "2")])[0][:62]
    'Every rollout of a has a scene of its own, although there are '
    """
    models: dict[str, list[SceneOfRollout]] = defaultdict(list)
    for rollout in rollouts:
        models[rollout.model].append(rollout)
    alone = [model for model, own in models.items() if _is_alone(own)]
    named = [model for model, own in models.items() if model not in alone and _has_seeds_in_names(own)]
    notes = []
    if alone:
        names = ", ".join(alone)
        notes.append(f"Every rollout of {names} has a scene of its own, although there are several seeds. {SAME_SCENE}")
    if named:
        notes.append(f"The scenes of {', '.join(named)} have seeds in their names. {SAME_SCENE}")
    return notes


def _is_alone(rollouts: Sequence[SceneOfRollout]) -> bool:
    scenes = {rollout.scene for rollout in rollouts}
    return len(scenes) == len(rollouts) and len({rollout.seed for rollout in rollouts}) > 1


def _has_seeds_in_names(rollouts: Sequence[SceneOfRollout]) -> bool:
    scenes = {rollout.scene for rollout in rollouts}
    return len({SEED.sub("", scene) for scene in scenes}) < len(scenes)
