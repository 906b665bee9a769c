"""Sends requests to a judge, rate-limited and retried, and stores every reply."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from lookaway.core import Json, Judge, JudgeRequest, JudgeUnusable, LookawayError
from lookaway.judges.budget import Spending
from lookaway.judges.errors import NotAnswered, PermanentError, TransientError, Unreadable
from lookaway.judges.reply import Reply, read_reply, storable
from lookaway.judges.reply_store import ReplyStore

CATCH_UP_SECONDS = 0.25
"""How much lost time an event loop that woke up late may make up for at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How fast requests are sent, and how they are retried. None of it moves a number."""

    concurrent: Annotated[int, "maximum requests in flight"] = 8
    per_second: Annotated[float | None, "maximum requests per second"] = None
    tries: Annotated[int, "maximum attempts at one request while the server answers others"] = 6
    first_wait_seconds: Annotated[float, "wait before the second attempt; doubled after each further one"] = 0.5
    longest_wait_seconds: Annotated[float, "maximum wait between attempts, unless the server asks for more"] = 30.0
    trip_after: Annotated[int, "consecutive errors after which all requests pause"] = 20
    pause_seconds: Annotated[float, "length of such a pause"] = 30.0
    pauses: Annotated[int, "consecutive pauses after which the run ends"] = 5

    def __post_init__(self) -> None:
        if self.concurrent < 1 or self.tries < 1 or (self.per_second is not None and not self.per_second > 0):
            raise ValueError(f"concurrent, tries and per_second must be positive, found {self}.")

    def share(self, of: int) -> RetryPolicy:
        """The share of one of several workers."""
        per_second = None if self.per_second is None else self.per_second / of
        return replace(self, concurrent=max(1, self.concurrent // of), per_second=per_second)


class Pacer:
    """Sends requests at an even rate."""

    def __init__(self, per_second: float | None) -> None:
        self._interval = None if per_second is None else 1.0 / per_second
        self._next: float | None = None

    async def wait(self) -> None:
        """Wait until the next request may be sent."""
        if self._interval is None:
            return
        now = asyncio.get_running_loop().time()
        turn = now if self._next is None else max(self._next, now - CATCH_UP_SECONDS)
        self._next = turn + self._interval
        if turn > now:
            await asyncio.sleep(turn - now)


class Breaker:
    """A circuit breaker: pauses all requests when a server stops answering, and gives up after some pauses."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._errors = self._pauses = 0
        self._paused_at = self._paused_until = 0.0

    async def wait(self) -> None:
        """Wait until the current pause, if any, is over."""
        loop = asyncio.get_running_loop()
        while (left := self._paused_until - loop.time()) > 0:
            await asyncio.sleep(left)

    def succeeded(self) -> None:
        """Record an answer."""
        self._errors = self._pauses = 0

    def failed(self, sent_at: float, error: Exception) -> bool:
        """Record an error on a request sent at this time; returns whether the server, not the request, is to blame."""
        now = asyncio.get_running_loop().time()
        if sent_at < self._paused_at:
            return True
        self._errors += 1
        if self._errors < self._policy.trip_after:
            return False
        if self._pauses >= self._policy.pauses:
            raise JudgeUnusable(
                f"The judge's server does not answer, after {self._pauses} pauses of {self._policy.pause_seconds:g} s: "
                f"{error} All replies are kept; when the server is back, run the same command again to continue."
            )
        self._pauses += 1
        self._paused_at, self._paused_until = now, now + self._policy.pause_seconds
        return True


