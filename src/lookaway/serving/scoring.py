"""Measures the clips of requests: in this process, and in each replica, with the same class."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from lookaway.core import Compute, ProtocolName, UserError
from lookaway.engine.scorer import Scorer, VideoScores
from lookaway.serving.body import ClipRequest
from lookaway.serving.schema import Refused, ScoreResponse, as_response
from lookaway.training.reward import Reward, RewardRecipe

LOG = logging.getLogger(__name__)

Measured: TypeAlias = ScoreResponse | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerRecipe:
    """How to make a scorer, in this process or in another; values only."""

    metrics: tuple[str, ...] | None = None
    suite: str = "revisit"
    protocol: ProtocolName | None = None
    using: tuple[tuple[str, str], ...] = ()
    reward: RewardRecipe | None = None
    """A reward, instead of metrics."""
    compute: Compute | None = None

    def make(self) -> ClipScorer:
        """Load everything."""
        if self.reward is None:
            using, suite = dict(self.using), self.suite
            return ClipScorer(
                Scorer(self.metrics, suite=suite, protocol=self.protocol, using=using, compute=self.compute)
            )
        return ClipScorer(Reward(self.reward, compute=self.compute))


class ClipScorer:
    """A scorer or a reward that answers requests."""

    def __init__(self, measure: Scorer | Reward) -> None:
        self._measure = measure

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of what is measured."""
        return (self._measure.scorer if isinstance(self._measure, Reward) else self._measure).metrics

    @property
    def has_reward(self) -> bool:
        """Whether answers have a reward."""
        return isinstance(self._measure, Reward)

    def answer(self, clips: Sequence[tuple[str, ClipRequest]]) -> list[Measured]:
        """What was found on each clip, in order; what a clip does wrong is an answer, and does not stop the others."""
        return [self._answer_one(request, clip) for request, clip in clips]

    def _answer_one(self, request: str, clip: ClipRequest) -> Measured:
        options = clip.options
        try:
            if isinstance(self._measure, Reward):
                earned = self._measure.of(self._scores(self._measure.scorer, clip))
                found = as_response(request, earned.scores, earned)
            else:
                found = as_response(request, self._scores(self._measure, clip))
        except UserError as error:
            return Refused(422, "invalid_clip", str(error))
        except Exception as error:
            # What a measurement may raise is unknown, and the next request must be answered nevertheless.
            LOG.exception("A request failed")
            return Refused(
                500, "failed", f"The measurement failed ({type(error).__name__}). The server's log says more."
            )
        if options.metrics is None:
            return found
        return found.model_copy(
            update={
                "outcomes": {name: outcome for name, outcome in found.outcomes.items() if name in options.metrics},
                "untested": tuple(name for name in found.untested if name in options.metrics),
            }
        )

    def _scores(self, scorer: Scorer, clip: ClipRequest) -> VideoScores:
        options = clip.options
        return scorer(clip.frames, fps=options.fps, paths=clip.paths, prompt=options.prompt, action=options.action)


class Backend(Protocol):
    """Where clips are measured."""

    metrics: tuple[str, ...]
    has_reward: bool
    replicas: int
    """0 in this process."""
    concurrency: int
    """Batches that are worked on at once."""
    deaths: int
    """Batches whose replica died while it had them."""

    async def measure(self, clips: Sequence[tuple[str, ClipRequest]]) -> list[Measured]:
        """What was found on each clip, in order."""

    def close(self) -> None:
        """Stop, once nothing is measured any more."""


class InProcess:
    """Measures in a thread of this process, one clip at a time, so that the server goes on answering."""

    replicas = deaths = 0
    concurrency = 1

    def __init__(self, scorer: ClipScorer) -> None:
        self._scorer = scorer
        self.metrics, self.has_reward = scorer.metrics, scorer.has_reward
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="scorer")

    async def measure(self, clips: Sequence[tuple[str, ClipRequest]]) -> list[Measured]:
        """What was found on each clip, in order."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._scorer.answer, clips)

    def close(self) -> None:
        """Stop the thread."""
        self._thread.shutdown(wait=True)
