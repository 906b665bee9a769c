"""Runs with stored pictures of what changed where the camera came back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lookaway.core import Abstention, BoundMetric, Feature, Lock, Outcome, Reason, Score
from lookaway.engine.locking import content_key, metric_entries, recipe_key
from lookaway.engine.reading import read
from lookaway.io.pictures import jpeg_bytes
from lookaway.metrics.revisit_numbers import Remembered
from lookaway.metrics.revisit_pairs import RevisitPairs
from lookaway.perception.poses.tracked_poses import TrackedPoses
from lookaway.perception.revisit.revisit_changes import RevisitChanges
from lookaway.store.feature_store import FeatureStore
from lookaway.store.run_folder import RunFolder
from tests.support.filmed import FilmedRun

RECIPE = RevisitChanges(poses=TrackedPoses(), pairs=RevisitPairs())
NOT_REVISITED = Abstention(Reason.GATE_CLOSED, "the camera never left.")


def picture(level: int, size: tuple[int, int] = (30, 60)) -> bytes:
    """A JPEG of one grey, [height, width]."""
    return jpeg_bytes(np.full((*size, 3), level, np.uint8))


@dataclass(frozen=True)
class Changed:
    """What is known of one video."""

    areas: Sequence[float] = (0.0, 0.0)
    """Per cent that changed, for each pair."""
    light: float = 0.0
    flagged: Sequence[str] = ()
    pictures: Sequence[bytes] = (picture(40), picture(200))
    is_tested: bool = True

    def outcomes(self) -> dict[str, Outcome]:
        """By metric."""
        if not self.is_tested:
            return dict.fromkeys(("remembered", "changed_area", "light"), NOT_REVISITED)
        return {
            "remembered": Score(float(not self.flagged), detail={"flagged": list(self.flagged)}),
            "changed_area": Score(float(np.median(self.areas))),
            "light": Score(self.light),
        }

    def feature(self) -> Feature:
        """As the extractor stores it, as far as reports read it."""
        return Feature(
            {
                "pairs": np.array([[number + 1, number + 9] for number in range(len(self.areas))]),
                "changed_area": np.array(self.areas, np.float64),
                "pictures": np.frombuffer(b"".join(self.pictures), np.uint8),
                "offsets": np.cumsum([0, *map(len, self.pictures)]),
            }
        )


def changed_run(root: Path, videos: Mapping[str, Changed], case: str = "candle") -> Path:
    """A run over one video of each model, with its pictures in the store."""
    filmed = FilmedRun(root)
    for number, model in enumerate(videos):
        filmed.film(model, case, count=16 + number)  # equal videos would share their features
    found = [changed.outcomes() for changed in videos.values()]
    filmed.write({metric: [outcomes[metric] for outcomes in found] for metric in found[0]})
    about = json.loads((filmed.run / "run.json").read_text())
    rollouts = read(filmed.videos).rollouts
    locked = metric_entries(BoundMetric(name="remembered", metric=Remembered(), recipes={"changes": RECIPE}))
    lock = Lock({"dataset": {"settings": {}}, "metrics": {entry["name"]: locked for entry in about["metrics"]}})
    RunFolder(filmed.run).start(lock, [(rollout, content_key(rollout)) for rollout in rollouts], about)
    store = FeatureStore(RunFolder(filmed.run).features)
    for rollout in rollouts:
        if videos[rollout.model].is_tested:
            store.put(content_key(rollout), recipe_key(RECIPE), videos[rollout.model].feature())
    return filmed.run
