"""Models that are given poses: the request at the times of their frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lookaway.core import Floats, Indices
from lookaway.generation.adapter import (
    ControlPlan,
    ControlRefusal,
    ModelCard,
    Planned,
    loss_of,
    picture_size,
)
from lookaway.generation.camera_motion import AXES
from lookaway.generation.delivered import DeliveredPath
from lookaway.generation.request import CameraRequest, GenerationRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class PoseInput:
    """The poses that are written for a model, and the output frame of each that has one."""

    poses: Floats
    """[P, 4, 4]"""
    rows: Indices
    """[N] the poses that the model reads and that have an output frame."""
    frame: Indices
    """[N] their output frames."""
    seconds: Floats
    """[N] their times in the request."""


class PoseAdapter:
    """A model that is given poses; a small class says in which file and with which command."""

    name: ClassVar[str]
    card: ClassVar[ModelCard]

    def plan(self, request: GenerationRequest, seed: int) -> Planned:
        """The request at the times of the model's frames; it rests at the end until the frames are enough."""
        camera = request.camera
        if camera is None:
            return ControlRefusal(message="the case has no camera path, and the model is given poses.")
        frames = self.frames_for(camera)
        given = self.pose_input(camera, frames)
        delivered = DeliveredPath(
            camera_to_world=self.as_read(given.poses[given.rows]),
            frame=given.frame,
            frame_of_request=np.clip(given.seconds * camera.fps, 0, camera.frames - 1),
        )
        width, height = picture_size(self.card, request)
        return ControlPlan(
            files=self.control_files(given.poses, camera, request),
            command=self.command(request, frames, seed),
            native=self.native(given.poses),
            delivered=delivered,
            frames=frames,
            fps=self.card.fps,
            width=width,
            height=height,
            output=self.card.output,
            loss=loss_of(self.card, camera, delivered, frames, axes=AXES),
        )

    def frames_for(self, camera: CameraRequest) -> int:
        """Output frames that hold the whole request."""
        lost = 0 if self.card.first_frame_kept else 1
        return self.card.frames.at_least(camera.seconds * self.card.fps + 1 - lost)

    def pose_input(self, camera: CameraRequest, frames: int) -> PoseInput:
        """By default one pose for each output frame."""
        rows = np.arange(frames)
        seconds = rows / self.card.fps
        return PoseInput(poses=camera.at(seconds), rows=rows, frame=rows, seconds=seconds)

    def as_read(self, poses: Floats) -> Floats:
        """The path that the model makes of the poses; by default as they are."""
        return poses

    def native(self, poses: Floats) -> str:
        """The control in one line."""
        return f"{len(poses)} poses"

    def control_files(self, poses: Floats, camera: CameraRequest, request: GenerationRequest) -> Mapping[str, bytes]:
        """The files that hold the poses."""
        raise NotImplementedError

    def command(self, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """The words of the command."""
        raise NotImplementedError
