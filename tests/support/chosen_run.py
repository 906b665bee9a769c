"""Runs whose rollouts, seeds, scenes, outcomes and locks the test chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookaway.core import Case, Lock, Outcome, Rollout, Score
from lookaway.engine.run import Run
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import RunFolder

STYLE, LIGHT = "mbencha.environment.rendering_style", "mbencha.environment.rendering_lighting"
"""From 0 to 1, higher is better."""
LPIPS = "mind.memory.lpips"
"""Lower is better."""
PSNR = "mind.memory.psnr"
"""In dB, from 0 to 100."""
IDENTITY, GATE = "mbencht.entity.human_identity_consistency", "mbencht.human.trigger"
KINDS = {
    STYLE: "rendering_style",
    LIGHT: "rendering_lighting",
    LPIPS: "lpips",
    PSNR: "psnr",
    IDENTITY: "human_identity",
    GATE: "triggered",
}


@dataclass(frozen=True, kw_only=True)
class Clip:
    """One rollout and what a metric gave for it."""

    metric: str
    case: str
    outcome: Outcome
    model: str = "m"
    seed: str = "0"
    scene: str | None = None
    """By default the case is a scene of its own."""
    subset: str = "environment"


def clips(metric: str, values: Sequence[float], **fields: Any) -> list[Clip]:
    """One scored clip a case; the cases are called c00, c01 and so on."""
    return [Clip(metric=metric, case=f"c{n:02d}", outcome=Score(value), **fields) for n, value in enumerate(values)]


def chosen_run(
    path: Path,
    found: Sequence[Clip],
    *,
    suite: str = "mbench-a",
    constants: Mapping[str, Any] | None = None,
) -> Run:
    """A finished run; `constants` go into the lock of every metric."""
    names = list(dict.fromkeys(clip.metric for clip in found))
    locked = {name: {"metric": {"kind": KINDS.get(name, name), **(constants or {})}} for name in names}
    lock = Lock({"suite": {"name": suite}, "metrics": locked})
    rollouts, measured = {}, []
    for clip in found:
        case = Case(id=clip.case, subset=clip.subset, scene=clip.scene or clip.case)
        rollout = Rollout(case=case, model=clip.model, seed=clip.seed, video=Path(f"{clip.model}/{clip.case}.mp4"))
        rollouts[rollout.id] = rollout
        key = Lock(locked[clip.metric]).sha256
        measured.append(Measured(rollout=rollout.id, content="c", metric=clip.metric, lock=key, outcome=clip.outcome))
    about = {
        "suite": suite,
        "lock_sha256": lock.sha256,
        "metrics": [
            {
                "name": name,
                "lock": Lock(locked[name]).sha256,
                "subsets": sorted({clip.subset for clip in found if clip.metric == name}),
                "is_gate": name == GATE,
            }
            for name in names
        ],
        "problems": [],
    }
    folder = RunFolder(path)
    folder.start(lock, [(rollout, "c") for rollout in rollouts.values()], about)
    folder.add(measured)
    return Run(path)
