"""Camera poses by MapAnything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

from lookaway.core import TRAJECTORY_ARRAYS, Abstention, Compute, Extractor, Rollout
from lookaway.io.pose_files.checks import DEPTH_STRIDE, ROTATION_TOLERANCE
from lookaway.io.sampling import Sampler, UniformFrames
from lookaway.perception.isolation.environment import Environment
from lookaway.perception.isolation.perceiver import IsolatedPerceiver
from lookaway.perception.network_poses import load_pose_network
from lookaway.perception.weights import Weights, published

MAPANYTHING_ENVIRONMENT = Environment(
    requirements=(
        "huggingface-hub==0.36.0",
        "mapanything @ git+https://github.com/facebookresearch/map-anything.git@3d10cf7a3016fc0f9bb13a071ee66c47b10be0d9",
        "safetensors==0.8.0",
        "torch==2.13.0",
        "torchvision==0.28.0",
    ),
    python="3.12",
)


@dataclass(frozen=True, slots=True)
class MapAnythingPoses:
    """The trajectory that MapAnything sees in some frames, in an environment of its own; translations are metric."""

    name: ClassVar[str] = "mapanything_poses"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ()
    seconds_per_frame: ClassVar[float] = 10.0
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS
    needs: ClassVar[Mapping[str, Extractor]] = {}

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "map-anything-apache"))
    environment: Annotated[Environment, "the packages that the network runs with"] = MAPANYTHING_ENVIRONMENT
    frames: Annotated[Sampler, "which frames the network sees, all at once"] = UniformFrames(48)
    height: Annotated[int, "height of the frames that are sent to it"] = 480
    longest_side: Annotated[int, "longer side of the frames that it sees, a multiple of 14"] = 518
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()
    rotation_tolerance: Annotated[float, "how far R R^T may be from the identity before the poses count as failed"] = (
        ROTATION_TOLERANCE
    )
    depth_stride: Annotated[int, "every so many pixels of a depth map, in both directions, go into its median"] = (
        DEPTH_STRIDE
    )

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once the weights are there."""
        return self.weights.declines()

    def load(self) -> IsolatedPerceiver:
        """Make the environment where it is not there yet, and load the network in it."""
        settings = {
            "device": self.compute.device,
            "precision": self.compute.precision,
            "longest_side": self.longest_side,
        }
        return load_pose_network(self, "mapanything", "camera_to_world", settings)
