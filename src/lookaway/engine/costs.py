"""How long a run will take and how much disk it needs, from a look at a few of its rollouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lookaway.core import AskingExtractor, BoundMetric, Unmeasurable
from lookaway.engine.perceiving import Extractors, Perceiving
from lookaway.engine.worker import Work
from lookaway.store.feature_store import FeatureStore

DECODED_FRAMES_PER_SECOND = 200
"""At 480p on one core, with conversion to RGB."""
ROW_BYTES = 60
"""One compressed row."""
ROWS_PER_METRIC = 21
"""An item and the pairs of a fold."""
TOKENS_PER_QUESTION, TOKENS_PER_PICTURE = 900, 500
"""Question and answer in words, and a frame of 480p as a vision-language model cuts it up: the order of magnitude."""
LOOKED_AT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """An estimate; `looked_at` says how many rollouts it rests on."""

    rollouts: int
    measurements: int
    decode_seconds: float
    feature_seconds: float
    disk_bytes: float
    judge_calls: int
    """Questions that a judge is asked; tries that fail come on top."""
    judge_tokens: int
    looked_at: int

    @property
    def seconds(self) -> float:
        """All work, on one core."""
        return self.decode_seconds + self.feature_seconds


def estimate_cost(work: Sequence[Work], metrics: Iterable[BoundMetric], features: Path | None = None) -> Cost:
    """Open a few rollouts, ask the extractors which frames they would want, and scale up; nothing is written.

    `features` is the folder of features that need not be perceived again.
    """
    # A store that keeps nothing: what is perceived for an estimate must leave no trace.
    extractors = Extractors(FeatureStore(features, most_bytes=-1) if features else None)
    bounds = {bound.name: bound for bound in metrics}
    measurements = sum(len(entry.metrics) for entry in work)
    looks = [_look(entry, bounds, extractors) for entry in work[:: max(1, len(work) // LOOKED_AT)][:LOOKED_AT]]
    scale = len(work) / len(looks) if looks else 0.0
    return Cost(
        rollouts=len(work),
        measurements=measurements,
        decode_seconds=scale * sum(look.frames for look in looks) / DECODED_FRAMES_PER_SECOND,
        feature_seconds=scale * sum(look.seconds for look in looks),
        disk_bytes=scale * sum(look.size for look in looks) + measurements * ROWS_PER_METRIC * ROW_BYTES,
        judge_calls=round(scale * sum(look.questions for look in looks)),
        judge_tokens=round(
            scale * sum(look.questions * TOKENS_PER_QUESTION + look.pictures * TOKENS_PER_PICTURE for look in looks)
        ),
        looked_at=len(looks),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What one rollout takes; nothing where it cannot be opened."""

    frames: int = 0
    seconds: float = 0.0
    size: float = 0.0
    questions: int = 0
    pictures: int = 0


def _look(work: Work, bounds: Mapping[str, BoundMetric], extractors: Extractors) -> _Look:
    recipes = [recipe for name in work.metrics for recipe in bounds[name].recipes.values()]
    try:
        requests = Perceiving(extractors, work.rollout, work.content, recipes).rehearse()
    except Unmeasurable:
        return _Look()
    asked = {
        recipe: recipe.questions_per_rollout(work.rollout) for recipe in requests if isinstance(recipe, AskingExtractor)
    }
    return _Look(
        frames=max((max(request.indices, default=-1) + 1 for request in requests.values()), default=0),
        seconds=sum(recipe.seconds_per_frame * len(request.indices) for recipe, request in requests.items()),
        size=sum(recipe.bytes_per_frame * len(request.indices) for recipe, request in requests.items()),
        questions=sum(asked.values()),
        pictures=sum(count * len(requests[recipe].indices) for recipe, count in asked.items()),
    )
