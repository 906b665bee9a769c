"""Hunyuan-GameCraft: actions of 33 frames with an amount, of which 32/33 are delivered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np

from lookaway.core import Floats, UserError
from lookaway.generation.adapter import (
    ControlPlan,
    ControlRefusal,
    FrameRule,
    ModelCard,
    Planned,
    Shell,
    judged,
    keyed_legs,
    loss_of,
    picture_size,
)
from lookaway.generation.camera_motion import Axis, Leg, step
from lookaway.generation.delivered import DeliveredPath
from lookaway.generation.request import GenerationRequest

ACTION_FRAMES: Final = 33
SHARE: Final = 32 / 33
"""Part of an amount that is delivered: the last of 34 rows is cut off, and the first one is still."""
MAX_TURN_DEGREES: Final = 90.0
"""In one action."""
UNITS_PER_METRE: Final = 10.0
"""In the poses that are fed to the network."""
KEYS: Final[dict[tuple[Axis, int], str]] = {
    ("forward", 1): "w",
    ("forward", -1): "s",
    ("right", -1): "a",
    ("right", 1): "d",
    ("yaw", -1): "left_rot",
    ("yaw", 1): "right_rot",
    ("pitch", 1): "up_rot",
    ("pitch", -1): "down_rot",
}
AXES: Final[tuple[Axis, ...]] = ("yaw", "pitch", "right", "forward")
Action = tuple[Axis, float]
"""An axis and a signed amount: degrees or metres."""


class GameCraft:
    """Hunyuan-GameCraft."""

    name: ClassVar[str] = "gamecraft"
    card: ClassVar[ModelCard] = ModelCard(
        title="Hunyuan-GameCraft",
        repository="https://github.com/Tencent-Hunyuan/Hunyuan-GameCraft-1.0",
        commit="07afcd4c7c5c6ba90108cf1493c312f7a51b79ac",
        licence="Tencent community licence, not granted in the EU, the UK and South Korea",
        fps=24,
        size=(1216, 704),
        frames=FrameRule(first=ACTION_FRAMES, step=ACTION_FRAMES),
        output="first_frame.mp4",
        notes=(
            "The model is given seed + 1, since its seed 0 is random.",
            "Amounts are multiplied by 33/32, since only 32/33 of each is delivered.",
            "The file is written again after every action: a killed run leaves a valid but shorter one.",
        ),
    )

    def plan(self, request: GenerationRequest, seed: int) -> Planned:
        """One action for each leg and axis; a leg that stands still is an action of amount 0."""
        found = keyed_legs(request)
        if isinstance(found, ControlRefusal):
            return found
        camera, legs = found
        actions, at = _actions(legs)
        path = action_path(actions)
        path[:, :3, 3] /= UNITS_PER_METRE
        frames = len(path)
        delivered = DeliveredPath(camera_to_world=path, frame=np.arange(frames), frame_of_request=at)
        names = [KEYS[axis, -1 if amount < 0 else 1] for axis, amount in actions]
        amounts = [f"{abs(amount):.6g}" for _, amount in actions]
        native = f"--action-list {' '.join(names)} --action-speed-list {' '.join(amounts)}"
        width, height = picture_size(self.card, request)
        plan = ControlPlan(
            files={"control.txt": f"{native}\n".encode()},
            command=[
                *("torchrun", "--nproc_per_node", Shell("${GPUS:-8}"), "hymm_sp/sample_batch.py"),
                *("--image-path", Shell("${CASE}/first_frame.png"), "--image-start", "--prompt", request.prompt),
                *("--ckpt", Shell("${WEIGHTS:?}"), "--video-size", "704", "1216", "--seed", str(seed + 1)),
                *("--action-list", *names, "--action-speed-list", *amounts, "--save-path", Shell("${OUT}")),
            ],
            native=native,
            delivered=delivered,
            frames=frames,
            fps=self.card.fps,
            width=width,
            height=height,
            output=self.card.output,
            loss=loss_of(self.card, camera, delivered, frames, axes=AXES),
        )
        return judged(plan, camera)


def _actions(legs: Sequence[Leg]) -> tuple[list[Action], Floats]:
    actions: list[Action] = []
    at: list[Floats] = []
    for leg in legs:
        parts = [part for axis, amount in leg.amounts.items() if axis in AXES for part in _parts(axis, amount)]
        parts = parts or [("forward", 0.0)]
        bounds = np.linspace(leg.start, leg.stop, len(parts) + 1)
        for (axis, amount), start, stop in zip(parts, bounds[:-1], bounds[1:], strict=True):
            actions.append((axis, amount / SHARE))
            at.append(np.linspace(start, stop, ACTION_FRAMES))
    return actions, np.concatenate(at)


def _parts(axis: Axis, amount: float) -> list[Action]:
    """Several actions where one would turn too far."""
    count = max(1, -int(-abs(amount) // MAX_TURN_DEGREES)) if axis in ("yaw", "pitch") else 1
    return [(axis, amount / count)] * count


def action_path(actions: Sequence[Action]) -> Floats:
    """[33 A, 4, 4] as fed to the network: every action starts still, and its poses are chained."""
    base, poses = np.eye(4), []
    for axis, amount in actions:
        unit = 1.0 if axis in ("yaw", "pitch") else UNITS_PER_METRE
        rows = [base @ step(axis, amount * unit * row / ACTION_FRAMES) for row in range(ACTION_FRAMES)]
        poses += rows
        base = rows[-1]
    return np.array(poses)


def parse_actions(native: str) -> list[Action]:
    """The actions of a command line."""
    words = native.split()
    if words[:1] != ["--action-list"] or "--action-speed-list" not in words:
        raise UserError("GameCraft: expected --action-list NAMES --action-speed-list AMOUNTS.")
    middle = words.index("--action-speed-list")
    meanings = {name: meaning for meaning, name in KEYS.items()}
    return [
        (meanings[name][0], meanings[name][1] * float(amount))
        for name, amount in zip(words[1:middle], words[middle + 1 :], strict=True)
    ]
