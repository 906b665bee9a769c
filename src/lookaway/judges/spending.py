"""What asking has cost so far, and what it may cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from lookaway.core import BudgetSpent, RunError, UserError


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
    """A file of what was spent, that all workers of a run add to; each line is written in one piece."""

    def __init__(self, path: Path, budget: Budget) -> None:
        self._path, self._budget = path, budget
        self._read_bytes, self._spent = 0, Spent()

    def spent(self) -> Spent:
        """By all workers, until now."""
        if self._path.is_file():
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                for line in file:
                    if not line.endswith(b"\n"):
                        break  # another worker is writing it
                    self._read_bytes += len(line)
                    self._spent += Spent(**json.loads(line))
        return self._spent

    def take_call(self) -> None:
        """One more call; a `BudgetSpent` where there is none left."""
        spent, budget = self.spent(), self._budget
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
        self._add(Spent(calls=1))

    def add_tokens(self, prompt_tokens: int, answer_tokens: int) -> None:
        """What a reply has cost."""
        self._add(Spent(prompt_tokens=prompt_tokens, answer_tokens=answer_tokens))

    def _add(self, more: Spent) -> None:
        entries = {name: getattr(more, name) for name in Spent.__slots__ if getattr(more, name)}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab", buffering=0) as file:
                file.write(json.dumps(entries).encode() + b"\n")
        except OSError as error:
            raise RunError(f"{self._path}: what the judge costs cannot be noted: {error}.") from error
