"""Rules that find kinds of failure from the scores of a rollout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lookaway.reports.numbers import fixed


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRule:
    """A comparison that finds a category of failure."""

    category: str
    metric: str
    """Its name in a run; `probe_support/hidden_state.progress` is one unit of a metric."""
    comparison: Literal["<", ">"]
    limit: float
    unless: tuple[str, ...] = ()
    """Categories that explain the same score: where one of them is found, the rule finds nothing."""

    def holds(self, value: float) -> bool:
        """Whether a score is on the wrong side of the limit."""
        return value < self.limit if self.comparison == "<" else value > self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryVerdict:
    """Whether one category is found in one rollout."""

    category: str
    is_found: bool | None
    """`None` where it is not known."""
    why: str
    """The comparison that decided, or what is missing."""


def apply_rule(rule: FailureRule, values: Mapping[str, float], found: Mapping[str, CategoryVerdict]) -> CategoryVerdict:
    """What one rule says of the scores of a rollout, given the verdicts on the categories that it excludes."""
    value = values.get(rule.metric)
    if value is None:
        return CategoryVerdict(category=rule.category, is_found=None, why=f"needs {rule.metric}")
    is_bad = rule.holds(value)
    sign = rule.comparison if is_bad else {"<": ">=", ">": "<="}[rule.comparison]
    why = f"{rule.metric} {fixed(value)} {sign} {rule.limit:g}"
    others = {name: found[name].is_found for name in rule.unless if name in found}
    if not is_bad:
        return CategoryVerdict(category=rule.category, is_found=False, why=why)
    if explained := [name for name, is_there in others.items() if is_there]:
        return CategoryVerdict(category=rule.category, is_found=False, why=f"{why}, but {explained[0]}")
    if unknown := [name for name, is_there in others.items() if is_there is None]:
        return CategoryVerdict(
            category=rule.category, is_found=None, why=f"{why}, but {unknown[0]} {found[unknown[0]].why}"
        )
    return CategoryVerdict(category=rule.category, is_found=True, why=why)


def rule_rows(rules: Iterable[FailureRule], meanings: Mapping[str, str], *, head: str) -> list[dict[str, Any]]:
    """Rules as a table; `head` is what their categories are called."""
    return [
        {
            head: rule.category,
            "metric": rule.metric,
            "found if": f"{rule.comparison} {rule.limit:g}",
            "unless": ", ".join(rule.unless) or "-",
            "meaning": meanings[rule.category],
        }
        for rule in rules
    ]
