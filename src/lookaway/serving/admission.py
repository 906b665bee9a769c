"""Decides which requests are taken, in which batches they are measured, and that each is measured once."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Final

from lookaway.serving.body import ClipRequest
from lookaway.serving.schema import Refused, ScoreResponse, ServingLimits
from lookaway.serving.scoring import Backend, Measured

LOG = logging.getLogger(__name__)
REMEMBERED: Final = 1000
"""Finished requests whose answer is kept, for whoever lost it and asks again."""
SMOOTHING: Final = 0.1
"""Weight of the newest batch in the mean time of a clip."""
MAX_RETRY_SECONDS: Final = 60
TRANSIENT: Final = 500
"""Refusals from this status on may not recur, so they are not remembered."""


@dataclass(slots=True, eq=False)
class _Job:
    """A request that was taken."""

    id: str
    digest: bytes
    """Hash of its body: another body under the same id is another request."""
    clip: ClipRequest | None
    """`None` once it was measured, or given up."""
    found: asyncio.Future[Measured] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    waiting: int = 0
    """How many are waiting for this answer."""


class Admission:
    """Takes requests up to a limit, and hands them to the backend in the order they came."""

    def __init__(
        self, backend: Backend, limits: ServingLimits, *, batch_window: float = 0.0, max_batch_size: int = 1
    ) -> None:
        self._backend, self._limits = backend, limits
        self._batch_window, self._max_batch_size = batch_window, max_batch_size
        self._queue: asyncio.Queue[_Job] = asyncio.Queue()
        self._jobs: dict[str, _Job] = {}
        self._finished: OrderedDict[str, None] = OrderedDict()
        self._clip_seconds = 1.0
        self.taken = 0
        """Requests that are not yet answered."""
        self.is_stopping = False

    @contextmanager
    def take(self) -> Iterator[None]:
        """Take a request, before its body is read; raises `Refused`."""
        if self.is_stopping:
            raise Refused(503, "stopping", "The server is stopping. Send the request again.", retry_after=1)
        if self.taken >= self._limits.requests:
            seconds = self._retry_seconds()
            raise Refused(
                429,
                "too_many_requests",
                f"{self.taken} requests are waiting, and no more are taken. Send it again in {seconds} s.",
                retry_after=seconds,
            )
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1

    async def answer(self, request: str, digest: bytes, clip: ClipRequest) -> ScoreResponse:
        """The answer to a request; one that is already there, or on its way, is not measured again."""
        job = self._jobs.get(request)
        if job is None:
            job = self._jobs[request] = _Job(request, digest, clip)
            self._queue.put_nowait(job)
        elif job.digest != digest:
            raise Refused(409, "conflict", "Another request has the same id. Give every request an id of its own.")
        found = await self._wait(job)
        if isinstance(found, Refused):
            raise found
        return found

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Measure what is taken, until the context ends."""
        workers = [asyncio.create_task(self._work()) for _ in range(self._backend.concurrency)]
        try:
            yield
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _wait(self, job: _Job) -> Measured:
        seconds = self._limits.answer_seconds
        job.waiting += 1
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(job.found)
        except TimeoutError:
            raise Refused(
                504,
                "timeout",
                f"There was no answer in {seconds:g} s, with {self.taken} requests taken. Send it again with the same "
                "id to get the answer once it is there, or start the server with a larger --timeout.",
                retry_after=self._retry_seconds(),
            ) from None
        finally:
            job.waiting -= 1

    async def _work(self) -> None:
        while True:
            batch = await self._next_batch()
            clips = [(job.id, job.clip) for job in batch if job.clip is not None]
            started = asyncio.get_running_loop().time()
            try:
                found = await self._backend.measure(clips) if clips else []
            except Exception:
                # The others in the queue must be answered nevertheless.
                LOG.exception("A batch failed")
                found = [Refused(500, "failed", "The measurement failed. The server's log says more.") for _ in clips]
            seconds = (asyncio.get_running_loop().time() - started) / max(1, len(clips))
            self._clip_seconds += SMOOTHING * (seconds - self._clip_seconds)
            for job, answer in zip(batch, found, strict=True):
                self._finish(job, answer)

    async def _next_batch(self) -> list[_Job]:
        """What waits, and what comes within the window; requests that nobody waits for any more are dropped."""
        batch: list[_Job] = []
        loop = asyncio.get_running_loop()
        end: float | None = None
        while len(batch) < self._max_batch_size:
            if end is not None and self._queue.empty() and loop.time() >= end:
                break
            try:
                async with asyncio.timeout_at(end):
                    job = await self._queue.get()
            except TimeoutError:
                break
            if not job.waiting:
                self._forget(job)
                continue
            batch.append(job)
            end = end or loop.time() + self._batch_window
        return batch

    def _finish(self, job: _Job, found: Measured) -> None:
        job.clip = None
        job.found.set_result(found)
        if isinstance(found, Refused) and found.status >= TRANSIENT:
            self._forget(job)
            return
        self._finished[job.id] = None
        if len(self._finished) > REMEMBERED:
            self._jobs.pop(self._finished.popitem(last=False)[0])

    def _forget(self, job: _Job) -> None:
        job.clip = None
        self._jobs.pop(job.id, None)

    def _retry_seconds(self) -> int:
        """When there should be room again, in whole seconds."""
        seconds = self.taken * self._clip_seconds / self._backend.concurrency
        return max(1, min(MAX_RETRY_SECONDS, math.ceil(seconds)))
