"""The truth beside a clip of the simulated world, for extractors that read it instead of looking at frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final

import numpy as np

from lookaway.core import (
    MASK_ARRAYS,
    TRAJECTORY_ARRAYS,
    Abstention,
    ArtifactError,
    DatasetError,
    Feature,
    Features,
    Floats,
    FramelessExtractor,
    Mask,
    MaskTrack,
    Reason,
    Rollout,
    Sampler,
    Timeline,
)
from lookaway.io.sampling import UniformFrames
from lookaway.io.video import probe
from lookaway.io.world_clips import WorldClip
from lookaway.perception.masks.grounding_dino_boxes import BOX_ARRAYS
from lookaway.perception.masks.text_detections import TextDetections

TRUTH: Final = "truth"
"""The artifact that names the `clip.json` of a clip."""


def lacks_truth(rollout: Rollout) -> Abstention | None:
    """Why nothing is known to be true of a rollout."""
    path = rollout.artifacts.get(TRUTH)
    if path is None or not path.is_file():
        return Abstention(
            Reason.MISSING_INPUT, "no clip.json beside the video: only clips of the simulated world have truth."
        )
    return None


def open_truth(rollout: Rollout, timeline: Timeline) -> WorldClip:
    """The clip that the rollout's video belongs to; an `ArtifactError` where its card is not valid or not its own."""
    try:
        clip = WorldClip.open(rollout.artifacts[TRUTH].parent)
    except DatasetError as error:
        raise ArtifactError(Reason.INVALID_INPUT, str(error)) from error
    if clip.card.frames != timeline.frame_count:
        raise ArtifactError(
            Reason.INVALID_INPUT,
            f"clip.json has {clip.card.frames} frames, the video has {timeline.frame_count}: "
            "they do not belong together.",
        )
    return clip


class TruthExtractor(FramelessExtractor):
    """An extractor that reads the truth beside a clip of the simulated world."""

    __slots__ = ()
    seconds_per_frame: ClassVar[float] = 0.003

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether there is any truth."""
        return lacks_truth(rollout)


@dataclass(frozen=True, slots=True)
class TruePoses(TruthExtractor):
    """The executed path of the camera, from the truth of the simulated world."""

    name: ClassVar[str] = "true_poses"
    constants: ClassVar[tuple[str, ...]] = (f"{WorldClip.__module__}:DEPTH_STRIDE",)
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the camera of every frame."""
        return open_truth(rollout, timeline).trajectory().to_feature()


@dataclass(frozen=True, slots=True)
class TrueRequestedPoses(TruthExtractor):
    """The path that the camera was asked to take, from the truth of the simulated world."""

    name: ClassVar[str] = "true_requested_poses"
    constants: ClassVar[tuple[str, ...]] = (f"{WorldClip.__module__}:DEPTH_STRIDE",)
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS
    of_reference: ClassVar[bool] = True

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the requested camera of every frame."""
        clip = open_truth(rollout, timeline)
        requested = clip.arrays().requested_camera_to_world
        return replace(clip.trajectory(), camera_to_world=requested).to_feature()


@dataclass(frozen=True, slots=True)
class TrueReferencePoses(TruthExtractor):
    """The executed path of the camera of the reference, from the truth of the simulated world."""

    name: ClassVar[str] = "true_reference_poses"
    constants: ClassVar[tuple[str, ...]] = (f"{WorldClip.__module__}:DEPTH_STRIDE",)
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS
    of_reference: ClassVar[bool] = True

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether there is a reference with a truth."""
        reference = rollout.case.reference
        if reference is None:
            return Abstention(Reason.MISSING_INPUT, "the world has no clip of this case without a fault.")
        return lacks_truth(replace(rollout, artifacts=reference.artifacts))

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the camera of every frame of the reference."""
        reference = rollout.case.reference
        assert reference is not None  # noqa: S101 - `declines` refuses a case without one
        own = replace(rollout, artifacts=reference.artifacts)
        return open_truth(own, probe(reference.video)).trajectory().to_feature()


@dataclass(frozen=True, slots=True)
class TrueMasks(TruthExtractor):
    """Masks of the target, or of all things, from the truth of the simulated world.

    A thing keeps its id of `clip.json`. Where it is unseen, its mask is empty.
    """

    name: ClassVar[str] = "true_masks"
    bytes_per_frame: ClassVar[float] = 3000.0
    arrays: ClassVar[Mapping[str, str]] = MASK_ARRAYS

    frames: Annotated[Sampler, "which frames have masks"] = UniformFrames(32)
    all_things: Annotated[bool, "whether every thing has masks, or the target alone"] = False

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the masks of the sampled frames."""
        clip, wanted = open_truth(rollout, timeline), frozenset(self.frames.indices(timeline, rollout))
        things = [thing.id for thing in (clip.card.things if self.all_things else clip.card.things[:1])]
        masks, frames, shown = [], [], []
        for index, plane in enumerate(clip.instances()):
            if index in wanted:
                masks += [plane == thing for thing in things]
                frames += [index] * len(things)
                shown += things
        return MaskTrack.of(masks, frames, shown, [1.0] * len(masks)).to_feature()


