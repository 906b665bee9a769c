"""Features that the simulated world knows, in place of those that published networks would see.

They are what a network without fault would tell, so that a metric fed with them shows what it measures by itself. The
world has no people: its target stands in for one, with a face that turns into another as its identity is lost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Extractor, Feature, Features, Floats, FramelessExtractor, Rollout, Sampler, Timeline
from lookaway.io.phases import EveryInPhases
from lookaway.io.world_clips import WorldClip
from lookaway.judges.oracle.clip_index import KnownClip
from lookaway.judges.oracle.true_answers import TRUE_ANSWERS
from lookaway.judges.probe_probabilities import ProbeProbabilities
from lookaway.perception.masks.text_detections import TextDetections
from lookaway.perception.truth import TruthExtractor, open_truth
from lookaway.world.recipe import PERFECT

STRANGER_DEGREES: Final = 80.0
"""Between a face and the likest stranger that MBench's tracks still take for it: cosines below 0.15 open a track."""
IDENTITY_FAULTS: Final = frozenset({"identity_texture", "identity_colour", "identity_shape"})
ABSENT_BELOW: Final = 0.5
"""A target of less opacity has no face."""


@dataclass(frozen=True, slots=True)
class _TrueFeature(TruthExtractor):
    """What they have in common: they read the truth beside a clip."""

    seconds_per_frame: ClassVar[float] = 0.0
    bytes_per_frame: ClassVar[float] = 0.0
    arrays: ClassVar[Mapping[str, str]] = {}

    frames: Sampler

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the truth about the sampled frames."""
        return self._read(open_truth(rollout, timeline), rollout, np.array(self.frames.indices(timeline, rollout)))

    def _read(self, clip: WorldClip, rollout: Rollout, wanted: NDArray[np.int64]) -> Feature:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TrueStyle(_TrueFeature):
    """Distances in style of consecutive frames: how much more of the other style the later one has."""

    name: ClassVar[str] = "true_style"

    def _read(self, clip: WorldClip, rollout: Rollout, wanted: NDArray[np.int64]) -> Feature:
        weights = np.where(_is_after(clip, wanted), _severity(clip, frozenset({"style_shift"})), 0.0)
        return Feature({"distances": np.abs(np.diff(weights))[:, None], "frame_indices": wanted})


@dataclass(frozen=True, slots=True)
class TrueFaces(_TrueFeature):
    """The face of the target wherever it is seen: turned towards a stranger's by as much as its identity is lost."""

    name: ClassVar[str] = "true_faces"

    def _read(self, clip: WorldClip, rollout: Rollout, wanted: NDArray[np.int64]) -> Feature:
        truth = clip.arrays()
        seen = wanted[(truth.visible_area[wanted, 0] > 0) & (truth.opacity[wanted, 0] >= ABSENT_BELOW)]
        lost = np.where(_is_after(clip, seen), _severity(clip, IDENTITY_FAULTS), 0.0)
        angles = np.radians(STRANGER_DEGREES * lost)
        return Feature({"embeddings": np.stack([np.cos(angles), np.sin(angles)], axis=1), "frame_indices": seen})


@dataclass(frozen=True, slots=True)
class TrueLikeness(_TrueFeature):
    """How far a frame shows what the prompt tells: the target seen or not, there or not, in its state or not.

    The clip of the same case without faults shows what the prompt tells, for the prompt is written from it.
    """

    name: ClassVar[str] = "true_likeness"

    world: str

    def _read(self, clip: WorldClip, rollout: Rollout, wanted: NDArray[np.int64]) -> Feature:
        told = WorldClip.open(Path(self.world) / "clips" / clip.card.case / PERFECT / str(clip.card.take)).arrays()
        shown = clip.arrays()
        is_as_told = (shown.visible_area[:, 0] > 0) == (told.visible_area[:, 0] > 0)
        presence = 1 - np.abs(shown.opacity[:, 0] - told.opacity[:, 0])
        state = 1 - np.abs(shown.progress - told.progress).max(axis=1)
        # A target that comes back as a ghost is seen, but not as told; one that is gone is not seen, which is one lie.
        similarity: Floats = np.where(is_as_told | (presence < 1), presence * state, 0.0)[wanted]
        cosines = np.repeat(similarity[:, None], max(1, len(rollout.case.prompt)), axis=1)
        return Feature({"cosines": cosines, "frame_indices": wanted}, {"frame_count": clip.card.frames})


