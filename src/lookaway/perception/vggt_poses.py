"""Camera poses by VGGT."""

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

VGGT_ENVIRONMENT = Environment(
    requirements=(
        "einops==0.8.2",
        "huggingface-hub==0.36.0",
        "numpy==2.4.6",
        "opencv-python-headless==5.0.0.93",
        "pillow==12.3.0",
        "safetensors==0.8.0",
        "torch==2.13.0",
        "torchvision==0.28.0",
    ),
    # It asks for an old NumPy.
    bare=("vggt @ git+https://github.com/facebookresearch/vggt.git@44b3afbd1869d8bde4894dd8ea1e293112dd5eba",),
)


@dataclass(frozen=True, slots=True)
class VggtPoses:
    """The trajectory that VGGT sees in some frames, in an environment of its own.

    The network sees whole frames: its own preparation would crop a frame that is taller than wide.
    """

    name: ClassVar[str] = "vggt_poses"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ()
    seconds_per_frame: ClassVar[float] = 10.0
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS
    needs: ClassVar[Mapping[str, Extractor]] = {}

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "vggt-1b"))
    environment: Annotated[Environment, "the packages that the network runs with"] = VGGT_ENVIRONMENT
    frames: Annotated[Sampler, "which frames the network sees, all at once"] = UniformFrames(48)
    height: Annotated[int, "height of the frames that are sent to it"] = 480
    longest_side: Annotated[int, "longer side of the frames that it sees, a multiple of 14"] = 518
    compute: Annotated[Compute, "where it runs, and how precisely its trunk computes"] = Compute()
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
        return load_pose_network(self, "vggt", "world_to_camera", settings)
