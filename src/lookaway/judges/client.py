"""Asks a judge: paced, retried, and every reply kept."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from lookaway.core import Json, Judge, JudgeRequest, JudgeUnusable, LookawayError
from lookaway.judges.errors import NotAnswered, PermanentError, TransientError, Unreadable
from lookaway.judges.reply import Reply, read_reply
from lookaway.judges.reply_store import ReplyStore
from lookaway.judges.spending import Spending

CATCH_UP_SECONDS = 0.25
"""A loop that woke up late may make up for so much of it at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How patiently and how fast a judge is asked. None of it moves a number."""

    concurrent: Annotated[int, "questions under way at once"] = 8
    per_second: Annotated[float | None, "questions a second at most"] = None
    tries: Annotated[int, "of one question, while others are answered"] = 6
    first_wait_seconds: Annotated[float, "before the second try; doubled with every further one"] = 0.5
    longest_wait_seconds: Annotated[float, "between two tries, unless the server asks for more"] = 30.0
    trip_after: Annotated[int, "faults in a row after which the server is left alone for a while"] = 20
    pause_seconds: Annotated[float, "for which it is then left alone"] = 30.0
    pauses: Annotated[int, "in a row after which the run ends"] = 5

    def __post_init__(self) -> None:
        if self.concurrent < 1 or self.tries < 1 or (self.per_second is not None and not self.per_second > 0):
            raise ValueError(f"concurrent, tries and per_second are positive, found {self}.")

    def share(self, of: int) -> RetryPolicy:
        """The part of one of several workers."""
        per_second = None if self.per_second is None else self.per_second / of
        return replace(self, concurrent=max(1, self.concurrent // of), per_second=per_second)


class Pacer:
    """Lets questions go at an even rate."""

    def __init__(self, per_second: float | None) -> None:
        self._interval = None if per_second is None else 1.0 / per_second
        self._next: float | None = None

    async def wait(self) -> None:
        """Until it is the turn of one more question."""
        if self._interval is None:
            return
        now = asyncio.get_running_loop().time()
        turn = now if self._next is None else max(self._next, now - CATCH_UP_SECONDS)
        self._next = turn + self._interval
        if turn > now:
            await asyncio.sleep(turn - now)


class Breaker:
    """Leaves a server alone that answers nobody, and gives up on it after some pauses."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._manners = policy
        self._faults = self._pauses = 0
        self._paused_at = self._paused_until = 0.0

    async def wait(self) -> None:
        """Until the pause is over, if there is one."""
        loop = asyncio.get_running_loop()
        while (left := self._paused_until - loop.time()) > 0:
            await asyncio.sleep(left)

    def succeeded(self) -> None:
        """Somebody was answered."""
        self._faults = self._pauses = 0

    def failed(self, asked_at: float, fault: Exception) -> bool:
        """Somebody who asked at this time was not; returns whether the server is at fault rather than the question."""
        now = asyncio.get_running_loop().time()
        if asked_at < self._paused_at:
            return True
        self._faults += 1
        if self._faults < self._manners.trip_after:
            return False
        if self._pauses >= self._manners.pauses:
            raise JudgeUnusable(
                f"The judge's server answers nobody, after {self._pauses} pauses of {self._manners.pause_seconds:g} s: "
                f"{fault} All replies are kept; when the server is back, the same command goes on from there."
            )
        self._pauses += 1
        self._paused_at, self._paused_until = now, now + self._manners.pause_seconds
        return True


