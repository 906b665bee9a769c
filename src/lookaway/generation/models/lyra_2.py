"""Lyra-2: poses as world to camera, on a scale of estimated depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from lookaway.core import Floats
from lookaway.generation.adapter import FrameRule, ModelCard, Shell
from lookaway.generation.array_files import npz_bytes
from lookaway.generation.pose_adapter import PoseAdapter
from lookaway.generation.request import CameraRequest, GenerationRequest


class Lyra2(PoseAdapter):
    """Lyra-2."""

    name: ClassVar[str] = "lyra-2"
    card: ClassVar[ModelCard] = ModelCard(
        title="Lyra-2",
        repository="https://github.com/nv-tlabs/lyra",
        commit="9fffc9a",
        licence="Apache-2.0",
        fps=16,
        size=(832, 480),
        frames=FrameRule(first=81, step=80),
        output="first_frame.mp4",
        scale="unknown",
        notes=("Moves are multiplied by 1.1 unless --pose_scale says otherwise; existing files are skipped.",),
    )

    def control_files(self, poses: Floats, camera: CameraRequest, request: GenerationRequest) -> Mapping[str, bytes]:
        """World to camera; without the size, intrinsics would not be scaled."""
        return {
            "control.npz": npz_bytes(
                w2c=np.linalg.inv(poses).astype(np.float32),
                intrinsics=np.tile(camera.intrinsics.astype(np.float32), (len(poses), 1, 1)),
                image_height=np.array(camera.height),
                image_width=np.array(camera.width),
            )
        }

    def command(self, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """One case; the default would take ten of a folder."""
        return [
            *("python", "lyra2_custom_traj_inference.py", "--input_image_path", Shell("${CASE}/first_frame.png")),
            *(
                "--prompt_dir",
                Shell("${CASE}"),
                "--trajectory_path",
                Shell("${CASE}/control.npz"),
                "--num_frames",
                str(frames),
            ),
            *("--pose_scale", "1.0", "--resolution", "480,832", "--num_samples", "1", "--seed", str(seed)),
            *("--output_path", Shell("${OUT}")),
        ]
