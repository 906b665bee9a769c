"""Four features that need no weights, as a metric of the engine and as the loop that somebody would write by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np

from lookaway.core import (
    Abstention,
    BoundMetric,
    Dataset,
    Extraction,
    Extractor,
    Feature,
    Features,
    Floats,
    FrameRequest,
    Outcome,
    Rollout,
    Score,
    plugins,
)
from lookaway.io.video import Video
from lookaway.metrics.fold_pairs import FoldPairs
from lookaway.perception.motion.dis_flow import DisFlow
from lookaway.perception.motion.realised_motion import RealisedMotion
from lookaway.perception.poses.sift_matches import SiftMatches
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from lookaway.perception.quality.lab_means import LabMeans
from lookaway.suites.folder import Folder

POSES, FLOW = SuppliedPoses(), DisFlow()
WATCHING: dict[str, Extractor] = {
    "lab_means": LabMeans(),
    "dis_flow": FLOW,
    "sift_matches": SiftMatches(poses=POSES, pairs=FoldPairs(), height=240, keypoints=1000),
}
MOTION = RealisedMotion(FLOW)
FEATURES = ("lab_means", "dis_flow", "realised_motion", "sift_matches")


@dataclass(frozen=True, slots=True)
class FourFeatures:
    """The mean of four features, so that all four are needed."""

    name: ClassVar[str] = "four_features"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "score"
    raw_unit: ClassVar[str | None] = None
    range: ClassVar[tuple[float | None, float | None]] = (None, None)
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = FEATURES
    uses: ClassVar[tuple[str, ...]] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return Score(float(summary(features).mean()))


class FourFeaturesOfFolder(Folder):
    """A folder of videos of which the four features are asked."""

    name: ClassVar[str] = "four_features"

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """As any folder of videos."""
        return replace(super().read(root, options), suite=self.name)

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """The one metric."""
        recipes: dict[str, Extractor] = {**WATCHING, "realised_motion": MOTION}
        return (BoundMetric(name=FourFeatures.name, metric=FourFeatures(), recipes=recipes),)


def install() -> str:
    """Offer the suite by its name, which is returned."""
    kind = FourFeaturesOfFolder
    plugins._offers("suites")[kind.name] = [
        EntryPoint(kind.name, f"{kind.__module__}:{kind.__name__}", "lookaway.suites")
    ]
    return kind.name


def summary(features: Features) -> Floats:
    """One number of each feature."""
    lab, flow, motion, matches = (features[name] for name in FEATURES)
    numbers = (lab["lab"], flow["flow"], motion["camera"], matches["points_1"])
    return np.array([array.mean(dtype=np.float64) for array in numbers])


class ByHand:
    """Decodes a clip once and computes the four features, and nothing else: no hashes, no rows, nothing kept."""

    def __init__(self) -> None:
        self._poses, self._motion = POSES.load(), MOTION.load()
        self._watchers = {name: recipe.load() for name, recipe in WATCHING.items()}

    def __call__(self, rollout: Rollout) -> Floats:
        """One number of each feature."""
        with Video(rollout.video) as video:
            timeline = video.timeline
            needs = {"poses": _seen(self._poses.start(rollout, timeline, {}))}
            watches = {name: loaded.start(rollout, timeline, needs) for name, loaded in self._watchers.items()}
            order = list(watches.values())
            for position, frame in video.frames([cast(FrameRequest, watch.request) for watch in order]):
                order[position].add_frame(frame)
            features = {name: _seen(watch) for name, watch in watches.items()}
            motion = self._motion.start(rollout, timeline, {"flow": features["dis_flow"]})
        return summary({**features, "realised_motion": _seen(motion)})


def _seen(watch: Extraction) -> Feature:
    return cast(Feature, watch.finish())
