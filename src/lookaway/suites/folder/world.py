"""Rollouts of a folder that the simulated world wrote: everything that its cards know."""

from __future__ import annotations

from pathlib import Path

from lookaway.core import ArtifactError, Case, DatasetError, Problem, Rollout, Target
from lookaway.io.world_clips import CARD, WorldClip, clip_folders


def is_world(root: Path) -> bool:
    """Whether there is a clip of the simulated world where it puts them."""
    return next(root.glob(f"clips/*/*/*/{CARD}"), None) is not None


def world_rollouts(root: Path) -> tuple[tuple[Rollout, ...], list[Problem]]:
    """All clips, and those whose card or arrays are not valid or that say what another has said."""
    rollouts: dict[str, Rollout] = {}
    problems = []
    for folder in clip_folders(root):
        where = folder.relative_to(root).as_posix()
        try:
            rollout = _rollout(WorldClip.open(folder))
        except (DatasetError, ArtifactError) as error:
            problems.append(Problem(where=where, message=str(error)))
            continue
        if rollout.id in rollouts:
            problems.append(Problem(where=where, message=f"{rollout.id} stands here a second time; left out"))
            continue
        rollouts[rollout.id] = rollout
    return tuple(rollouts.values()), problems


def _rollout(clip: WorldClip) -> Rollout:
    card = clip.card
    box = card.target_box if any(card.target_box) else None
    case = Case(
        id=card.case,
        subset=card.event,
        scene=f"{card.family}-{card.seed}",
        prompt=card.caption_segments,
        action=clip.timed_action(),
        target=Target(name=card.target.name, attributes=(card.process[1],), box=box),
    )
    phases = {name: getattr(card.phases, name) for name in ("visible", "disappeared", "reappeared")}
    return Rollout(
        case=case,
        model=card.model,
        seed=str(card.take),
        video=clip.video,
        artifacts={"truth": clip.folder / CARD},
        phases=phases,
    )
