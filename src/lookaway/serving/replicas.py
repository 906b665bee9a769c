"""Measures on replicas: processes that Ray Serve starts, on this machine or a cluster, and replaces when they die."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final
from uuid import uuid4

from lookaway.core import MissingExtra, UserError
from lookaway.engine.on_ray.cluster import connect
from lookaway.serving.body import ClipRequest
from lookaway.serving.schema import Refused
from lookaway.serving.scoring import ClipScorer, Measured, ScorerRecipe

LOG = logging.getLogger(__name__)
ONGOING: Final = 2
"""Batches at a replica: one is measured while the next is on its way."""
MAX_DEATHS: Final = 5
"""A clip that so many replicas died of, one after the other, is given up."""
FIRST_WAIT_SECONDS: Final = 0.1
"""Wait after the first death; doubled after each further one."""
HEALTH_CHECK_SECONDS: Final = 1.0
"""How often Ray Serve looks for replicas that died."""
STOP_SECONDS: Final = 5.0


class ScorerReplica:
    """One replica: a process with a scorer of its own."""

    def __init__(self, recipe: ScorerRecipe) -> None:
        self._scorer = recipe.make()

    def answer(self, clips: Sequence[tuple[str, ClipRequest]]) -> list[Measured]:
        """What was found on each clip, in order."""
        return self._scorer.answer(clips)


class OnReplicas:
    """Hands batches to replicas; a batch whose replica died goes to another, so that nobody notices."""

    def __init__(
        self, recipe: ScorerRecipe, scorer: ClipScorer, replicas: int, *, address: str | None, gpus: float = 0.0
    ) -> None:
        self.metrics, self.has_reward, self.replicas = scorer.metrics, scorer.has_reward, replicas
        self.concurrency = ONGOING * replicas
        self.deaths = 0
        self._stack = ExitStack()
        cluster = self._stack.enter_context(connect(address, cores=replicas))
        try:
            from ray import serve
        except ImportError as error:
            self._stack.close()
            raise MissingExtra("--replicas", "serve,serve-ray") from error
        self._ray, self._name = cluster.ray, f"lookaway-{uuid4().hex[:12]}"
        logging.getLogger("ray.serve").setLevel(logging.ERROR)
        try:
            self._handle = self._deploy(serve, recipe, gpus)
        except BaseException:
            self._stack.close()
            raise

    async def measure(self, clips: Sequence[tuple[str, ClipRequest]]) -> list[Measured]:
        """What was found on each clip, in order. A measurement changes nothing, so it may be repeated."""
        for death in range(MAX_DEATHS):
            try:
                found: list[Measured] = await self._handle.answer.remote(list(clips))
            except self._ray.exceptions.RayActorError:
                self.deaths += 1
                LOG.warning("A replica died with %d requests, which go to another", len(clips))
                if len(clips) > 1:  # alone, so that one of them cannot end the others
                    return [answer for clip in clips for answer in await self.measure([clip])]
                # One that cannot be reached for a moment looks like a dead one.
                await asyncio.sleep(FIRST_WAIT_SECONDS * 2**death)
            else:
                return found
        message = f"{MAX_DEATHS} replicas died of this request, one after the other. Send a smaller clip."
        return [Refused(500, "replica_died", message) for _ in clips]

    def close(self) -> None:
        """Stop the replicas, and Ray where it was started for them."""
        from ray import serve

        try:
            serve.delete(self._name)
        finally:
            self._stack.close()

    def _deploy(self, serve: Any, recipe: ScorerRecipe, gpus: float) -> Any:
        """Start the replicas and wait until they are ready."""
        # Requests come through the server of this process, so Ray Serve needs none of its own.
        serve.start(proxy_location="Disabled", logging_config={"log_level": "ERROR"})
        deployment = serve.deployment(
            ScorerReplica,
            name="scorer",
            num_replicas=self.replicas,
            max_ongoing_requests=ONGOING,
            health_check_period_s=HEALTH_CHECK_SECONDS,
            graceful_shutdown_timeout_s=STOP_SECONDS,
            ray_actor_options={"num_cpus": 1, "num_gpus": gpus},
            logging_config={"log_level": "ERROR", "enable_access_log": False},
        )
        try:
            return serve.run(deployment.bind(recipe), name=self._name, route_prefix=None)
        except RuntimeError as error:
            raise UserError(f"Ray Serve could not start {self.replicas} replicas: {error}") from error
