"""WRBench's files beside a video: the requested camera path, its form, and what the model received."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from lookaway.core import Floats, Json
from lookaway.io.camera_steps import camera_steps, runs
from lookaway.io.files import write_json
from lookaway.io.world_clips import WorldClip
from lookaway.world.exports.conventions import to_first_camera, yaw_degrees
from lookaway.world.exports.folder import write_array

CONVENTION: Final = "opencv_c2w"
PAYLOAD: Final = "direct_frame_pose_payload"
RULE: Final = "one pose for every frame"
FAMILIES: Final = {"yaw": "rotation", "pan": "translation", "static": "static"}
CANONICAL_DEGREES: Final = 60


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera motion that WRBench scores."""

    label: str
    camera_type: str
    axis: str
    degrees: int | None

    @property
    def oov_gap(self) -> str:
        """Prompt variant for this camera; Natural-25 has none of its own for sideways moves."""
        return self.camera_type

    @property
    def profile(self) -> str:
        """WRBench's name of the amplitude."""
        if self.axis == "yaw":
            return f"{'canonical' if self.degrees == CANONICAL_DEGREES else 'diagnostic'}_{self.degrees}deg"
        return f"canonical_{self.axis}"

    def scope_row(self) -> Json:
        """As in `camera_scopes`."""
        return {
            "label": self.label,
            "preset": self.camera_type,
            "camera_type": self.camera_type,
            "stress_axis": self.axis,
            "stress_yaw_deg": self.degrees,
        }


def write_sidecars(output: Path, video: str, clip: WorldClip, camera: Camera) -> None:
    """Write all five of a video; `target` is the requested path relative to the first camera."""
    arrays, count = clip.arrays(), clip.card.frames
    first = arrays.requested_camera_to_world[0]
    target = to_first_camera(arrays.requested_camera_to_world, first).astype(np.float32)
    lens = arrays.intrinsics
    script = camera_script(arrays.requested_camera_to_world)
    write_array(output / f"{video}.target_c2w.npy", target)
    trajectory: dict[str, Json] = {
        "coordinate_convention": CONVENTION,
        "camera_type": camera.camera_type,
        "fps": clip.card.fps,
        "source": "lookaway_world",
        "conversion_mode": PAYLOAD,
        "frame_count": count,
        "c2w": target.tolist(),
        "intrinsics": np.tile(lens, (count, 1, 1)).tolist(),
    }
    write_json(output / f"{video}.camera_trajectory.json", trajectory)
    write_json(output / f"{video}.camera.json", _camera_json(video, clip, camera, script))
    timeline: dict[str, Json] = {
        "control_sample_kind": "camera_trajectory_c2w",
        "control_sample_count": count,
        "source_frame_indices": list(range(count)),
        "sampling_rule": RULE,
        "stride_hint": 1.0,
    }
    samples: dict[str, Json] = {
        "schema_version": 1,
        "payload_type": PAYLOAD,
        "official_camera_entrypoint": "",
        "model_control_timeline": timeline,
        "target_frame_count": count,
        "target_coordinate_convention": CONVENTION,
    }
    write_json(output / f"{video}.model_control_samples.json", samples)
    payload: dict[str, Json] = {
        "model": clip.card.model,
        "camera_script": script,
        "payload_type": PAYLOAD,
        "payload": {"c2w_path": f"{video}.target_c2w.npy"},
        "official_camera_entrypoint": "",
        "target_coordinate_convention": CONVENTION,
        "metadata": {},
    }
    write_json(output / f"{video}.payload.json", payload)


def camera_script(camera_to_world: Floats) -> str:
    """`static@6,yaw:left:60@6,static@12,...`: segments of one motion, with one frame per pose."""
    steps = camera_steps(camera_to_world)
    words = [_word(held) for held in steps.held_keys()]
    amounts = {"yaw": steps.left_turn, "pan": steps.right}
    segments = []
    for word, start, end in runs([words[0], *words]):  # the first pose belongs to the first motion
        kind = word.partition(":")[0]
        amount = abs(float(amounts[kind][max(0, start - 1) : end - 1].sum())) if kind in amounts else None
        segments.append(f"{word}@{end - start}" if amount is None else f"{word}:{round(amount, 6):g}@{end - start}")
    return ",".join(segments)


def _word(held: dict[str, int]) -> str:
    for key, kind in (("lr", "yaw"), ("ad", "pan")):
        if held[key]:
            return f"{kind}:{('left', 'right')[held[key] - 1]}"
    return "static"


def _camera_json(video: str, clip: WorldClip, camera: Camera, script: str) -> Json:
    card, arrays = clip.card, clip.arrays()
    requested = arrays.requested_camera_to_world
    yaw = yaw_degrees(to_first_camera(requested, requested[0]))
    return {
        "canonical_model_key": card.model,
        "adapter": "lookaway_world",
        "payload_type": PAYLOAD,
        "official_camera_entrypoint": "",
        "camera_script": script,
        "camera_type": camera.camera_type,
        "control_family": FAMILIES[camera.axis],
        "control_direction": camera.camera_type,
        "control_profile": camera.profile,
        "target_role": "benchmark_intended_control",
        "evidence_level": "benchmark_intent",
        "adapter_provenance": "deterministic_adapter",
        "target_coordinate_convention": CONVENTION,
        "coordinate_convention": CONVENTION,
        "target_certification_status": "compiled",
        "target_certification_kind": PAYLOAD,
        # A simulated model may deviate: then the target is not what it did.
        "target_c2w_is_model_effective": bool(np.allclose(requested, arrays.camera_to_world, atol=1e-9)),
        "yaw_peak_deg": float(camera.degrees or 0),
        "measured_yaw_peak_deg": float(yaw[np.abs(yaw).argmax()]),
        "num_frames": card.frames,
        "fps": float(card.fps),
        "image_size": [card.width, card.height],
        "fov": float(np.degrees(2 * np.arctan(card.width / 2 / arrays.intrinsics[0, 0]))),
        "trajectory_sampling_rule": RULE,
        "rotation_gain": 1.0,
        "translation_gain": 1.0,
        "translation_unit": "metre",
        "calibration_status": "exact",
        "frame_mapping": {
            "requested_frames": card.frames,
            "model_frames": card.frames,
            "target_frame_indices": list(range(card.frames)),
        },
        "first_camera_to_world": requested[0].tolist(),
        "target_pose_path": f"{video}.target_c2w.npy",
        "camera_trajectory_path": f"{video}.camera_trajectory.json",
        "model_control_samples_path": f"{video}.model_control_samples.json",
    }
