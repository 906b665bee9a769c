"""GEN3C: named paths without a way back, in units of the depth of the scene."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from lookaway.core import Floats, UnknownName
from lookaway.generation.adapter import (
    ControlPlan,
    ControlRefusal,
    FrameRule,
    ModelCard,
    Planned,
    Shell,
    judged,
    loss_of,
)
from lookaway.generation.camera_motion import Axis, legs_of
from lookaway.generation.delivered import DeliveredPath
from lookaway.generation.request import GenerationRequest, canonical

FRAMES: Final = 121
LINES: Final[dict[str, tuple[Axis, int]]] = {
    "left": ("right", -1),
    "right": ("right", 1),
    "up": ("up", 1),
    "down": ("up", -1),
    "zoom_in": ("forward", 1),
    "zoom_out": ("forward", -1),
}
CIRCLES: Final = {"clockwise": 1, "counterclockwise": -1}
FACING: Final = "center_facing"
DIRECTIONS: Final = {"right": np.array([1.0, 0, 0]), "up": np.array([0, -1.0, 0]), "forward": np.array([0, 0, 1.0])}


def named_path(trajectory: str, rotation: str, distance: float) -> Floats:
    """[121, 4, 4] of a named path; the last step of a line is left out."""
    if trajectory in CIRCLES:
        angles = np.linspace(0, 2 * np.pi, FRAMES)
        centres = distance * np.column_stack(
            [np.cos(angles) - 1, CIRCLES[trajectory] * np.sin(angles), np.zeros(FRAMES)]
        )
    elif trajectory in LINES:
        axis, sign = LINES[trajectory]
        centres = np.arange(FRAMES)[:, None] / FRAMES * distance * sign * DIRECTIONS[axis]
    else:
        raise UnknownName("trajectory of GEN3C", trajectory, [*LINES, *CIRCLES])
    poses = np.tile(np.eye(4), (FRAMES, 1, 1))
    for pose, centre in zip(poses, centres, strict=True):
        turn = _facing(centre) if rotation == FACING else np.eye(3)
        pose[:3, :3], pose[:3, 3] = turn, turn @ centre  # the model moves along the axes of the turned camera
    return canonical(poses)


def _facing(centre: Floats) -> Floats:
    """Looks at the point one unit ahead of the first camera."""
    forward = np.array([0.0, 0.0, 1.0]) - centre
    forward /= np.linalg.norm(forward)
    right = np.cross([0.0, 1.0, 0.0], forward)
    right /= np.linalg.norm(right)
    return np.column_stack([right, np.cross(forward, right), forward])


class Gen3c:
    """GEN3C."""

    name: ClassVar[str] = "gen3c"
    card: ClassVar[ModelCard] = ModelCard(
        title="GEN3C",
        repository="https://github.com/nv-tlabs/GEN3C",
        commit="db2ffe12ced12ddafcec5e0422ee46ce8520746b",
        licence="Apache-2.0; weights: NVIDIA open model licence",
        fps=24,
        size=(1280, 704),
        frames=FrameRule(first=FRAMES, step=120),
        output="result.mp4",
        scale="unknown",
        notes=("Paths have names, and none returns; `none` is listed but skips the case.",),
    )

    def plan(self, request: GenerationRequest, seed: int) -> Planned:
        """A straight line as long as is asked; everything else is refused with the nearest line."""
        camera = request.camera
        if camera is None:
            return ControlRefusal(message="the case has no camera path, and the model follows a named one.")
        legs = legs_of(camera.camera_to_world)
        moves = [(axis, amount) for leg in legs for axis, amount in leg.amounts.items() if axis in DIRECTIONS]
        if not moves:
            return ControlRefusal(message="the camera only turns, and every named path moves.")
        axis, amount = max(moves, key=lambda move: abs(move[1]))
        name = next(name for name, line in LINES.items() if line == (axis, 1 if amount > 0 else -1))
        facing = FACING if any("yaw" in leg.amounts for leg in legs) else "no_rotation"
        distance = abs(amount) * FRAMES / (FRAMES - 1)
        path = named_path(name, facing, distance)
        at = np.linspace(0, legs[0].stop, FRAMES)
        delivered = DeliveredPath(camera_to_world=path, frame=np.arange(FRAMES), frame_of_request=at)
        words = ["--trajectory", name, "--camera_rotation", facing, "--movement_distance", f"{distance:.6g}"]
        plan = ControlPlan(
            files={"control.txt": f"{' '.join(words)}\n".encode()},
            command=[
                *("python", "cosmos_predict1/diffusion/inference/gen3c_single_image.py", "--checkpoint_dir"),
                *(Shell("${WEIGHTS:?}"), "--input_image_path", Shell("${CASE}/first_frame.png"), "--prompt"),
                *(request.prompt, "--num_video_frames", str(FRAMES), *words, "--seed", str(seed)),
                *("--video_save_folder", Shell("${OUT}"), "--video_save_name", "result"),
            ],
            native=" ".join(words),
            delivered=delivered,
            frames=FRAMES,
            fps=self.card.fps,
            width=1280,
            height=704,
            output=self.card.output,
            loss=loss_of(self.card, camera, delivered, FRAMES, axes=("right", "up", "forward")),
        )
        if len(legs) > 1:
            return ControlRefusal(message="the request changes its direction, and no named path does.", nearest=plan)
        return judged(plan, camera)
