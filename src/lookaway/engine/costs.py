"""How long a run will take and how much disk it needs, from a look at a few of its rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lookaway.core import Unmeasurable
from lookaway.engine.worker import Perceiving, RolloutWorker, Work

DECODED_FRAMES_PER_SECOND = 200
"""At 480p on one core, with conversion to RGB."""
ROW_BYTES = 60
"""One compressed row."""
ROWS_PER_METRIC = 21
"""An item and the pairs of a fold."""
LOOKED_AT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """An estimate; `looked_at` says how many rollouts it rests on."""

    rollouts: int
    measurements: int
    decode_seconds: float
    feature_seconds: float
    disk_bytes: float
    looked_at: int

    @property
    def seconds(self) -> float:
        """All work, on one core."""
        return self.decode_seconds + self.feature_seconds


def estimate_cost(work: Sequence[Work], worker: RolloutWorker) -> Cost:
    """Open a few rollouts, ask the extractors which frames they would want, and scale up."""
    measurements = sum(len(entry.metrics) for entry in work)
    looked = [_look(entry, worker) for entry in work[:: max(1, len(work) // LOOKED_AT)][:LOOKED_AT]]
    readable = [look for look in looked if look is not None]
    scale = len(work) / len(looked) if looked else 0.0
    return Cost(
        rollouts=len(work),
        measurements=measurements,
        decode_seconds=scale * sum(frames for frames, _, _ in readable) / DECODED_FRAMES_PER_SECOND,
        feature_seconds=scale * sum(seconds for _, seconds, _ in readable),
        disk_bytes=scale * sum(size for _, _, size in readable) + measurements * ROWS_PER_METRIC * ROW_BYTES,
        looked_at=len(looked),
    )


def _look(work: Work, worker: RolloutWorker) -> tuple[int, float, float] | None:
    """Frames decoded, seconds and bytes of features of one rollout."""
    recipes = [recipe for name in work.metrics for recipe in worker.metrics[name].recipes.values()]
    perceiving = Perceiving(worker, work, recipes)
    try:
        requests = perceiving.rehearse()
    except Unmeasurable:
        return None
    frames = max((max(request.indices, default=-1) + 1 for request in requests.values()), default=0)
    seconds = sum(recipe.seconds_per_frame * len(request.indices) for recipe, request in requests.items())
    size = sum(recipe.bytes_per_frame * len(request.indices) for recipe, request in requests.items())
    return frames, seconds, size
