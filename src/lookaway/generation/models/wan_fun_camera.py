"""Wan-Fun Camera, and others that read the text files of CameraCtrl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from lookaway.core import Floats, UserError
from lookaway.generation.adapter import FrameRule, ModelCard, Shell
from lookaway.generation.pose_adapter import PoseAdapter
from lookaway.generation.request import CameraRequest, GenerationRequest, canonical


class WanFunCamera(PoseAdapter):
    """Wan-Fun with a camera."""

    name: ClassVar[str] = "wan-fun-camera"
    card: ClassVar[ModelCard] = ModelCard(
        title="Wan-Fun Camera, CameraCtrl text",
        repository="https://github.com/aigc-apps/VideoX-Fun",
        commit="804a4258e2608f855ccaec8fffa279e75a3b89c6",
        licence="Apache-2.0",
        fps=16,
        size=(832, 480),
        frames=FrameRule(first=5, step=4),
        output="00000001.mp4",
        needs_patch="The published script has no command line: set its variables from those of run.sh.",
        notes=("Files are named by order, so that every case has a folder of its own.",),
    )

    def control_files(self, poses: Floats, camera: CameraRequest, request: GenerationRequest) -> Mapping[str, bytes]:
        """A header, which is skipped, then 19 numbers a line: intrinsics by the size, and world to camera."""
        lens = camera.intrinsics_for(1, 1)
        lines = [request.case.id.replace("\n", " ")]
        for number, pose in enumerate(np.linalg.inv(poses)):
            numbers = [lens[0, 0], lens[1, 1], lens[0, 2], lens[1, 2], 0, 0, *pose[:3].ravel()]
            lines.append(" ".join([str(number), *(f"{float(value):.9g}" for value in numbers)]))
        return {"control.txt": ("\n".join(lines) + "\n").encode()}

    def command(self, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """Variables for a copy of the script."""
        return [
            *("env", Shell("control_camera_txt=${CASE}/control.txt"), Shell("start_image=${CASE}/first_frame.png")),
            *(Shell("save_path=${OUT}"), f"video_length={frames}", "sample_size=480,832", f"seed={seed}", "fps=16"),
            *(f"prompt={request.prompt}", "python", Shell("${SCRIPT:?}")),
        ]


def camera_text_path(text: str) -> Floats:
    """[N, 4, 4] camera to world of such a file, relative to its first pose."""
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    if not rows or any(len(row) != 19 for row in rows):
        raise UserError("CameraCtrl: expected a header and lines of 19 numbers.")
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3] = np.array([[float(number) for number in row[7:]] for row in rows]).reshape(-1, 3, 4)
    return canonical(np.linalg.inv(poses))
