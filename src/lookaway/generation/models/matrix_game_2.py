"""Matrix-Game-2: keyboard and mouse for every frame, without any pose model."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from lookaway.generation.adapter import (
    ControlPlan,
    ControlRefusal,
    FrameRule,
    ModelCard,
    OverlayBoxes,
    Planned,
    Shell,
    loss_of,
)
from lookaway.generation.array_files import npz_bytes
from lookaway.generation.camera_motion import Axis, legs_of
from lookaway.generation.request import GenerationRequest

MOUSE: Final = 0.1
COLUMNS: Final[dict[tuple[Axis, int], int]] = {
    ("forward", 1): 0,
    ("forward", -1): 1,
    ("right", -1): 2,
    ("right", 1): 3,
}
AXES: Final[tuple[Axis, ...]] = ("yaw", "pitch", "right", "forward")


class MatrixGame2:
    """Matrix-Game-2: only when and in which direction the camera moves can be asked for."""

    name: ClassVar[str] = "matrix-game-2"
    card: ClassVar[ModelCard] = ModelCard(
        title="Matrix-Game-2",
        repository="https://github.com/SkyworkAI/Matrix-Game",
        commit="6146d7a",
        licence="MIT",
        fps=12,
        size=(640, 352),
        frames=FrameRule(first=9, step=12),
        output="demo.mp4",
        scale="unknown",
        executable="unknown",
        twins=("demo_icon.mp4", "_icon.mp4", "_current.mp4"),
        overlay=OverlayBoxes(
            width=640,
            height=352,
            boxes=((155, 192, 51, 51), (85, 262, 51, 51), (155, 262, 51, 51), (225, 262, 51, 51), (306, 167, 29, 19)),
        ),
        needs_patch="Actions are random; load keyboard and mouse from control.npz instead.",
        notes=("There is no pose model: how far it turns is not known before it is seen.",),
    )

    def plan(self, request: GenerationRequest, seed: int) -> Planned:
        """The direction of every frame: the mouse is a speed, so that the way back has the other sign."""
        camera = request.camera
        if camera is None:
            return ControlRefusal(message="the case has no camera path, and the model is given keys.")
        frames = self.card.frames.at_least(camera.seconds * self.card.fps + 1)
        keyboard, mouse = np.zeros((frames, 4), np.float32), np.zeros((frames, 2), np.float32)
        at = np.arange(frames) / self.card.fps * camera.fps
        for leg in legs_of(camera.camera_to_world):
            rows = (at >= leg.start) & (at < leg.stop)
            for axis, amount in leg.amounts.items():
                sign = 1 if amount > 0 else -1
                if axis in ("pitch", "yaw"):
                    mouse[rows, 0 if axis == "pitch" else 1] = MOUSE * sign
                elif (axis, sign) in COLUMNS:
                    keyboard[rows, COLUMNS[axis, sign]] = 1
        plan = ControlPlan(
            files={"control.npz": npz_bytes(keyboard=keyboard, mouse=mouse)},
            command=[
                *("python", "inference.py", "--img_path", Shell("${CASE}/first_frame.png"), "--actions"),
                *(Shell("${CASE}/control.npz"), "--num_output_frames", str((frames - 1) // 4 + 1), "--seed"),
                *(str(seed), "--pretrained_model_path", Shell("${WEIGHTS:?}"), "--output_folder", Shell("${OUT}")),
            ],
            native=f"keyboard ({frames}, 4), mouse ({frames}, 2)",
            delivered=None,
            frames=frames,
            fps=self.card.fps,
            width=640,
            height=352,
            output=self.card.output,
            loss=loss_of(self.card, camera, None, frames, axes=AXES),
        )
        if plan.loss.unsupported_axes:
            named = ", ".join(plan.loss.unsupported_axes)
            return ControlRefusal(message=f"the request moves along {named}, which the model cannot.", nearest=plan)
        return plan
