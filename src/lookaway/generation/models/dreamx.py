"""DreamX-World: segments with speeds (5B-Cam), or with shares of the time at a fixed speed (AR)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Floats
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
)
from lookaway.generation.camera_motion import Axis, Leg
from lookaway.generation.delivered import DeliveredPath
from lookaway.generation.key_adapter import KeyAdapter
from lookaway.generation.key_planner import KeyRules, PlannedRun
from lookaway.generation.request import CameraRequest, GenerationRequest

KEYS: Final[Mapping[str, tuple[Axis, int]]] = {
    "w": ("forward", 1),
    "s": ("forward", -1),
    "a": ("right", -1),
    "d": ("right", 1),
    "i": ("pitch", 1),
    "k": ("pitch", -1),
    "j": ("yaw", -1),
    "l": ("yaw", 1),
}
NAMES: Final = {meaning: key for key, meaning in KEYS.items()}
AXES: Final[tuple[Axis, ...]] = ("yaw", "pitch", "right", "forward")
SPEED_DEGREES, SPEED_UNITS = 10.0, 1.0
"""What a segment of speed 1 does in all (5B-Cam)."""
FRAME_DEGREES, FRAME_UNITS = 1.5, 0.075
"""What every frame does (AR)."""
CARD: Final = ModelCard(
    title="DreamX-World 5B-Cam",
    repository="https://github.com/AMAP-ML/DreamX-World",
    commit="a1f4c6e5e45600718e5236955f2e0702e53fc275",
    licence="Apache-2.0",
    fps=16,
    size=(1280, 704),
    frames=FrameRule(first=5, step=4),
    output="result.mp4",
    notes=("The last steps of the last segment are cut off, so its speed is raised by as much.",),
)


def speed_path(segments: Sequence[str], speeds: Sequence[float], frames: int) -> Floats:
    """[F, 4, 4] of 5B-Cam: each segment turns and moves along its first heading, and the end is cut."""
    length = -(-frames // len(segments))
    poses = [np.eye(4)]
    for keys, speed in zip(segments, speeds, strict=True):
        start = poses[-1]
        totals = _totals(keys, speed * SPEED_DEGREES, speed * SPEED_UNITS)
        for row in range(1, length + 1):
            pose = start.copy()
            pose[:3, :3] = start[:3, :3] @ _turn(totals["yaw"] * row / length, totals["pitch"] * row / length)
            pose[:3, 3] += start[:3, :3] @ np.array([totals["right"], 0, totals["forward"]]) * row / length
            poses.append(pose)
    return np.array(poses[:frames])


def last_gain(segments: int, frames: int) -> float:
    """By how much the speed of the last segment is raised, since its last steps are cut off."""
    length = -(-frames // segments)
    lost = segments * length - (frames - 1)
    return length / (length - lost)


def share_path(segments: Sequence[str], shares: Sequence[float], frames: int) -> Floats:
    """[F, 4, 4] of AR: fixed steps, of which the first is taken before the first pose."""
    counts = [int(round(frames * share / sum(shares), 9)) for share in shares]
    counts[-1] = frames - sum(counts[:-1])
    yaw = pitch = 0.0
    centre, poses = np.zeros(3), []
    for keys, count in zip(segments, counts, strict=True):
        steps = _totals(keys, FRAME_DEGREES, FRAME_UNITS)
        for _ in range(count):
            yaw, pitch = yaw + steps["yaw"], pitch + steps["pitch"]
            pose = np.eye(4)
            pose[:3, :3] = _turn(yaw, pitch)
            centre = centre + _turn(yaw, 0.0) @ np.array([steps["right"], 0, steps["forward"]])
            pose[:3, 3] = centre
            poses.append(pose)
    return np.linalg.inv(poses[0]) @ np.array(poses)


def _totals(keys: str, turn: float, move: float) -> dict[Axis, float]:
    found: dict[Axis, float] = dict.fromkeys(AXES, 0.0)
    for key in keys.strip():
        axis, sign = KEYS[key]
        found[axis] += sign * (turn if axis in ("yaw", "pitch") else move)
    return found


def _turn(yaw: float, pitch: float) -> Floats:
    return np.asarray(Rotation.from_euler("YX", [yaw, pitch], degrees=True).as_matrix())


class DreamXCam:
    """DreamX-World 5B-Cam."""

    name: ClassVar[str] = "dreamx-5b-cam"
    card: ClassVar[ModelCard] = CARD

    def plan(self, request: GenerationRequest, seed: int) -> Planned:
        """One segment a leg, all of one length; one speed for all keys of a segment."""
        found = keyed_legs(request)
        if isinstance(found, ControlRefusal):
            return found
        camera, legs = found
        frames = self.card.frames.at_least(camera.seconds * self.card.fps + 1)
        segments, speeds, at = _segments(camera, legs, frames)
        path = speed_path(segments, speeds, frames)
        delivered = DeliveredPath(camera_to_world=path, frame=np.arange(frames), frame_of_request=at)
        native = f"action_seq={segments} action_speed_list={[round(speed, 6) for speed in speeds]}"
        plan = ControlPlan(
            files={"control.json": _item(request, segments, [round(speed, 6) for speed in speeds])},
            command=[
                *("python", "inference_5b_cam.py", "--json_path", Shell("${CASE}/control.json"), "--video_length"),
                *(str(frames), "--fps", "16", "--seed", str(seed), "--model_path", Shell("${WEIGHTS:?}")),
                *("--save_path", Shell("${OUT}")),
            ],
            native=native,
            delivered=delivered,
            frames=frames,
            fps=self.card.fps,
            width=1280,
            height=704,
            output=f"first_frame_{'_'.join(segments)}.mp4",
            loss=loss_of(self.card, camera, delivered, frames, axes=AXES),
        )
        return judged(plan, camera)


def _segments(camera: CameraRequest, legs: Sequence[Leg], frames: int) -> tuple[list[str], list[float], Floats]:
    """Keys and speed of each leg, and where in the request each frame belongs."""
    segments, speeds = [], []
    for leg in legs:
        known = {axis: amount for axis, amount in leg.amounts.items() if axis in AXES}
        if not known:  # a key with speed 0 stands still
            segments.append("w")
            speeds.append(0.0)
            continue
        main = max(known, key=lambda axis: abs(known[axis]) / (SPEED_DEGREES if axis in ("yaw", "pitch") else 1))
        unit = SPEED_DEGREES if main in ("yaw", "pitch") else SPEED_UNITS
        segments.append("".join(NAMES[axis, 1 if amount > 0 else -1] for axis, amount in known.items()))
        speeds.append(abs(known[main]) / unit)
    speeds[-1] *= last_gain(len(legs), frames)
    length = -(-frames // len(legs))
    bounds = [leg.start for leg in legs] + [camera.frames - 1]
    ends = np.minimum(np.arange(len(legs) + 1) * length, frames - 1)
    return segments, speeds, np.interp(np.arange(frames), ends, bounds)


def _item(request: GenerationRequest, segments: Sequence[str], numbers: Sequence[float]) -> bytes:
    item = {
        "task_id": "result",
        "image_path": "first_frame.png",
        "caption": request.prompt,
        "action_seq": list(segments),
        "action_speed_list": list(numbers),
    }
    return json.dumps([item], ensure_ascii=False, indent=1).encode()


class DreamXAr(KeyAdapter):
    """DreamX-World AR: how far it turns depends on how long it turns; a space stands still."""

    name: ClassVar[str] = "dreamx-ar"
    card: ClassVar[ModelCard] = replace(
        CARD,
        title="DreamX-World AR",
        frames=FrameRule(first=9, step=12),
        output="result_*first_frame.mp4",
        executable="quantised",
        notes=("The first step is taken before the first pose. Colours are rewritten unless the strength is 0.",),
    )
    rules: ClassVar[KeyRules] = KeyRules(
        quantum={"yaw": FRAME_DEGREES, "pitch": FRAME_DEGREES, "right": FRAME_UNITS, "forward": FRAME_UNITS},
        can_hold=True,
        can_combine=True,
        is_length=lambda steps: steps >= 8 and (steps + 1 - 9) % 12 == 0,
        steps_per_second=CARD.fps,
    )

    def native(self, runs: Sequence[PlannedRun]) -> str:
        """Pairs of keys and frames; the first run has one more, which is taken before the first pose."""
        pairs = [
            ["".join(NAMES[axis, sign] for axis, sign in run.press.items()) or " ", run.count + (number == 0)]
            for number, run in enumerate(runs)
        ]
        return json.dumps(pairs)

    def execute(self, native: str) -> Floats:
        """The path of the pairs."""
        pairs = json.loads(native)
        return share_path([keys for keys, _ in pairs], [count for _, count in pairs], sum(count for _, count in pairs))

    def control_files(self, native: str, request: GenerationRequest) -> Mapping[str, bytes]:
        """A list of one item."""
        pairs = json.loads(native)
        return {"control.json": _item(request, [keys for keys, _ in pairs], [count for _, count in pairs])}

    def command(self, native: str, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """The rewriting of colours is off: a model that forgets its light must not be corrected."""
        return [
            *("python", "inference_ar.py", "--json_path", Shell("${CASE}/control.json"), "--num_latents"),
            *(str((frames - 1) // 4 + 1), "--fps", "16", "--seed", str(seed), "--color_correction_strength", "0"),
            *("--model_path", Shell("${WEIGHTS:?}"), "--save_path", Shell("${OUT}")),
        ]
