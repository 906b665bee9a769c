"""Where things of the simulated world are really seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from lookaway.core import MASK_ARRAYS, Abstention, Extractor, Feature, Features, MaskTrack, Rollout, Timeline
from lookaway.io.sampling import Sampler, UniformFrames
from lookaway.io.world_clips import WorldClip
from lookaway.perception.reading import Reading
from lookaway.perception.truth import lacks_truth, open_truth


@dataclass(frozen=True, slots=True)
class TrueMasks:
    """Masks of the target, or of all things, from the truth of the simulated world.

    A thing keeps its id of `clip.json`. Where it is unseen, its mask is empty.
    """

    name: ClassVar[str] = "true_masks"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ()
    seconds_per_frame: ClassVar[float] = 0.003
    bytes_per_frame: ClassVar[float] = 3000.0
    arrays: ClassVar[Mapping[str, str]] = MASK_ARRAYS
    needs: ClassVar[Mapping[str, Extractor]] = {}

    frames: Annotated[Sampler, "which frames have masks"] = UniformFrames(32)
    all_things: Annotated[bool, "whether every thing has masks, or the target alone"] = False

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether there is any truth."""
        return lacks_truth(rollout)

    def load(self) -> TrueMasks:
        """Nothing to load."""
        return self

    def begin(self, rollout: Rollout, timeline: Timeline, features: Features) -> Reading:
        """Start on one rollout."""
        clip, wanted = open_truth(rollout, timeline), frozenset(self.frames.indices(timeline, rollout))
        return Reading(lambda: self._read(clip, wanted))

    def _read(self, clip: WorldClip, wanted: frozenset[int]) -> Feature:
        things = [thing.id for thing in (clip.card.things if self.all_things else clip.card.things[:1])]
        masks, frames, shown = [], [], []
        for index, plane in enumerate(clip.instances()):
            if index in wanted:
                masks += [plane == thing for thing in things]
                frames += [index] * len(things)
                shown += things
        return MaskTrack.of(masks, frames, shown, [1.0] * len(masks)).to_feature()
