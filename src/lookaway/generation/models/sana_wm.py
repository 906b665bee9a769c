"""SANA-WM: poses, of which the first has no frame when the refiner is on; and its key language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import numpy as np

from lookaway.core import Floats, UserError
from lookaway.generation.adapter import FrameRule, ModelCard, OverlayBoxes, Shell
from lookaway.generation.array_files import npy_bytes
from lookaway.generation.camera_motion import Axis
from lookaway.generation.key_adapter import KeyAdapter
from lookaway.generation.key_planner import KeyRules, PlannedRun
from lookaway.generation.pose_adapter import PoseAdapter, PoseInput
from lookaway.generation.request import CameraRequest, GenerationRequest

OVERLAY: Final = OverlayBoxes(
    width=1280, height=704, boxes=((17, 531, 222, 158), (253, 531, 158, 158)), is_proportional=True
)
MOVE, TURN_DEGREES = 0.025, 0.6
"""What a key does in a frame by default."""
PRESS_SECONDS, RELEASE_SECONDS, RATE = 0.45, 1.0, 16.0
MAX_PITCH_DEGREES: Final = 60.0
KEYS: Final[Mapping[str, tuple[Axis, int]]] = {
    "w": ("forward", 1),
    "s": ("forward", -1),
    "a": ("yaw", -1),
    "d": ("yaw", 1),
    "j": ("right", -1),
    "l": ("right", 1),
    "i": ("pitch", 1),
    "k": ("pitch", -1),
}
"""a and d turn here, and j and l move sideways: the other way round than elsewhere."""
SWITCHES: Final = ("--no_action_overlay", "--name", "result")


class SanaWm(PoseAdapter):
    """SANA-WM with poses, the exact way."""

    name: ClassVar[str] = "sana-wm"
    card: ClassVar[ModelCard] = ModelCard(
        title="SANA-WM",
        repository="https://github.com/NVlabs/Sana",
        commit="5498e5b2070ef8c808ee7eab7f7c7707b53cd8ea",
        licence="Apache-2.0",
        fps=16,
        size=(1280, 704),
        frames=FrameRule(first=8, step=8),
        output="result_generated.mp4",
        first_frame_kept=False,
        twins=("_stage1_generated.mp4",),
        overlay=OVERLAY,
        notes=("The refiner drops the first frame: output frame f shows pose f + 1.",),
    )

    def pose_input(self, camera: CameraRequest, frames: int) -> PoseInput:
        """One pose more than frames; the first one is that of the picture, which is not in the output."""
        seconds = np.arange(frames + 1) / self.card.fps
        rows = np.arange(1, frames + 1)
        return PoseInput(poses=camera.at(seconds), rows=rows, frame=rows - 1, seconds=seconds[rows])

    def control_files(self, poses: Floats, camera: CameraRequest, request: GenerationRequest) -> Mapping[str, bytes]:
        """Poses, and intrinsics in pixels of the first frame: without them another network guesses."""
        return {
            "control.npy": npy_bytes(poses.astype(np.float32)),
            "intrinsics.npy": npy_bytes(camera.intrinsics.astype(np.float32)),
        }

    def command(self, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """The overlay is on by default, and the prompt is a file."""
        return [
            *("python", "inference_video_scripts/wm/inference_sana_wm.py", "--image", Shell("${CASE}/first_frame.png")),
            *("--prompt", Shell("${CASE}/prompt.txt"), "--camera", Shell("${CASE}/control.npy")),
            *("--intrinsics", Shell("${CASE}/intrinsics.npy"), "--num_frames", str(frames + 1), "--fps", "16"),
            *("--seed", str(seed), "--output_dir", Shell("${OUT}"), *SWITCHES),
        ]


class SanaWmKeys(KeyAdapter):
    """SANA-WM with its key language, in which a camera that is let go coasts: there is no way to stand still."""

    name: ClassVar[str] = "sana-wm-keys"
    card: ClassVar[ModelCard] = ModelCard(
        title="SANA-WM, keys",
        repository=SanaWm.card.repository,
        commit=SanaWm.card.commit,
        licence="Apache-2.0",
        fps=16,
        size=(1280, 704),
        frames=FrameRule(first=8, step=8),
        output="result_generated.mp4",
        first_frame_kept=False,
        executable="quantised",
        twins=SanaWm.card.twins,
        overlay=OVERLAY,
        notes=("`none` does not hold: speed fades within a second. Prefer sana-wm, which is given poses.",),
    )
    dropped: ClassVar[int] = 1
    rules: ClassVar[KeyRules] = KeyRules(
        quantum={"yaw": TURN_DEGREES, "pitch": TURN_DEGREES, "right": MOVE, "forward": MOVE},
        can_hold=False,
        can_combine=True,
        is_length=lambda steps: steps % 8 == 0,
        steps_per_second=RATE,
    )

    def native(self, runs: Sequence[PlannedRun]) -> str:
        """Keys and frames, as in `la-100,none-20`."""
        letters = {meaning: letter for letter, meaning in KEYS.items()}
        return ",".join(
            f"{''.join(letters[axis, sign] for axis, sign in run.press.items())}-{run.count}" for run in runs
        )

    def execute(self, native: str) -> Floats:
        """The path with default speeds."""
        return sana_path(native)

    def command(self, native: str, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """As with poses, with `--action` instead."""
        return [
            *("python", "inference_video_scripts/wm/inference_sana_wm.py", "--image", Shell("${CASE}/first_frame.png")),
            *(
                "--prompt",
                Shell("${CASE}/prompt.txt"),
                "--action",
                native,
                "--num_frames",
                str(frames + 1),
                "--fps",
                "16",
            ),
            *("--seed", str(seed), "--output_dir", Shell("${OUT}"), *SWITCHES),
        ]


def sana_path(native: str, turn_degrees: float = TURN_DEGREES, move: float = MOVE) -> Floats:
    """[N+1, 4, 4] of a text of keys: speed snaps to a new key, and fades when none is held."""
    top = {"yaw": turn_degrees, "pitch": turn_degrees, "right": move, "forward": move}
    speed: dict[str, float] = dict.fromkeys(top, 0.0)
    held_before: dict[Axis, int] = {}
    yaw = pitch = 0.0
    poses: list[Floats] = [np.eye(4)]
    for held, frames in _parsed(native):
        for _ in range(frames):
            for axis, full in top.items():
                goal = full * held.get(axis, 0)  # type: ignore[call-overload]
                if goal and held_before.get(axis, 0) != held[axis]:  # type: ignore[index,call-overload]
                    speed[axis] = goal
                else:
                    tau = PRESS_SECONDS if goal else RELEASE_SECONDS
                    speed[axis] = goal + (speed[axis] - goal) * float(np.exp(-1 / (RATE * tau)))
            held_before = held
            yaw += speed["yaw"]
            pitch = float(np.clip(pitch + speed["pitch"], -MAX_PITCH_DEGREES, MAX_PITCH_DEGREES))
            poses.append(_upright(yaw, pitch, poses[-1][:3, 3], speed["right"], speed["forward"]))
    return np.array(poses)


def _upright(yaw: float, pitch: float, before: Floats, right: float, forward: float) -> Floats:
    """Turned about the vertical, then moved on the ground along the new heading."""
    a, b = np.radians([yaw, pitch])
    about_y = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    pose = np.eye(4)
    pose[:3, :3] = about_y @ about_x
    pose[:3, 3] = before + about_y @ np.array([right, 0.0, forward])
    return pose


def _parsed(native: str) -> list[tuple[dict[Axis, int], int]]:
    found = []
    for part in native.split(","):
        keys, _, count = part.strip().rpartition("-")
        if not keys or not count.isdigit() or (keys != "none" and any(key not in KEYS for key in keys)):
            raise UserError(f"SANA-WM: {part!r} is not KEYS-FRAMES with keys of {''.join(KEYS)} or none.")
        found.append((dict(KEYS[key] for key in keys) if keys != "none" else {}, int(count)))
    return found