@dataclass(frozen=True, slots=True)
class BodiesOfFaces(FramelessExtractor):
    """What the masks of the target show, as the body of the one face of a frame."""

    name: ClassVar[str] = "bodies_of_faces"
    seconds_per_frame: ClassVar[float] = 0.0
    bytes_per_frame: ClassVar[float] = 0.0
    arrays: ClassVar[Mapping[str, str]] = {}

    regions: Extractor

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """What the masks show."""
        return {"regions": self.regions}

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """The regions, all of one thing."""
        regions = features["regions"]
        return Feature({**regions.arrays, "things": np.zeros(len(regions["things"]), np.int64)})


@dataclass(frozen=True, slots=True)
class TrueRegions(_TrueFeature):
    """What the masks of the target would show: a vector that turns as the face does."""

    name: ClassVar[str] = "true_regions"

    def _read(self, clip: WorldClip, rollout: Rollout, wanted: NDArray[np.int64]) -> Feature:
        faces = TrueFaces(self.frames)._read(clip, rollout, wanted)
        frames = faces["frame_indices"]
        areas = clip.arrays().visible_area[frames, 0] / (clip.card.width * clip.card.height)
        things = np.zeros(len(frames), np.int64)
        return Feature({"vectors": faces["embeddings"], "frame_indices": frames, "things": things, "areas": areas})


@dataclass(frozen=True, slots=True)
class TrueProbes(_TrueFeature):
    """What a judge without fault would say to every probe."""

    name: ClassVar[str] = "true_probes"

    world: str

    def _read(self, clip: WorldClip, rollout: Rollout, wanted: NDArray[np.int64]) -> Feature:
        told = WorldClip.open(Path(self.world) / "clips" / clip.card.case / PERFECT / str(clip.card.take))
        known, probes = KnownClip(clip, told), ProbeProbabilities().probes
        answers = [TRUE_ANSWERS[f"probe_{probe.name.replace('.', '_')}"](known, {}, ()) for probe in probes]
        arrays = {
            "p_yes": np.array(answers, np.float64)[:, None],
            "is_positive": np.array([probe.is_positive for probe in probes]),
        }
        return Feature(arrays, {"probes": [probe.name for probe in probes]})


@dataclass(frozen=True, slots=True)
class ErringDetections(TruthExtractor):
    """What a detector that errs would find: the target where it is, and a few other things in every frame.

    The log odds of a score are drawn from a normal distribution of deviation 1, half of whose variance a whole clip
    shares: about `separation` for the target, about minus `separation` for other things, and in between for a target
    that is half transparent. At 2, the least sure fortieth of either is as sure as a typical guess of even odds.
    """

    name: ClassVar[str] = "erring_detections"
    seconds_per_frame: ClassVar[float] = 0.0
    bytes_per_frame: ClassVar[float] = 0.0
    arrays: ClassVar[Mapping[str, str]] = TextDetections.arrays

    separation: float
    others: int = 3
    """Other things that are found in every frame."""
    draw: int = 0
    frames: Sampler = EveryInPhases(("reappeared",))

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Draw the detections of all frames."""
        clip, wanted = open_truth(rollout, timeline), np.array(self.frames.indices(timeline, rollout))
        truth = clip.arrays()
        areas = truth.visible_area[wanted, 0] / (clip.card.width * clip.card.height)
        opacity = np.where(areas > 0, truth.opacity[wanted, 0], 0.0)
        seed = hashlib.sha256(f"{clip.card.case}/{clip.card.model}/{clip.card.take}/{self.draw}".encode()).digest()
        scores = drawn_scores(opacity, self.separation, self.others, np.random.default_rng(list(seed[:8])))
        # The published filter drops detections that are too small; other things are as large as a usual target.
        coverages = np.full(scores.shape, USUAL_COVERAGE)
        coverages[:, 0] = areas
        return Feature(
            {
                "coverages": coverages.ravel(),
                "scores": scores.ravel(),
                "detection_frames": np.repeat(wanted, scores.shape[1]),
                "frame_indices": wanted,
            }
        )


USUAL_COVERAGE: Final = 0.02
"""Share of the frame that another thing covers."""


def drawn_scores(opacity: Floats, separation: float, others: int, random: np.random.Generator) -> Floats:
    """[frames, 1 + others] scores from 0 to 1: of the target, then of other things."""
    means = np.full((len(opacity), 1 + others), -separation)
    means[:, 0] = separation * (2 * opacity - 1)
    of_clip = random.normal(0, np.sqrt(0.5), 1 + others)
    odds = means + of_clip + random.normal(0, np.sqrt(0.5), means.shape)
    return np.asarray(1 / (1 + np.exp(-odds)))


def _severity(clip: WorldClip, faults: frozenset[str]) -> float:
    return max((found.severity for found in clip.card.injections if found.fault in faults), default=0.0)


def _is_after(clip: WorldClip, frames: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether faults that begin unseen have begun: half-way through the time in which the target is unseen."""
    return np.asarray(frames >= sum(clip.card.phases.disappeared) // 2)
