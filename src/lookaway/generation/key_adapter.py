"""Models that are given keys: steps of a fixed size, chosen by the key planner, integrated as the model does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from lookaway.core import Floats
from lookaway.generation.adapter import (
    ControlPlan,
    ControlRefusal,
    ModelCard,
    Planned,
    judged,
    keyed_legs,
    loss_of,
    picture_size,
)
from lookaway.generation.camera_motion import Axis, step
from lookaway.generation.delivered import DeliveredPath
from lookaway.generation.key_planner import KeyRules, PlannedRun, plan_keys
from lookaway.generation.request import GenerationRequest


class KeyAdapter:
    """A model that is given keys; a small class has its rules, its words and its integrator."""

    name: ClassVar[str]
    card: ClassVar[ModelCard]
    rules: ClassVar[KeyRules]
    frames_per_step: ClassVar[int] = 1
    dropped: ClassVar[int] = 0
    """Poses at the beginning that have no output frame."""

    def plan(self, request: GenerationRequest, seed: int) -> Planned:
        """The keys whose path returns best, then reaches its peak best, then is shortest."""
        found = keyed_legs(request)
        if isinstance(found, ControlRefusal):
            return found
        camera, legs = found
        runs = plan_keys(legs, self.rules, camera.fps)
        if runs is None:
            return ControlRefusal(message="no number of steps that the model takes is near the request.")
        native = self.native(runs)
        poses = self.execute(native)
        at = request_positions(runs, len(poses), camera.frames)
        shown = np.arange(len(poses) - self.dropped)
        delivered = DeliveredPath(
            camera_to_world=poses[self.dropped :],
            frame=shown * self.frames_per_step,
            frame_of_request=at[self.dropped :],
        )
        frames = (len(shown) - 1) * self.frames_per_step + 1
        width, height = picture_size(self.card, request)
        quantum = {axis: (size, float(self.frames_per_step)) for axis, size in self.rules.quantum.items()}
        plan = ControlPlan(
            files=self.control_files(native, request),
            command=self.command(native, request, frames, seed),
            native=native,
            delivered=delivered,
            frames=frames,
            fps=self.card.fps,
            width=width,
            height=height,
            output=self.card.output,
            loss=loss_of(self.card, camera, delivered, frames, axes=tuple(self.rules.quantum), quantum=quantum),
        )
        known = [
            (axis, abs(amount)) for leg in legs for axis, amount in leg.amounts.items() if axis in self.rules.quantum
        ]
        if known and all(amount < self.rules.quantum[axis] - 1e-6 for axis, amount in known):
            return ControlRefusal(message="every motion of the request is smaller than one step.", nearest=plan)
        return judged(plan, camera)

    def native(self, runs: Sequence[PlannedRun]) -> str:
        """The runs in the model's own words."""
        raise NotImplementedError

    def execute(self, native: str) -> Floats:
        """[N, 4, 4] the path that the model's own code makes of its words."""
        raise NotImplementedError

    def control_files(self, native: str, request: GenerationRequest) -> Mapping[str, bytes]:
        """The files that hold the keys."""
        return {"control.txt": f"{native}\n".encode()}

    def command(self, native: str, request: GenerationRequest, frames: int, seed: int) -> list[str]:
        """The words of the command."""
        raise NotImplementedError


def request_positions(runs: Sequence[PlannedRun], poses: int, frames: int) -> Floats:
    """[poses] where in the request each pose of a path of single steps belongs; the rest is at the end."""
    found = [0.0]
    for run in runs:
        found.extend(run.start + (run.stop - run.start) * (number + 1) / run.count for number in range(run.count))
    end = float(frames - 1)
    return np.array([*found[:poses], *[end] * (poses - len(found))])


def integrated(steps: Sequence[Mapping[Axis, float]]) -> Floats:
    """[N+1, 4, 4] from the identity, each step along the axes of the camera before it: turns first."""
    poses = [np.eye(4)]
    for amounts in steps:
        pose = poses[-1]
        for axis, amount in amounts.items():
            pose = pose @ step(axis, amount)
        poses.append(pose)
    return np.array(poses)
