"""Models that are only prompted: camera words for each part of the path, for API models and for Yume."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np

from lookaway.generation.adapter import ControlPlan, FrameRule, ModelCard, Planned, Shell, loss_of, picture_size
from lookaway.generation.camera_motion import AXES, Axis, Leg, legs_of
from lookaway.generation.request import CameraRequest, GenerationRequest

WORDS: Final[dict[tuple[Axis, int], str]] = {
    ("yaw", 1): "turns right",
    ("yaw", -1): "turns left",
    ("pitch", 1): "tilts up",
    ("pitch", -1): "tilts down",
    ("roll", 1): "rolls clockwise",
    ("roll", -1): "rolls counterclockwise",
    ("right", 1): "moves right",
    ("right", -1): "moves left",
    ("up", 1): "rises",
    ("up", -1): "sinks",
    ("forward", 1): "moves forward",
    ("forward", -1): "moves back",
}
RETURNED_DEGREES, RETURNED_SHARE = 1.0, 0.02
LINE_FRAMES: Final = 32


def camera_sentence(camera: CameraRequest) -> str:
    """The path in words: axes, directions, degrees and seconds."""
    legs = legs_of(camera.camera_to_world)
    parts = [f"{leg_words(leg)} for {(leg.stop - leg.start) / camera.fps:.1f} seconds" for leg in legs]
    end = ", and returns to the starting view" if len(legs) > 1 and returns(camera) else ""
    return f"The camera {', then '.join(parts)}{end}."


def leg_words(leg: Leg) -> str:
    """As in `turns left by 60 degrees and moves right`."""
    if leg.is_hold:
        return "stays still"
    parts = []
    for axis, amount in leg.amounts.items():
        degrees = f" by {abs(amount):.0f} degrees" if axis in ("yaw", "pitch", "roll") else ""
        parts.append(f"{WORDS[axis, 1 if amount > 0 else -1]}{degrees}")
    return " and ".join(parts)


def returns(camera: CameraRequest) -> bool:
    """Whether the last pose is the first one."""
    poses = camera.camera_to_world
    turned = np.degrees(np.arccos(np.clip((np.trace(poses[-1, :3, :3]) - 1) / 2, -1, 1)))
    reach = max(1e-9, float(np.linalg.norm(poses[:, :3, 3], axis=1).max()))
    return bool(turned < RETURNED_DEGREES and np.linalg.norm(poses[-1, :3, 3]) <= RETURNED_SHARE * reach)


class TextPrompt:
    """Any model that is given a prompt, such as one behind an API."""

    name: ClassVar[str] = "text"
    card: ClassVar[ModelCard] = ModelCard(
        title="A prompted model",
        repository="",
        commit="",
        licence="",
        fps=24,
        size=None,
        frames=FrameRule(first=1, step=1),
        output="result.mp4",
        is_command_read=True,
        scale="unknown",
        executable="text",
        notes=("Record model id, version, request time, seed and refusals in lookaway_run.json.",),
    )

    def plan(self, request: GenerationRequest, seed: int) -> Planned:
        """The prompt and a sentence about the camera, also on its own, so that it can be left out."""
        camera = request.camera
        sentence = camera_sentence(camera) if camera else ""
        seconds = camera.frames / camera.fps if camera else 5.0
        frames = self.card.frames.at_least(seconds * self.card.fps)
        width, height = picture_size(self.card, request)
        return ControlPlan(
            files={
                "control.txt": f"{' '.join(part for part in (request.prompt, sentence) if part)}\n".encode(),
                "camera_sentence.txt": f"{sentence}\n".encode(),
            },
            command=[Shell("${GENERATE:?}"), Shell("${CASE}"), Shell("${OUT}/result.mp4"), str(seed)],
            native=sentence,
            delivered=None,
            frames=frames,
            fps=self.card.fps,
            width=width,
            height=height,
            output=self.card.output,
            loss=loss_of(self.card, camera, None, frames, axes=AXES),
        )


class Yume:
    """Yume 5B: a caption line for every 32 frames, of which the first drives two segments."""

    name: ClassVar[str] = "yume"
    card: ClassVar[ModelCard] = ModelCard(
        title="Yume 5B",
        repository="https://github.com/stdstu12/YUME",
        commit="111c3fa",
        licence="Apache-2.0",
        fps=16,
        size=(1280, 704),
        frames=FrameRule(first=2 * LINE_FRAMES, step=LINE_FRAMES),
        output="first_frame*.mp4",
        is_growing=True,
        scale="unknown",
        executable="text",
        notes=("Line 0 drives segments 0 and 1, and the last line is never used.",),
    )

    def plan(self, request: GenerationRequest, seed: int) -> Planned:
        """One line a segment, by what the camera does in its middle."""
        camera = request.camera
        seconds = camera.seconds if camera else 5.0
        frames = self.card.frames.at_least(seconds * self.card.fps)
        lines = yume_lines([self._line(request, number) for number in range(frames // LINE_FRAMES)])
        return ControlPlan(
            files={"control.txt": "".join(f"{line}\n" for line in lines).encode()},
            command=[
                *("torchrun", "--nproc_per_node", "1", "fastvideo/sample/sample_5b.py", "--jpg_dir", Shell("${CASE}")),
                *("--caption_path", Shell("${CASE}/control.txt"), "--seed", str(seed), "--video_output_dir"),
                Shell("${OUT}"),
            ],
            native=f"{len(lines)} lines",
            delivered=None,
            frames=frames,
            fps=self.card.fps,
            width=1280,
            height=704,
            output=self.card.output,
            loss=loss_of(self.card, camera, None, frames, axes=AXES),
        )

    def _line(self, request: GenerationRequest, segment: int) -> str:
        camera, words = request.camera, "stays still"
        if camera is not None:
            at = (segment + 0.5) * LINE_FRAMES / self.card.fps * camera.fps
            legs = legs_of(camera.camera_to_world)
            words = leg_words(next((leg for leg in legs if leg.start <= at < leg.stop), Leg(0, 0, {})))
        return (
            f"{request.prompt} The camera {words}. Actual distance moved: 1. Angular change rate: 1. "
            "View rotation speed: 1."
        )


def yume_lines(segments: Sequence[str]) -> list[str]:
    """The lines that give these segments; the first two segments share a line, and the last line is not read."""
    return [segments[0], *segments[2:], segments[-1]]
