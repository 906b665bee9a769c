"""The budget for judge calls, and what was spent of it."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lookaway.core import BudgetSpent, RunError, UserError
from lookaway.io.journal import Journal
from lookaway.io.object_storage import is_remote, run_errors

FRESH_SECONDS: Final = 1.0
"""Reading what other workers spent is slow on object storage, so it is cached for this long, and a budget may be
overdrawn by what they spend meanwhile. On disk nothing is cached, and a worker's own calls always count at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a run may spend on its judge, all its sessions together; `None` is no limit."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    price_per_million_prompt_tokens: float = 0.0
    price_per_million_answer_tokens: float = 0.0

    def __post_init__(self) -> None:
        if self.money is not None and not (
            self.price_per_million_prompt_tokens or self.price_per_million_answer_tokens
        ):
            raise UserError("A budget of money needs the price of a million tokens, for prompts and for answers.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Calls, failed attempts included, and tokens as the server counted them."""

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            answer_tokens=self.answer_tokens + other.answer_tokens,
        )

    def money(self, budget: Budget) -> float:
        """At the prices of a budget."""
        prompt = self.prompt_tokens * budget.price_per_million_prompt_tokens
        return (prompt + self.answer_tokens * budget.price_per_million_answer_tokens) / 1e6


class Spending:
    """A journal of spending that all workers of a run append to."""

    def __init__(self, path: Path, budget: Budget) -> None:
        self._path, self._budget, self._journal = path, budget, Journal(path)
        self._spent, self._read_at = Spent(), -FRESH_SECONDS
        self._lock = threading.Lock()

    @property
    def is_slow(self) -> bool:
        """Whether writing may be slow: on object storage it is a request."""
        return is_remote(self._path)

    def spent(self) -> Spent:
        """The total of all workers so far."""
        with self._lock:
            return self._read(is_fresh=False)

    def take_call(self) -> None:
        """Record one more call; raises `BudgetSpent` if the budget is used up."""
        with self._lock:
            self._require_some_left()
            self._add(Spent(calls=1))

    def add_tokens(self, prompt_tokens: int, answer_tokens: int) -> None:
        """Record the tokens of a reply."""
        with self._lock:
            self._add(Spent(prompt_tokens=prompt_tokens, answer_tokens=answer_tokens))

    def _require_some_left(self) -> None:
        budget = self._budget
        has_limit = any(limit is not None for limit in (budget.calls, budget.tokens, budget.money))
        is_fresh = time.monotonic() - self._read_at < FRESH_SECONDS
        spent = self._read(is_fresh=is_fresh or not has_limit)
        tokens = spent.prompt_tokens + spent.answer_tokens
        limits = (
            ("calls", spent.calls, budget.calls),
            ("tokens", tokens, budget.tokens),
            ("money", round(spent.money(budget), 4), budget.money),
        )
        for what, used, limit in limits:
            if limit is not None and used >= limit:
                raise BudgetSpent(
                    f"The judge's budget is spent: {used} of {limit} {what}. All replies and measurements are kept. "
                    f"Raise it with --judge-{what} and run the same command again to continue."
                )

    def _read(self, *, is_fresh: bool) -> Spent:
        for line in self._journal.news(of_others=not is_fresh):
            try:
                self._spent += Spent(**json.loads(line))
            except (ValueError, TypeError) as error:
                raise RunError(f"{self._path}: {line!r:.80} is not a spending entry. Delete the line.") from error
        if self._journal.damaged:
            raise RunError(
                f"{self._path}: {self._journal.damaged} lines are damaged, so it is not known what was spent. "
                "`lookaway check` says which. Correct or delete them."
            )
        if not is_fresh:
            self._read_at = time.monotonic()
        return self._spent

    def _add(self, more: Spent) -> None:
        entries = {name: getattr(more, name) for name in Spent.__slots__ if getattr(more, name)}
        with run_errors(f"{self._path}: judge costs cannot be recorded"):
            self._journal.append([json.dumps(entries)])