@dataclass(slots=True)
class JudgeClient:
    """Asks in a thread of its own, that runs from the first question that no kept reply answers."""

    make_judge: Callable[[], Judge] | None
    """`None` for a replay, which asks nobody."""
    replies: ReplyStore
    spending: Spending
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _under_way: dict[str, Future[Json]] = field(default_factory=dict)
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None
    _desk: _Desk | None = None

    def ask(self, request: JudgeRequest) -> Future[Json]:
        """The reply, from the kept ones where there is one; or an `Unmeasurable`, or what ends the run."""
        key = request.key()
        with self._guard:
            if key in self._under_way:
                return self._under_way[key]
            if (kept := self.replies.get(request)) is not None and _is_by_whom_was_asked(kept, request):
                return _settled(kept)
            if self.make_judge is None:
                return _settled(NotAnswered(f"a replay asks nobody, and no reply {key} is kept.", is_lasting=True))
            future = self._started(self.make_judge, request)
            self._under_way[key] = future
        future.add_done_callback(lambda done: self._finished(key))
        return future

    def close(self) -> None:
        """Give up what is under way, and stop."""
        with self._guard:
            loop, thread, client = self._loop, self._thread, self._desk
            self._loop = self._thread = self._desk = None
        if loop is None or thread is None or client is None:
            return
        asyncio.run_coroutine_threadsafe(client.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _started(self, make_judge: Callable[[], Judge], request: JudgeRequest) -> Future[Json]:
        if self._loop is None or self._desk is None:
            self._desk = _Desk(make_judge(), self.replies, self.spending, self.policy)
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="judge", daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(self._desk.answer(request), self._loop)

    def _finished(self, key: str) -> None:
        with self._guard:
            self._under_way.pop(key, None)


class _Desk:
    """All that happens in the thread of the judge."""

    def __init__(self, judge: Judge, replies: ReplyStore, spending: Spending, policy: RetryPolicy) -> None:
        self._judge, self._replies, self._spending, self._manners = judge, replies, spending, policy
        self._places = asyncio.Semaphore(policy.concurrent)
        self._pacer, self._breaker = Pacer(policy.per_second), Breaker(policy)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._chance = random.Random()  # noqa: S311 - waits are spread, nothing is kept secret

    async def answer(self, request: JudgeRequest) -> Json:
        """Ask until there is a reply, and keep it."""
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        async with self._places:
            tries = 0
            while True:
                tries += 1
                try:
                    return await self._try(request)
                except PermanentError as fault:
                    raise NotAnswered(str(fault), is_lasting=True, is_refusal=fault.is_refusal) from fault
                except _ServerAtFault:
                    tries -= 1
                except TransientError as fault:
                    if tries >= self._manners.tries:
                        message = f"no answer after {tries} tries; the last time: {fault}"
                        raise NotAnswered(message, is_lasting=False) from fault
                    await asyncio.sleep(self._wait_seconds(tries, fault))

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._judge.close()

    async def _try(self, request: JudgeRequest) -> Json:
        await self._breaker.wait()
        await self._pacer.wait()
        await self._book(self._spending.take_call)
        asked_at = asyncio.get_running_loop().time()
        try:
            completion = await self._judge.reply(request)
            reply = _read(completion, request)
        except TransientError as fault:
            if self._breaker.failed(asked_at, fault):
                raise _ServerAtFault from fault
            raise
        self._breaker.succeeded()
        await self._book(self._spending.add_tokens, reply.prompt_tokens, reply.answer_tokens)
        await asyncio.to_thread(self._replies.put, request, completion)
        return completion

    async def _book(self, book: Callable[..., None], *amounts: int) -> None:
        """At once on a disk; where storage may be slow to answer, others need not wait for it."""
        if self._spending.is_slow:
            await asyncio.to_thread(book, *amounts)
        else:
            book(*amounts)

    def _wait_seconds(self, tries: int, fault: TransientError) -> float:
        """Twice as long after every try, never the same for two questions, and not before the server wants it."""
        wait = min(self._manners.first_wait_seconds * 2.0 ** (tries - 1), self._manners.longest_wait_seconds)
        return (fault.after_seconds or 0.0) + wait * self._chance.uniform(0.5, 1.0)


class _ServerAtFault(LookawayError):
    """Nobody is being answered: no finding about this question."""


def _read(completion: Json, request: JudgeRequest) -> Reply:
    try:
        reply = read_reply(completion)
    except Unreadable as error:
        raise TransientError(f"the server's reply is no chat completion: {error}") from error
    if not _is_by_whom_was_asked(completion, request):
        raise TransientError(
            f"another model answered: {reply.model!r}, expected {request.judge.reported!r}. Their answers do not "
            "belong together; name one exact model, or start a new run."
        )
    return reply


def _is_by_whom_was_asked(completion: Json, request: JudgeRequest) -> bool:
    """Servers send questions elsewhere when a model is busy or gone, and say so in their replies at best."""
    return not request.judge.reported or read_reply(completion).model == request.judge.reported


def _settled(result: Json | NotAnswered) -> Future[Json]:
    future: Future[Json] = Future()
    if isinstance(result, NotAnswered):
        future.set_exception(result)
    else:
        future.set_result(result)
    return future
