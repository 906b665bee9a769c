"""Matrix-Game-3.5: 84 poses for each block of 80 frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import numpy as np

from lookaway.core import Floats
from lookaway.generation.adapter import FrameRule, ModelCard, Shell
from lookaway.generation.array_files import npz_bytes
from lookaway.generation.pose_adapter import PoseAdapter, PoseInput
from lookaway.generation.request import CameraRequest, GenerationRequest, poses_between

BLOCK_FRAMES: Final = 80
BLOCK_POSES: Final = 84
MIN_POSES: Final = 86


class MatrixGame35(PoseAdapter):
    """Matrix-Game-3.5."""

    name: ClassVar[str] = "matrix-game-3.5"
    card: ClassVar[ModelCard] = ModelCard(
        title="Matrix-Game-3.5",
        repository="https://github.com/Riemann-Dynamics/Matrix-Game-3.5",
        commit="fa6d2b6",
        licence="Apache-2.0",
        fps=16,
        size=(1280, 704),
        frames=FrameRule(first=BLOCK_FRAMES, step=BLOCK_FRAMES),
        output="first_person/result/result.mp4",
        first_frame_kept=False,
        twins=("memory_visualization.mp4",),
        notes=("Output frame 80k+j shows pose 84k+1+j; the last four poses of a block have no frame.",),
    )

    def pose_input(self, camera: CameraRequest, frames: int) -> PoseInput:
        """The request at the times of the frames; poses without a frame lie between their neighbours."""
        frame = np.arange(frames)
        rows = BLOCK_POSES * (frame // BLOCK_FRAMES) + 1 + frame % BLOCK_FRAMES
        seconds = (frame + 1) / self.card.fps
        known = np.concatenate([[0], rows])
        at_known = camera.at(np.concatenate([[0.0], seconds]))
        count = max(MIN_POSES, 1 + BLOCK_POSES * (frames // BLOCK_FRAMES))
        poses = poses_between(at_known, np.interp(np.arange(count), known, np.arange(len(known))))
        return PoseInput(poses=poses, rows=rows, frame=frame, seconds=seconds)

    def control_files(self, poses: Floats, camera: CameraRequest, request: GenerationRequest) -> Mapping[str, bytes]:
        """Poses, and intrinsics in pixels of the first frame."""
        return {
            "control.npz": npz_bytes(
                extrinsics_c2w=poses.astype(np.float32), intrinsics=camera.intrinsics.astype(np.float32)
            )
        }

    def command(self, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """The runner with blocks on its command line; unknown flags would be passed on in silence."""
        return [
            *("python", "infer.py", "--person", "first", "--image", Shell("${CASE}/first_frame.png")),
            *("--prompt", request.prompt, "--camera", Shell("${CASE}/control.npz")),
            *("--num-blocks", str(frames // BLOCK_FRAMES), "--seed", str(seed), "--output", Shell("${OUT}")),
            *("--name", "result"),
        ]
