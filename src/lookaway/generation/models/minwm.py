"""minWM: strings of keys, for two of its models and for a fork that can stand still."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

import numpy as np

from lookaway.core import Floats, UserError
from lookaway.generation.adapter import FrameRule, ModelCard, Shell
from lookaway.generation.camera_motion import Axis
from lookaway.generation.key_adapter import KeyAdapter, integrated
from lookaway.generation.key_planner import KeyRules, PlannedRun
from lookaway.generation.request import GenerationRequest

LATENT: Final = 4
MOVE, TURN_DEGREES = 0.08, 3.0
KEYS: Final[Mapping[str, tuple[Axis, int]]] = {
    "w": ("forward", 1),
    "s": ("forward", -1),
    "a": ("right", -1),
    "d": ("right", 1),
    "u": ("up", 1),
    "dn": ("up", -1),
    "j": ("yaw", -1),
    "l": ("yaw", 1),
    "i": ("pitch", 1),
    "k": ("pitch", -1),
}
HOLD: Final = "n"
"""Known to the fork alone."""
PART: Final = re.compile(r"([a-z]+)(?:@(\d+(?:\.\d+)?))?\*(\d+)")
CARD: Final = ModelCard(
    title="minWM HY15",
    repository="https://github.com/shengshu-ai/minWM",
    commit="df522a26cd4409d3e3e8f269cc98eac069b5df47",
    licence="Apache-2.0",
    fps=16,
    size=(832, 480),
    frames=FrameRule(first=13, step=16),
    output="sample_000*.mp4",
    executable="quantised",
    notes=("u and dn are accepted and do nothing; the frame rate is 8 unless --fps says otherwise.",),
)
TURNS_AND_MOVES: Final[Mapping[Axis, float]] = {
    "yaw": TURN_DEGREES,
    "pitch": TURN_DEGREES,
    "right": MOVE,
    "forward": MOVE,
}


def minwm_path(native: str, *, moves_up: bool = False) -> Floats:
    """[N+1, 4, 4] of a string of keys; `j@2.5*8` is eight steps of two and a half times the size."""
    steps: list[dict[Axis, float]] = []
    for part in native.split(",") if native else ():
        match = PART.fullmatch(part.strip())
        if match is None or (match[1] not in KEYS and match[1] != HOLD):
            raise UserError(f"minWM: {part!r} is not KEY*LATENTS with a key of {', '.join(KEYS)}.")
        if match[1] == HOLD or (match[1] in ("u", "dn") and not moves_up):
            steps += [{}] * int(match[3])
            continue
        axis, sign = KEYS[match[1]]
        size = TURN_DEGREES if axis in ("yaw", "pitch") else MOVE
        steps += [{axis: sign * size * float(match[2] or 1)}] * int(match[3])
    return integrated(steps)


class MinWmHy15(KeyAdapter):
    """minWM on HunyuanVideo-1.5: a string that is shorter than the video is held at its end."""

    name: ClassVar[str] = "minwm-hy15"
    card: ClassVar[ModelCard] = CARD
    frames_per_step: ClassVar[int] = LATENT
    rules: ClassVar[KeyRules] = KeyRules(
        quantum=TURNS_AND_MOVES,
        can_hold=False,
        can_combine=False,
        is_length=lambda steps: True,
        steps_per_second=CARD.fps / LATENT,
    )

    def native(self, runs: Sequence[PlannedRun]) -> str:
        """As in `j*20,l*20`."""
        names = {meaning: key for key, meaning in KEYS.items()}
        return ",".join(f"{names[next(iter(run.press.items()))] if run.press else HOLD}*{run.count}" for run in runs)

    def execute(self, native: str) -> Floats:
        """The string, then its last pose until the number of latents is a multiple of four."""
        poses = minwm_path(native)
        return np.concatenate([poses, np.repeat(poses[-1:], -len(poses) % 4, axis=0)])

    def control_files(self, native: str, request: GenerationRequest) -> Mapping[str, bytes]:
        """A list of one item, whose image run.sh puts beside it."""
        item = {"id": 0, "image": "first_frame.png", "caption": request.prompt, "trajectory": native}
        return {"control.json": json.dumps([item], ensure_ascii=False, indent=1).encode()}

    def command(self, native: str, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """One item a process, so that names by index cannot collide."""
        return [
            *("python", "HY15/hy15_inference.py", "--example_json", Shell("${CASE}/control.json"), "--use_camera"),
            *("--video_length", str(frames), "--fps", "16", "--seed", str(seed), "--model_path"),
            *(Shell("${WEIGHTS:?}"), "--output_path", Shell("${OUT}")),
        ]


class MinWmWan(MinWmHy15):
    """minWM on Wan 2.1: text to video only, and no way there and back closes."""

    name: ClassVar[str] = "minwm-wan"
    card: ClassVar[ModelCard] = replace(
        CARD,
        title="minWM Wan",
        output="*.mp4",
        first_frame_kept=False,
        notes=("Text to video only: the first frame of the case does not reach it.",),
    )
    rules: ClassVar[KeyRules] = replace(
        MinWmHy15.rules,
        quantum={**TURNS_AND_MOVES, "up": MOVE},
        is_length=lambda steps: (steps + 1) % 4 == 0,
    )

    def execute(self, native: str) -> Floats:
        """The string as it is."""
        return minwm_path(native, moves_up=True)

    def control_files(self, native: str, request: GenerationRequest) -> Mapping[str, bytes]:
        """A line of keys and a line of text."""
        return {"control.txt": f"{native}\n".encode(), "prompts.txt": f"{request.prompt}\n".encode()}

    def command(self, native: str, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """One line a process."""
        return [
            *("python", "Wan21/inference.py", "--data_path", Shell("${CASE}/prompts.txt"), "--trajectory_path"),
            *(Shell("${CASE}/control.txt"), "--num_output_frames", str((frames - 1) // LATENT + 1)),
            *("--seed", str(seed), "--checkpoint_path", Shell("${WEIGHTS:?}"), "--output_folder", Shell("${OUT}")),
        ]


class MinWmFork(MinWmWan):
    """A fork of minWM whose strings can stand still."""

    name: ClassVar[str] = "minwm-fork"
    card: ClassVar[ModelCard] = replace(
        MinWmWan.card,
        title="minWM Wan, fork with holds",
        repository="https://github.com/hhhjyz/minWM",
        commit="a3e10e0ac1588efdba809f4f56d025396c605446",
    )
    rules: ClassVar[KeyRules] = replace(MinWmWan.rules, can_hold=True)