@dataclass(slots=True)
class JudgeClient:
    """Sends requests from a background thread, started at the first request that has no stored reply."""

    make_judge: Callable[[], Judge] | None
    """`None` for a replay, which makes no judge calls."""
    replies: ReplyStore
    spending: Spending
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _in_flight: dict[str, Future[Json]] = field(default_factory=dict)
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None
    _sender: _Sender | None = None

    def ask(self, request: JudgeRequest) -> Future[Json]:
        """The reply, stored or new; fails with an `Unmeasurable`, or with an error that ends the run."""
        key = request.key()
        with self._lock:
            if key in self._in_flight:
                return self._in_flight[key]
            if (stored := self.replies.get(request)) is not None and _is_by_expected_model(stored, request):
                return _completed(stored)
            if self.make_judge is None:
                message = f"a replay makes no judge calls, and the reply {key} is not stored."
                return _completed(NotAnswered(message, is_permanent=True))
            future = self._send(self.make_judge, request)
            self._in_flight[key] = future
        future.add_done_callback(lambda done: self._finished(key))
        return future

    def close(self) -> None:
        """Cancel all requests in flight, and stop the thread."""
        with self._lock:
            loop, thread, sender = self._loop, self._thread, self._sender
            self._loop = self._thread = self._sender = None
        if loop is None or thread is None or sender is None:
            return
        asyncio.run_coroutine_threadsafe(sender.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _send(self, make_judge: Callable[[], Judge], request: JudgeRequest) -> Future[Json]:
        if self._loop is None or self._sender is None:
            self._sender = _Sender(make_judge(), self.replies, self.spending, self.policy)
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="judge", daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(self._sender.answer(request), self._loop)

    def _finished(self, key: str) -> None:
        with self._lock:
            self._in_flight.pop(key, None)


class _Sender:
    """The part of the client that runs in its background thread."""

    def __init__(self, judge: Judge, replies: ReplyStore, spending: Spending, policy: RetryPolicy) -> None:
        self._judge, self._replies, self._spending, self._policy = judge, replies, spending, policy
        self._slots = asyncio.Semaphore(policy.concurrent)
        self._pacer, self._breaker = Pacer(policy.per_second), Breaker(policy)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._random = random.Random()  # noqa: S311 - spreads waits, is not for secrets

    async def answer(self, request: JudgeRequest) -> Json:
        """Send a request until there is a reply, and store it."""
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        async with self._slots:
            tries = 0
            while True:
                tries += 1
                try:
                    return await self._try(request)
                except PermanentError as error:
                    raise NotAnswered(str(error), is_permanent=True, is_refusal=error.is_refusal) from error
                except _ServerDown:
                    tries -= 1
                except TransientError as error:
                    if tries >= self._policy.tries:
                        message = f"no answer after {tries} attempts; the last error: {error}"
                        raise NotAnswered(message, is_permanent=False) from error
                    await asyncio.sleep(self._wait_seconds(tries, error))

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._judge.close()

    async def _try(self, request: JudgeRequest) -> Json:
        await self._breaker.wait()
        await self._pacer.wait()
        await self._record(self._spending.take_call)
        sent_at = asyncio.get_running_loop().time()
        try:
            completion = storable(await self._judge.reply(request))
            reply = _read(completion, request)
        except TransientError as error:
            if self._breaker.failed(sent_at, error):
                raise _ServerDown from error
            raise
        self._breaker.succeeded()
        await self._record(self._spending.add_tokens, reply.prompt_tokens, reply.answer_tokens)
        await asyncio.to_thread(self._replies.put, request, completion)
        return completion

    async def _record(self, record: Callable[..., None], *amounts: int) -> None:
        """Record spending: directly on disk, in another thread where storage is slow."""
        if self._spending.is_slow:
            await asyncio.to_thread(record, *amounts)
        else:
            record(*amounts)

    def _wait_seconds(self, tries: int, error: TransientError) -> float:
        """Exponential backoff with jitter, on top of the wait that the server asks for."""
        wait = min(self._policy.first_wait_seconds * 2.0 ** (tries - 1), self._policy.longest_wait_seconds)
        return (error.after_seconds or 0.0) + wait * self._random.uniform(0.5, 1.0)


class _ServerDown(LookawayError):
    """The server answers no request, so the error says nothing about this one."""


def _read(completion: Json, request: JudgeRequest) -> Reply:
    try:
        reply = read_reply(completion)
    except Unreadable as error:
        raise TransientError(f"the server's reply is not a chat completion: {error}") from error
    if not _is_by_expected_model(completion, request):
        raise TransientError(
            f"another model answered: found {reply.model!r}, expected {request.judge.reported!r}. Answers of two "
            "models cannot be mixed; name one exact model, or start a new run."
        )
    return reply


def _is_by_expected_model(completion: Json, request: JudgeRequest) -> bool:
    """Servers may route a request to another model when one is busy or gone; at best their replies say so."""
    return not request.judge.reported or read_reply(completion).model == request.judge.reported


def _completed(result: Json | NotAnswered) -> Future[Json]:
    future: Future[Json] = Future()
    if isinstance(result, NotAnswered):
        future.set_exception(result)
    else:
        future.set_result(result)
    return future
