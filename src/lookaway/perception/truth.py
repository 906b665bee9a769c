"""The truth beside a clip of the simulated world, for extractors that read it instead of perceiving."""

from __future__ import annotations

from typing import Final

from lookaway.core import Abstention, ArtifactError, DatasetError, Reason, Rollout, Timeline
from lookaway.io.world_clips import WorldClip

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
            f"clip.json tells of {clip.card.frames} frames, the video has {timeline.frame_count}: "
            "they do not belong together.",
        )
    return clip
