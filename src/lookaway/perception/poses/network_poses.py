"""What extractors of poses by networks have in common: the network sees some frames and says where the camera was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from numpy.typing import NDArray

from lookaway.core import (
    TRAJECTORY_ARRAYS,
    Compute,
    Feature,
    Indices,
    Json,
    Reason,
    Sampler,
    Timeline,
    Trajectory,
    UnknownName,
    Unmeasurable,
)
from lookaway.io.pose_files.checks import (
    DEPTH_STRIDE,
    READ_POSES,
    ROTATION_TOLERANCE,
    Convention,
    DepthStride,
    RotationTolerance,
    as_camera_to_world,
    as_frame_indices,
    as_intrinsics,
    check_depth_shape,
    median_depths,
)
from lookaway.io.sampling import UniformFrames
from lookaway.perception.isolation.environment import Environment
from lookaway.perception.isolation.runner import RUNNERS, LoadedIsolated, Runner
from lookaway.perception.networks.batching import NetworkExtractor
from lookaway.perception.similarity.compared_frames import GeneratedSize
from lookaway.perception.weights import Weights, published


class NetworkPoses(NetworkExtractor):
    """An extractor of poses whose network runs in an environment of its own and gets all frames at once."""

    __slots__ = ()
    of_video: ClassVar[bool] = True
    bytes_per_frame: ClassVar[float] = 250.0
    constants: ClassVar[tuple[str, ...]] = READ_POSES
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS

    environment: Environment
    frames: Sampler
    height: int
    rotation_tolerance: float
    depth_stride: int

    def load_runner(self, runner: str, convention: Convention, settings: Mapping[str, Json]) -> LoadedIsolated:
        """A runner file of this package with its network loaded."""
        running = Runner(
            environment=self.environment,
            file=RUNNERS / f"{runner}.py",
            settings={"weights": str(self.weights.folder()), **settings},
        )
        running.start()
        finish = partial(
            network_trajectory, convention=convention, tolerance=self.rotation_tolerance, stride=self.depth_stride
        )
        return LoadedIsolated(runner=running, frames=self.frames, height=self.height, finish=finish)


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
class Da3Poses(NetworkPoses):
    """The trajectory that Depth Anything 3 sees in some frames, in an environment of its own.

    The network chooses its own precision, by what the device can do.
    """

    name: ClassVar[str] = "da3_poses"
    seconds_per_frame: ClassVar[float] = 2.0

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
    rotation_tolerance: RotationTolerance = ROTATION_TOLERANCE
    depth_stride: DepthStride = DEPTH_STRIDE

    def __post_init__(self) -> None:
        if self.reference_view not in get_args(ReferenceView):
            raise UnknownName("reference view", self.reference_view, get_args(ReferenceView))

    def load(self) -> LoadedIsolated:
        """Make the environment where it is not there yet, and load the network in it."""
        settings = {
            "device": self.device,
            "longest_side": self.longest_side,
            "reference_view": self.reference_view,
            "use_ray_pose": self.use_ray_pose,
        }
        return self.load_runner("da3", "world_to_camera", settings)


@dataclass(frozen=True, slots=True)
class _ComputePoses(NetworkPoses):
    """A network that can be told how precisely to compute."""

    seconds_per_frame: ClassVar[float] = 10.0
    runner: ClassVar[str]
    convention: ClassVar[Convention]

    weights: Annotated[Weights, "the network"]
    environment: Annotated[Environment, "the packages that the network runs with"]
    frames: Annotated[Sampler, "which frames the network sees, all at once"] = UniformFrames(48)
    height: Annotated[int, "height of the frames that are sent to it"] = 480
    longest_side: Annotated[int, "longer side of the frames that it sees, a multiple of 14"] = 518
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()
    rotation_tolerance: RotationTolerance = ROTATION_TOLERANCE
    depth_stride: DepthStride = DEPTH_STRIDE

    def load(self) -> LoadedIsolated:
        """Make the environment where it is not there yet, and load the network in it."""
        return self.load_runner(self.runner, self.convention, self.settings())

    def settings(self) -> dict[str, Json]:
        """What the runner file is told."""
        return {
            "device": self.compute.device,
            "precision": self.compute.precision,
            "longest_side": self.longest_side,
        }


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
class VggtPoses(_ComputePoses):
    """The trajectory that VGGT sees in some frames, in an environment of its own.

    The network sees whole frames: its own preparation would crop a frame that is taller than wide.
    """

    name: ClassVar[str] = "vggt_poses"
    runner: ClassVar[str] = "vggt"
    convention: ClassVar[Convention] = "world_to_camera"

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "vggt-1b"))
    environment: Annotated[Environment, "the packages that the network runs with"] = VGGT_ENVIRONMENT
    compute: Annotated[Compute, "where it runs, and how precisely its trunk computes"] = Compute()


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
class MapAnythingPoses(_ComputePoses):
    """The trajectory that MapAnything sees in some frames, in an environment of its own; translations are metric."""

    name: ClassVar[str] = "mapanything_poses"
    runner: ClassVar[str] = "mapanything"
    convention: ClassVar[Convention] = "camera_to_world"

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "map-anything-apache"))
    environment: Annotated[Environment, "the packages that the network runs with"] = MAPANYTHING_ENVIRONMENT
    reduced: Annotated[
        GeneratedSize | None,
        "size that frames are reduced to, in place of `height`, before the network's own preparation crops them to one "
        "of its shapes; `None` shows whole frames",
    ] = None

    def load(self) -> LoadedIsolated:
        """Make the environment where it is not there yet, and load the network in it."""
        loaded = _ComputePoses.load(self)
        return loaded if self.reduced is None else replace(loaded, height=None, resized=self.reduced.reduce)

    def settings(self) -> dict[str, Json]:
        """What the runner file is told."""
        return {**_ComputePoses.settings(self), "crops": self.reduced is not None}
