"""LingBot-World: poses of which every fourth is read, translations divided by the largest step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np

from lookaway.core import Floats
from lookaway.generation.adapter import FrameRule, ModelCard, OverlayBoxes, Shell
from lookaway.generation.array_files import npy_bytes
from lookaway.generation.pose_adapter import PoseAdapter, PoseInput
from lookaway.generation.request import CameraRequest, GenerationRequest, poses_between

INTRINSICS_SIZE: Final = (832, 480)
"""Intrinsics are in pixels of this size, whatever `--size` is."""
LATENT: Final = 4


class LingBotWorld(PoseAdapter):
    """LingBot-World."""

    name: ClassVar[str] = "lingbot-world"
    card: ClassVar[ModelCard] = ModelCard(
        title="LingBot-World",
        repository="https://github.com/Robbyant/lingbot-world",
        commit="6ca87d4ca37972292d577840d6300671b048ef3b",
        licence="Apache-2.0",
        fps=16,
        size=(832, 480),
        frames=FrameRule(first=5, step=4),
        output="result.mp4",
        is_command_read=True,
        scale="normalised",
        overlay=OverlayBoxes(
            width=832, height=480, boxes=((50, 330, 130, 130), (652, 330, 130, 130))
        ),  # later commits can draw keys
        notes=("Only the shape of a translation reaches the model: all steps are divided by the largest one.",),
    )

    def pose_input(self, camera: CameraRequest, frames: int) -> PoseInput:
        """A pose for each frame, of which the model reads every fourth."""
        seconds = np.arange(frames) / self.card.fps
        rows = np.arange(0, frames, LATENT)
        return PoseInput(poses=camera.at(seconds), rows=rows, frame=rows, seconds=seconds[rows])

    def control_files(self, poses: Floats, camera: CameraRequest, request: GenerationRequest) -> Mapping[str, bytes]:
        """`poses.npy`, and `intrinsics.npy` in pixels of 832x480."""
        lens = camera.intrinsics_for(*INTRINSICS_SIZE)
        row = np.array([lens[0, 0], lens[1, 1], lens[0, 2], lens[1, 2]], np.float32)
        return {
            "control/poses.npy": npy_bytes(poses.astype(np.float32)),
            "control/intrinsics.npy": npy_bytes(np.tile(row, (len(poses), 1))),
        }

    def command(self, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """One process for each case; the prompt is always given, since there is a built-in one."""
        return [
            *(
                "torchrun",
                Shell("--nproc_per_node=${GPUS:-8}"),
                "generate.py",
                "--task",
                "i2v-A14B",
                "--size",
                "480*832",
            ),
            *(
                "--ckpt_dir",
                Shell("${WEIGHTS:?}"),
                "--image",
                Shell("${CASE}/first_frame.png"),
                "--action_path",
                Shell("${CASE}/control"),
            ),
            *("--dit_fsdp", "--t5_fsdp", "--ulysses_size", Shell("${GPUS:-8}"), "--frame_num", str(frames)),
            *("--prompt", request.prompt, "--save_file", Shell("${OUT}/result.mp4"), "--base_seed", str(seed)),
        ]


def frames_made(poses: int, frame_num: int = 161) -> int:
    """How many frames the model makes of a file of poses; longer ones are cut without a word."""
    return min(frame_num, LATENT * ((poses - 1) // LATENT) + 1)


def latent_path(poses: Floats) -> Floats:
    """[L, 4, 4] the poses that are read, as the model interpolates them."""
    frames = LATENT * ((len(poses) - 1) // LATENT) + 1
    return poses_between(poses, np.linspace(0, len(poses) - 1, (frames - 1) // LATENT + 1))


def network_input(latents: Floats) -> Floats:
    """[L, 4, 4] what the network is given: each pose relative to the one before, moves divided by the longest."""
    steps = np.concatenate([np.eye(4)[None], np.linalg.inv(latents[:-1]) @ latents[1:]])
    longest = float(np.linalg.norm(steps[:, :3, 3], axis=1).max())
    if longest > 0:
        steps[:, :3, 3] /= longest
    return np.asarray(steps)
