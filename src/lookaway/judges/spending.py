"""What asking has cost so far, and what it may cost."""

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
"""On object storage a look at what others spent takes a moment, so it holds for this long: a budget may be overdrawn by
what they ask meanwhile. On disk it holds for nothing, and one's own calls always count at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a run may spend on its judge, all its resumed parts together; `None` is without limit."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    price_per_million_prompt_tokens: float = 0.0
    price_per_million_answer_tokens: float = 0.0

    def __post_init__(self) -> None:
        if self.money is not None and not (
            self.price_per_million_prompt_tokens or self.price_per_million_answer_tokens
        ):
            raise UserError("A budget of money needs the prices of a million tokens, of prompts and of answers.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Calls, tries that failed included, and tokens as the server counted them."""

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
    """What was spent, in a journal that all workers of a run add to."""

    def __init__(self, path: Path, budget: Budget) -> None:
        self._path, self._budget, self._journal = path, budget, Journal(path)
        self._spent, self._looked_at = Spent(), -FRESH_SECONDS
        self._turn = threading.Lock()

    @property
    def is_slow(self) -> bool:
        """Whether noting it may take long: on object storage it is a request."""
        return is_remote(self._path)

    def spent(self) -> Spent:
        """By all workers, until now."""
        with self._turn:
            return self._read(is_fresh=False)

    def take_call(self) -> None:
        """One more call; a `BudgetSpent` where there is none left."""
        with self._turn:
            self._require_some_left()
            self._add(Spent(calls=1))

    def add_tokens(self, prompt_tokens: int, answer_tokens: int) -> None:
        """What a reply has cost."""
        with self._turn:
            self._add(Spent(prompt_tokens=prompt_tokens, answer_tokens=answer_tokens))

    def _require_some_left(self) -> None:
        budget = self._budget
        has_limit = any(limit is not None for limit in (budget.calls, budget.tokens, budget.money))
        is_fresh = time.monotonic() - self._looked_at < FRESH_SECONDS
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
                    f"The judge's budget is spent: {used} of {limit} {what}. All replies are kept, and so is what is "
                    f"measured. Raise it with --judge-{what}, and the same command goes on from there."
                )

    def _read(self, *, is_fresh: bool) -> Spent:
        for line in self._journal.news(of_others=not is_fresh):
            try:
                self._spent += Spent(**json.loads(line))
            except (ValueError, TypeError) as error:
                raise RunError(
                    f"{self._path}: {line!r:.80} says of nothing what it has cost. Delete the line."
                ) from error
        if not is_fresh:
            self._looked_at = time.monotonic()
        return self._spent

    def _add(self, more: Spent) -> None:
        entries = {name: getattr(more, name) for name in Spent.__slots__ if getattr(more, name)}
        with run_errors(f"{self._path}: what the judge costs cannot be noted"):
            self._journal.append([json.dumps(entries)])
