"""HY-WorldPlay: poses of latents as JSON, or a string of keys that can never close a path."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import numpy as np

from lookaway.core import Floats, UserError
from lookaway.generation.adapter import FrameRule, ModelCard, OverlayBoxes, Shell
from lookaway.generation.camera_motion import Axis
from lookaway.generation.key_adapter import KeyAdapter, integrated
from lookaway.generation.key_planner import KeyRules, PlannedRun
from lookaway.generation.pose_adapter import PoseAdapter, PoseInput
from lookaway.generation.request import CameraRequest, GenerationRequest

LATENT: Final = 4
LATENTS_MULTIPLE: Final = 4
MOVE, TURN_DEGREES = 0.08, 3.0
KEYS: Final[Mapping[str, tuple[Axis, int]]] = {
    "w": ("forward", 1),
    "s": ("forward", -1),
    "a": ("right", -1),
    "d": ("right", 1),
    "up": ("pitch", 1),
    "down": ("pitch", -1),
    "left": ("yaw", -1),
    "right": ("yaw", 1),
}
CARD: Final = ModelCard(
    title="HY-WorldPlay",
    repository="https://github.com/Tencent-Hunyuan/HY-WorldPlay",
    commit="da2d0c26eb0edb647f56e164ffd966490eb75282",
    licence="Tencent community licence, not granted in the EU, the UK and South Korea",
    fps=24,
    size=(832, 480),
    frames=FrameRule(first=13, step=16),
    output="gen.mp4",
    is_command_read=True,
    twins=("gen_sr.mp4",),
    overlay=OverlayBoxes(width=832, height=480, boxes=((40, 294, 222, 146), (570, 294, 222, 146))),
    notes=("The number of latents must be a multiple of four, of sixteen for the bidirectional model.",),
)


def _command(pose: str, request: GenerationRequest, frames: int, seed: int) -> list[str]:
    return [
        *("torchrun", Shell("--nproc_per_node=${GPUS:-8}"), "hyvideo/generate.py", "--prompt", request.prompt),
        *("--image_path", Shell("${CASE}/first_frame.png"), "--resolution", "480p", "--video_length", str(frames)),
        *("--pose", pose, "--output_path", Shell("${OUT}"), "--model_path", Shell("${WEIGHTS:?}"), "--action_ckpt"),
        *(Shell("${ACTION_WEIGHTS:?}"), "--few_step", "true", "--num_inference_steps", "4", "--model_type", "ar"),
        *("--width", "832", "--height", "480", "--sr", "false", "--rewrite", "false", "--seed", str(seed)),
    ]


class HyWorldPlay(PoseAdapter):
    """HY-WorldPlay with a JSON file of poses, one for each latent."""

    name: ClassVar[str] = "hy-worldplay"
    card: ClassVar[ModelCard] = CARD

    def pose_input(self, camera: CameraRequest, frames: int) -> PoseInput:
        """Latent k is frame 4k."""
        frame = np.arange(0, frames, LATENT)
        seconds = frame / self.card.fps
        rows = np.arange(len(frame))
        return PoseInput(poses=camera.at(seconds), rows=rows, frame=frame, seconds=seconds)

    def control_files(self, poses: Floats, camera: CameraRequest, request: GenerationRequest) -> Mapping[str, bytes]:
        """An object of poses in their order, with intrinsics in pixels; the model centres the principal point."""
        lens = camera.intrinsics.copy()
        lens[0, 2], lens[1, 2] = camera.width / 2, camera.height / 2
        entries = {str(number): {"extrinsic": pose.tolist(), "K": lens.tolist()} for number, pose in enumerate(poses)}
        return {"control.json": json.dumps(entries).encode()}

    def command(self, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """Super-resolution and prompt rewriting are on by default, so both are switched off."""
        return _command(Shell("${CASE}/control.json"), request, frames, seed)


class HyWorldPlayKeys(KeyAdapter):
    """HY-WorldPlay with a string of keys: an odd number of steps, so that no way there and back closes."""

    name: ClassVar[str] = "hy-worldplay-keys"
    card: ClassVar[ModelCard] = ModelCard(
        title="HY-WorldPlay, keys",
        repository=CARD.repository,
        commit=CARD.commit,
        licence=CARD.licence,
        fps=CARD.fps,
        size=CARD.size,
        frames=CARD.frames,
        output=CARD.output,
        is_command_read=True,
        executable="quantised",
        twins=CARD.twins,
        overlay=CARD.overlay,
        notes=(*CARD.notes, "No there-and-back path closes. Prefer hy-worldplay, which is given poses."),
    )
    frames_per_step: ClassVar[int] = LATENT
    rules: ClassVar[KeyRules] = KeyRules(
        quantum={"yaw": TURN_DEGREES, "pitch": TURN_DEGREES, "right": MOVE, "forward": MOVE},
        can_hold=False,
        can_combine=False,
        is_length=lambda steps: (steps + 1) % LATENTS_MULTIPLE == 0,
        steps_per_second=CARD.fps / LATENT,
    )

    def native(self, runs: Sequence[PlannedRun]) -> str:
        """As in `left-20,right-19`."""
        names = {meaning: key for key, meaning in KEYS.items()}
        return ",".join(f"{names[next(iter(run.press.items()))]}-{run.count}" for run in runs)

    def execute(self, native: str) -> Floats:
        """Steps along the axes of the camera, one a latent."""
        steps: list[dict[Axis, float]] = []
        for part in native.split(","):
            key, _, count = part.strip().rpartition("-")
            if key not in KEYS or not count.isdigit():
                raise UserError(f"HY-WorldPlay: {part!r} is not KEY-LATENTS with a key of {', '.join(KEYS)}.")
            axis, sign = KEYS[key]
            steps += [{axis: sign * self.rules.quantum[axis]}] * int(count)
        return integrated(steps)

    def command(self, native: str, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """As with poses."""
        return _command(native, request, frames, seed)
