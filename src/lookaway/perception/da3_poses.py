"""Camera poses by Depth Anything 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

from lookaway.core import TRAJECTORY_ARRAYS, Abstention, Extractor, Rollout, UnknownName
from lookaway.io.pose_files.checks import DEPTH_STRIDE, ROTATION_TOLERANCE
from lookaway.io.sampling import Sampler, UniformFrames
from lookaway.perception.isolation.environment import Environment
from lookaway.perception.isolation.perceiver import IsolatedPerceiver
from lookaway.perception.network_poses import load_pose_network
from lookaway.perception.weights import Weights, published

ReferenceView: TypeAlias = Literal["first", "middle", "saddle_balanced", "saddle_sim_range"]

DA3_ENVIRONMENT = Environment(
    requirements=(
        "addict==2.4.0",
        "einops==0.8.2",
        "huggingface-hub==0.36.0",
        "imageio==2.38.1",
        "numpy==2.4.6",
        "omegaconf==2.3.0",
        "opencv-python-headless==5.0.0.93",
        "pillow==12.3.0",
        "requests==2.34.2",
        "safetensors==0.8.0",
        "torch==2.13.0",
        "torchvision==0.28.0",
    ),
    # It asks for an old NumPy, for CUDA kernels and for a web server, none of which poses need.
    bare=("depth-anything-3==0.1.1",),
)


@dataclass(frozen=True, slots=True)
class Da3Poses:
    """The trajectory that Depth Anything 3 sees in some frames, in an environment of its own.

    The network chooses its own precision, by what the device can do.
    """

    name: ClassVar[str] = "da3_poses"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ()
    seconds_per_frame: ClassVar[float] = 2.0
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS
    needs: ClassVar[Mapping[str, Extractor]] = {}

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "da3-base"))
    environment: Annotated[Environment, "the packages that the network runs with"] = DA3_ENVIRONMENT
    frames: Annotated[Sampler, "which frames the network sees, all at once"] = UniformFrames(48)
    height: Annotated[int, "height of the frames that are sent to it"] = 480
    longest_side: Annotated[int, "longer side of the frames that it sees, a multiple of 14"] = 504
    reference_view: Annotated[ReferenceView, "how it chooses the frame that the others are placed by"] = (
        "saddle_balanced"
    )
    use_ray_pose: Annotated[bool, "whether poses come from its rays instead of its camera head"] = False
    device: Annotated[str, "`cpu`, `cuda` or `cuda:1`, as torch names devices"] = "cpu"
    rotation_tolerance: Annotated[float, "how far R R^T may be from the identity before the poses count as failed"] = (
        ROTATION_TOLERANCE
    )
    depth_stride: Annotated[int, "every so many pixels of a depth map, in both directions, go into its median"] = (
        DEPTH_STRIDE
    )

    def __post_init__(self) -> None:
        if self.reference_view not in get_args(ReferenceView):
            raise UnknownName("reference view", self.reference_view, get_args(ReferenceView))

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once the weights are there."""
        return self.weights.declines()

    def load(self) -> IsolatedPerceiver:
        """Make the environment where it is not there yet, and load the network in it."""
        settings = {
            "device": self.device,
            "longest_side": self.longest_side,
            "reference_view": self.reference_view,
            "use_ray_pose": self.use_ray_pose,
        }
        return load_pose_network(self, "da3", "world_to_camera", settings)