@dataclass(frozen=True, slots=True)
class TrueBoxes(TruthExtractor):
    """The box around what is seen of the target, from the truth of the simulated world."""

    name: ClassVar[str] = "true_boxes"
    bytes_per_frame: ClassVar[float] = 36.0
    arrays: ClassVar[Mapping[str, str]] = BOX_ARRAYS

    frames: Annotated[Sampler, "which frames are sampled"] = UniformFrames(32)

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the box of the target in the sampled frames."""
        clip, wanted = open_truth(rollout, timeline), self.frames.indices(timeline, rollout)
        seen = {
            index: _box(mask)
            for index, mask in enumerate(clip.masks(clip.card.things[0].id))
            if index in wanted and mask.any()
        }
        return Feature(
            {
                "boxes": np.array(list(seen.values()), np.float32).reshape(-1, 4),
                "scores": np.ones(len(seen), np.float32),
                "frame_indices": np.array(list(seen), np.int64),
                "looked_at": np.array(wanted, np.int64),
            }
        )


def _box(mask: Mask) -> tuple[float, ...]:
    height, width = mask.shape
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return columns[0] / width, rows[0] / height, (columns[-1] + 1) / width, (rows[-1] + 1) / height


@dataclass(frozen=True, slots=True)
class TrueDetections(TruthExtractor):
    """What a detector that never errs finds of the target, from the truth of the simulated world; its scores are 1."""

    name: ClassVar[str] = "true_detections"
    bytes_per_frame: ClassVar[float] = 32.0
    arrays: ClassVar[Mapping[str, str]] = TextDetections.arrays

    frames: Annotated[Sampler, "which frames are looked at"]

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read how much of the sampled frames the target covers."""
        clip, wanted = open_truth(rollout, timeline), self.frames.indices(timeline, rollout)
        covered = {
            index: mask.mean()
            for index, mask in enumerate(clip.masks(clip.card.things[0].id))
            if index in wanted and mask.any()
        }
        return Feature(
            {
                "coverages": np.array(list(covered.values()), np.float64),
                "scores": np.ones(len(covered)),
                "detection_frames": np.array(list(covered), np.int64),
                "frame_indices": np.array(wanted, np.int64),
            }
        )


@dataclass(frozen=True, slots=True)
class TrueDepth(TruthExtractor):
    """Depth of sampled frames, from the truth of the simulated world; every so many pixels in both directions."""

    name: ClassVar[str] = "true_depth"
    bytes_per_frame: ClassVar[float] = 50_000.0
    arrays: ClassVar[Mapping[str, str]] = {
        "depth": "float16 [frames, rows, columns]: metres along the axis of the camera, 0 for the sky",
        "frame_indices": "int64 [frames]: the frame of each picture",
        "size": "int64 [2]: width and height of the frames",
    }

    frames: Annotated[Sampler, "which frames have depth"] = UniformFrames(32)
    stride: Annotated[int, "every so many pixels are kept, the first in the middle of the first so many"] = 4

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the depth of the sampled frames."""
        clip, wanted = open_truth(rollout, timeline), self.frames.indices(timeline, rollout)
        return Feature(
            {
                "depth": _depth_maps(clip, wanted, self.stride).astype(np.float16),
                "frame_indices": np.array(wanted, np.int64),
                "size": np.array([clip.card.width, clip.card.height]),
            }
        )


@dataclass(frozen=True, slots=True)
class TrueInverseDepth(TruthExtractor):
    """Inverse depth of sampled frames, from the truth of the simulated world; every so many pixels both ways."""

    name: ClassVar[str] = "true_inverse_depth"
    bytes_per_frame: ClassVar[float] = 50_000.0
    arrays: ClassVar[Mapping[str, str]] = {
        "inverse_depth": "float16 [frames, rows, columns]: 1 / metres along the axis of the camera, 0 for the sky",
        "frame_indices": "int64 [frames]: the frame of each row",
    }

    frames: Annotated[Sampler, "which frames are sampled"]
    stride: Annotated[int, "every so many pixels are kept, the first in the middle of the first so many"] = 4

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the depth of the sampled frames, and invert it."""
        clip, wanted = open_truth(rollout, timeline), self.frames.indices(timeline, rollout)
        depth = _depth_maps(clip, wanted, self.stride)
        inverse = np.divide(1, depth, out=np.zeros_like(depth), where=depth > 0)
        return Feature({"inverse_depth": inverse.astype(np.float16), "frame_indices": np.array(wanted, np.int64)})


def _depth_maps(clip: WorldClip, wanted: Sequence[int], stride: int) -> Floats:
    """[wanted, rows, columns] metres, 0 for the sky."""
    pixels = slice(stride // 2, None, stride)
    return np.stack([plane[pixels, pixels] for index, plane in enumerate(clip.depth()) if index in wanted])


@dataclass(frozen=True, slots=True)
class TrueStates(TruthExtractor):
    """Places and states of all things in every frame, from the truth of the simulated world; the target is first."""

    name: ClassVar[str] = "true_states"
    seconds_per_frame: ClassVar[float] = 0.0001
    bytes_per_frame: ClassVar[float] = 900.0
    arrays: ClassVar[Mapping[str, str]] = {
        "things": "int64 [things]: ids as in `clip.json`",
        "position": "float64 [frames, things, 3]: metres, z up",
        "quaternion_wxyz": "float64 [frames, things, 4]: orientation",
        "opacity": "float64 [frames, things]: from 0 (absent) to 1",
        "visible_area": "int64 [frames, things]: pixels",
        "progress": "float64 [frames, 2]: of the motion and of the process, from 0 to 1",
    }

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the states of every frame."""
        clip = open_truth(rollout, timeline)
        truth = clip.arrays()
        return Feature(
            {
                "things": np.array([thing.id for thing in clip.card.things]),
                "position": truth.position,
                "quaternion_wxyz": truth.quaternion_wxyz,
                "opacity": truth.opacity,
                "visible_area": truth.visible_area,
                "progress": truth.progress,
            }
        )
