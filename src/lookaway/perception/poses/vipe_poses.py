"""Camera poses by ViPE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from lookaway.core import (
    TRAJECTORY_ARRAYS,
    Abstention,
    ExtractorBase,
    Features,
    Reason,
    Rollout,
    Timeline,
    Trajectory,
)
from lookaway.core.extractor_base import FramelessExtraction
from lookaway.io.encoding import write_beginning
from lookaway.io.pose_files.checks import (
    DEPTH_STRIDE,
    READ_POSES,
    ROTATION_TOLERANCE,
    DepthStride,
    RotationTolerance,
    as_camera_to_world,
    as_frame_indices,
    as_intrinsics,
    check_depth_shape,
    median_depths,
)
from lookaway.perception.isolation.environment import Environment, is_this_process_in
from lookaway.perception.isolation.runner import RUNNERS, Runner
from lookaway.perception.poses.network_poses import refuse

VIPE_ENVIRONMENT = Environment(
    ("huggingface-hub==0.36.0", "numpy==2.2.6", "nvidia-vipe==1.2.0", "torch==2.13.0", "torchvision==0.28.0")
)

BEGINNING_CRF: Final = 18


@dataclass(frozen=True, slots=True)
class VipePoses(ExtractorBase):
    """The trajectory that `vipe infer` finds in the video, in an environment of its own; translations are metric.

    ViPE decodes the video itself, and loads the networks that its version and its pipeline name from the caches of the
    user. To make its environment takes a compiler for CUDA, to run it takes a GPU.
    """

    name: ClassVar[str] = "vipe_poses"
    constants: ClassVar[tuple[str, ...]] = (f"{__name__}:BEGINNING_CRF", *READ_POSES)
    of_video: ClassVar[bool] = True
    seconds_per_frame: ClassVar[float] = 1.0
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS

    environment: Annotated[Environment, "the packages that it runs with"] = VIPE_ENVIRONMENT
    pipeline: Annotated[str, "configuration of ViPE"] = "default"
    first_frames: Annotated[
        int | None, "gives ViPE only so many frames, encoded anew by x264 at CRF 18, as MIND's own code does"
    ] = None
    is_made_beforehand: Annotated[bool, "abstains where its environment is not there, instead of making it"] = False
    rotation_tolerance: RotationTolerance = ROTATION_TOLERANCE
    depth_stride: DepthStride = DEPTH_STRIDE

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once ViPE is there."""
        if not self.is_made_beforehand or self.environment.is_made or is_this_process_in(self.environment):
            return None
        return Abstention(
            Reason.MISSING_WEIGHTS,
            "ViPE is not on this machine. It takes a GPU and a compiler for CUDA. Make its environment with: "
            f"{self.environment.entry_command()}",
        )

    def load(self) -> LoadedVipe:
        """Make the environment where it is not there yet."""
        settings = {"pipeline": self.pipeline, "depth_stride": self.depth_stride}
        runner = Runner(environment=self.environment, file=RUNNERS / "vipe.py", settings=settings)
        runner.start()
        return LoadedVipe(self, runner)


@dataclass(frozen=True, slots=True)
class LoadedVipe:
    """ViPE, ready to be given videos."""

    recipe: VipePoses
    runner: Runner

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> FramelessExtraction:
        """Start on one rollout; ViPE reads the video itself."""
        return FramelessExtraction(
            lambda: self._trajectory(self._answer(rollout.video.absolute()), timeline).to_feature()
        )

    def _answer(self, video: Path) -> dict[str, NDArray[Any]]:
        if self.recipe.first_frames is None:
            return self.runner.ask({}, video=str(video))
        with TemporaryDirectory() as folder:
            beginning = Path(folder) / video.name
            write_beginning(beginning, video, self.recipe.first_frames, crf=BEGINNING_CRF)
            return self.runner.ask({}, video=str(beginning))

    def _trajectory(self, answer: Mapping[str, NDArray[Any]], timeline: Timeline) -> Trajectory:
        tolerance = self.recipe.rotation_tolerance
        camera_to_world = as_camera_to_world("poses", answer["poses"], "camera_to_world", tolerance, refuse)
        count = len(camera_to_world)
        if answer["intrinsics"].shape != (count, 4):
            raise refuse(
                f"intrinsics has the shape {answer['intrinsics'].shape}, expected fx, fy, cx, cy of a pinhole."
            )
        if "depth" not in answer:
            raise refuse(f"there is no depth; choose a pipeline with depth, not {self.recipe.pipeline!r}.")
        check_depth_shape(answer["depth"].shape, count, refuse)
        matrices = np.tile(np.eye(3), (count, 1, 1))
        matrices[:, [0, 1, 0, 1], [0, 1, 2, 2]] = answer["intrinsics"]
        return Trajectory(
            camera_to_world=camera_to_world,
            intrinsics=as_intrinsics("intrinsics", matrices, count, refuse),
            frame_indices=as_frame_indices("frames", answer["frame_indices"], count, timeline.frame_count, refuse),
            # The runner has thinned the depth maps already.
            median_depth=median_depths(answer["depth"], 1, refuse),
            width=timeline.width,
            height=timeline.height,
            frame_count=timeline.frame_count,
        )
