"""Whether a reward can be won by a video that remembers nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from lookaway.core import UserError
from lookaway.engine.scorer import CasePaths
from lookaway.training.attackers import AttackClip, Frames
from lookaway.training.reward import Reward
from lookaway.world.recipe import PERFECT

HALF_WAY: Final = 0.5
"""How far an attacker may get from the lowest reward to that of a perfect memory: a policy takes the nearest way up."""
OWN: Final = "memory"
"""The reward of this package."""


class RewardFunction(Protocol):
    """A reward as a function, for rewards that are not made of metrics of this package."""

    def __call__(self, frames: Frames, *, fps: float, paths: CasePaths) -> float | None:
        """What uint8 frames [frames, 3, height, width] earn; `None` where that could not be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Earned:
    """What the clips of one attacker, or of a perfect memory, earn."""

    attacker: str
    clips: int
    measured: int
    mean: float | None
    """`None` where nothing is paid."""
    wins: bool
    """Whether it gets more than half of the way to the reward of a perfect memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardCheck:
    """What a perfect memory and each attacker earn; a reward is refused if it pays the former nothing."""

    perfect: Earned
    attackers: tuple[Earned, ...]

    @property
    def winners(self) -> tuple[str, ...]:
        """Attackers that earn more than half of what a perfect memory does, counted from the lowest reward."""
        return tuple(earned.attacker for earned in self.attackers if earned.wins)

    @property
    def is_refused(self) -> bool:
        """Whether the reward should not be trained on."""
        return bool(self.winners) or self.perfect.mean is None

    @property
    def verdict(self) -> str:
        """The result in a sentence."""
        if self.perfect.mean is None:
            return "Refused: it pays nothing for most clips of a perfect memory."
        if self.winners:
            verb = "gets" if len(self.winners) == 1 else "get"
            return (
                f"Refused: {', '.join(self.winners)} {verb} half of the way to a perfect memory or further. A policy "
                "would learn that."
            )
        return "Passed: no attacker gets half of the way to a perfect memory."


def check_reward(
    reward: RewardFunction, clips: Iterable[AttackClip], on_clip: Callable[[], object] = lambda: None
) -> RewardCheck:
    """Pay for every clip and compare attackers with a perfect memory."""
    paid: dict[str, list[float | None]] = {}
    for clip in clips:
        paid.setdefault(clip.attacker, []).append(_finite(reward(clip.frames, fps=clip.fps, paths=clip.paths), clip))
        on_clip()
    values = [value for own in paid.values() for value in own if value is not None]
    perfect = _mean(paid.get(PERFECT, []))
    line = None if perfect is None else (1 - HALF_WAY) * min(values) + HALF_WAY * perfect
    found = tuple(_earned(name, own, line) for name, own in paid.items())
    return RewardCheck(
        perfect=next(earned for earned in found if earned.attacker == PERFECT),
        attackers=tuple(earned for earned in found if earned.attacker != PERFECT),
    )


def load_reward(name: str) -> RewardFunction:
    """The reward of this package, one that a YAML file describes, or a function as `module:name`."""
    if name == OWN:
        return as_function(Reward())
    if name.endswith((".yaml", ".yml")):
        return as_function(Reward.read(Path(name)))
    module, _, attribute = name.partition(":")
    if not attribute:
        raise UserError(
            f"No reward is named {name!r}. Expected {OWN!r}, a file that ends in .yaml, or module:function."
        )
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` has it
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UserError(f"{name} cannot be imported: {error}. Expected module:name, found from here.") from error
    if not callable(found):
        raise UserError(f"{name} is a {type(found).__name__}. Expected a function of frames, fps and paths.")
    return as_function(found) if isinstance(found, Reward) else found


def as_function(reward: Reward) -> RewardFunction:
    """A reward of metrics as the function that is checked."""

    def pay(frames: Frames, *, fps: float, paths: CasePaths) -> float | None:
        return reward(frames, fps=fps, paths=paths).value

    return pay


def _finite(value: float | None, clip: AttackClip) -> float | None:
    if value is None:
        return None
    number = float(value)
    if not np.isfinite(number):
        raise UserError(
            f"The reward of {clip.attacker} on {clip.scene} is {number}. Expected a finite number, or None where "
            "nothing could be measured."
        )
    return number


def _mean(values: list[float | None]) -> float | None:
    """Mean of what is paid; `None` where most clips are paid nothing."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if 2 * len(known) > len(values) else None


def _earned(name: str, values: list[float | None], line: float | None) -> Earned:
    mean = _mean(values)
    wins = name != PERFECT and mean is not None and line is not None and mean >= line
    measured = sum(value is not None for value in values)
    return Earned(attacker=name, clips=len(values), measured=measured, mean=mean, wins=wins)
