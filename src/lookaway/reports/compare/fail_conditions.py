"""Conditions that fail a comparison, such as `entity < -0.02`, for continuous integration."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lookaway.core import UnknownName, UserError
from lookaway.reports.compare.comparison import Comparison, Dimension, Verdict
from lookaway.statistics.scene_bootstrap import MIN_SCENES

SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}
GRAMMAR = re.compile(r"\s*(?P<name>[^<>=]*?)(?:\.(?P<end>low|high))?\s*(?P<sign><=|<|>=|>)(?P<bound>[^<>=]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailCondition:
    """A bound on the difference of a metric, or of every metric of a group."""

    text: str
    name: str
    """A metric's whole name, the last part of it, any other part of it, or a subset."""
    end: str
    """`mean`, or the `low` or `high` end of its interval."""
    sign: str
    bound: float

    def is_met(self, entry: Dimension) -> bool | None:
        """Whether the condition holds for a dimension; `None` where that cannot be decided."""
        number = self.number(entry)
        return None if number is None else SIGNS[self.sign](number, self.bound)

    def number(self, entry: Dimension) -> float | None:
        """The number that is compared with the bound; `None` where it is not known."""
        difference = entry.difference
        if difference is None or entry.verdict is Verdict.NOT_ESTIMABLE:
            return None
        found: float | None = getattr(difference, self.end)
        # Scenes that all changed by the same amount, mostly not at all, have no interval.
        is_equal = len(difference.scene_means) == 1 and difference.scenes >= MIN_SCENES
        return difference.mean if found is None and is_equal else found


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCondition:
    """The result of a condition."""

    condition: FailCondition
    met: tuple[Dimension, ...]
    """Dimensions that meet the condition."""
    undecided: tuple[str, ...]
    """Metrics that it names but that cannot be decided, and why."""

    @property
    def failed(self) -> bool:
        """Whether it is met or cannot be decided: an unchecked condition has not passed."""
        return bool(self.met or self.undecided)


def parse_condition(text: str) -> FailCondition:
    """A condition as it is typed.

    >>> condition = parse_condition("entity.low < -0.02")
    >>> condition.name, condition.end, condition.sign, condition.bound
    ('entity', 'low', '<', -0.02)
    """
    found = GRAMMAR.fullmatch(text)
    if found is None or not found["name"]:
        raise UserError(f"{text!r:.120} is not a condition; expected NAME < NUMBER, such as entity < -0.02.")
    try:
        bound = float(found["bound"])
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise UserError(f"{text!r:.120}: {found['bound'].strip()!r:.80} is not a finite number.")
    return FailCondition(
        text=text.strip(), name=found["name"], end=found["end"] or "mean", sign=found["sign"], bound=bound
    )


def check_conditions(conditions: Sequence[FailCondition], comparison: Comparison) -> list[CheckedCondition]:
    """Check a comparison against conditions. A condition that matches nothing is an error."""
    return [_checked(condition, comparison) for condition in conditions]


def _checked(condition: FailCondition, comparison: Comparison) -> CheckedCondition:
    known = [(entry.metric, entry.subset) for entry in comparison.dimensions]
    known += [(entry.metric, "") for entry in comparison.not_compared]
    named = _named(condition.name, known)
    concerned = [entry for entry in comparison.dimensions if (entry.metric, entry.subset) in named]
    results = [(entry, condition.is_met(entry)) for entry in concerned]
    undecided = [
        f"{entry.metric} of {entry.subset} ({entry.model}): {entry.why or 'no interval'}"
        for entry, met in results
        if met is None
    ]
    undecided += [f"{entry.metric}: {entry.why}" for entry in comparison.not_compared if (entry.metric, "") in named]
    return CheckedCondition(
        condition=condition,
        met=tuple(entry for entry, met in results if met),
        undecided=tuple(undecided),
    )


def _named(name: str, known: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Resolve a name: a whole name takes precedence over a last part, and a last part over a group."""
    meanings: tuple[Callable[[str, str], bool], ...] = (
        lambda metric, subset: metric == name,
        lambda metric, subset: metric.endswith(f".{name}"),
        lambda metric, subset: name in metric.split(".") or name == subset,
    )
    for means in meanings:
        if found := {entry for entry in known if means(*entry)}:
            return found
    parts = {
        part for metric, subset in known for part in (metric, metric.rpartition(".")[2], *metric.split("."), subset)
    }
    raise UnknownName("metric or group of this comparison", name, parts - {""})
