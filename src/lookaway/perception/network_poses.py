"""What extractors of poses by networks have in common: the network sees some frames and says where the camera was."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

from numpy.typing import NDArray

from lookaway.core import Feature, Indices, Json, Reason, Timeline, Trajectory, Unmeasurable
from lookaway.io.pose_files.checks import (
    Convention,
    as_camera_to_world,
    as_frame_indices,
    as_intrinsics,
    check_depth_shape,
    median_depths,
)
from lookaway.io.sampling import Sampler
from lookaway.perception.isolation.environment import Environment
from lookaway.perception.isolation.perceiver import IsolatedPerceiver
from lookaway.perception.isolation.runner import RUNNERS, Runner
from lookaway.perception.weights import Weights


class PoseNetwork(Protocol):
    """The fields that recipes of pose networks share."""

    @property
    def weights(self) -> Weights:
        """The network."""
        ...

    @property
    def environment(self) -> Environment:
        """The packages that it runs with."""
        ...

    @property
    def frames(self) -> Sampler:
        """Which frames it sees."""
        ...

    @property
    def height(self) -> int:
        """Height of the frames that are sent to it."""
        ...

    @property
    def rotation_tolerance(self) -> float:
        """How far R R^T may be from the identity before the poses count as failed."""
        ...

    @property
    def depth_stride(self) -> int:
        """Every so many pixels of a depth map go into its median."""
        ...


def load_pose_network(
    recipe: PoseNetwork, runner: str, convention: Convention, settings: Mapping[str, Json]
) -> IsolatedPerceiver:
    """A runner file of this package with its network loaded; it gets all frames of a rollout at once."""
    running = Runner(
        environment=recipe.environment,
        file=RUNNERS / f"{runner}.py",
        settings={"weights": str(recipe.weights.folder()), **settings},
    )
    running.start()
    finish = partial(
        network_trajectory, convention=convention, tolerance=recipe.rotation_tolerance, stride=recipe.depth_stride
    )
    return IsolatedPerceiver(runner=running, frames=recipe.frames, height=recipe.height, finish=finish)


def network_trajectory(
    answer: Mapping[str, NDArray[Any]],
    frame_indices: Indices,
    timeline: Timeline,
    *,
    convention: Convention,
    tolerance: float,
    stride: int,
) -> Feature:
    """The feature of a trajectory from `poses`, `intrinsics` and `depth` of the frames that a network saw."""
    depth = answer["depth"]
    count = len(frame_indices)
    height, width = check_depth_shape(depth.shape, count, refuse)
    camera_to_world = as_camera_to_world("poses", answer["poses"], convention, tolerance, refuse)
    trajectory = Trajectory(
        camera_to_world=camera_to_world,
        intrinsics=as_intrinsics("intrinsics", answer["intrinsics"], len(camera_to_world), refuse),
        frame_indices=as_frame_indices("frames", frame_indices, len(camera_to_world), timeline.frame_count, refuse),
        median_depth=median_depths(depth, stride, refuse),
        width=width,
        height=height,
        frame_count=timeline.frame_count,
    )
    return trajectory.to_feature()


def refuse(message: str, reason: Reason = Reason.POSE_FAILED) -> Unmeasurable:
    """An error about what a network answered."""
    return Unmeasurable(reason, f"of what the network answered, {message}")
