"""The simulated world as a model: it films its own scenes, so that everything can be tried without a GPU."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import ClassVar

import numpy as np

from lookaway.generation.adapter import ControlPlan, ControlRefusal, FrameRule, ModelCard, Planned, Shell, loss_of
from lookaway.generation.camera_motion import AXES
from lookaway.generation.delivered import DeliveredPath
from lookaway.generation.request import GenerationRequest
from lookaway.world.cameras import CAMERAS


class SimulatedWorld:
    """The simulated world, performed by one of its actors: ACTOR chooses which."""

    name: ClassVar[str] = "world"
    card: ClassVar[ModelCard] = ModelCard(
        title="The simulated world",
        repository="",
        commit="",
        licence="",
        fps=12,
        size=None,
        frames=FrameRule(first=1, step=1),
        output="video.mp4",
        is_command_read=True,
        twins=("depth.mkv", "masks.mkv"),
        notes=("ACTOR names the simulated model, such as forgetful; by default perfect.",),
    )

    def plan(self, request: GenerationRequest, seed: int) -> Planned:
        """The recipe of the scene; the camera is the one that was asked for."""
        recipe, camera = request.world_recipe, request.camera
        if recipe is None or camera is None:
            return ControlRefusal(message="the world films only its own scenes, and the case is of another dataset.")
        if recipe["camera"] not in CAMERAS:
            return ControlRefusal(message="the camera path is from a file, and the world knows only its own by name.")
        frames = camera.frames
        rows = np.arange(frames)
        delivered = DeliveredPath(
            camera_to_world=camera.camera_to_world, frame=rows, frame_of_request=rows.astype(np.float64)
        )
        return ControlPlan(
            files={"control.json": (json.dumps(recipe, indent=1, sort_keys=True) + "\n").encode()},
            command=[
                *("lookaway", "world", "perform", Shell("${CASE}/control.json"), "-o", Shell("${OUT}")),
                *("--actor", Shell("${ACTOR:-perfect}"), "--take", str(seed)),
            ],
            native=str(recipe["camera"]),
            delivered=delivered,
            frames=frames,
            fps=camera.fps,
            width=camera.width,
            height=camera.height,
            output=self.card.output,
            loss=loss_of(replace(self.card, fps=camera.fps), camera, delivered, frames, axes=AXES),
        )
