"""Which of MemoBench's six kinds of failure each rollout shows, by rules on its scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from lookaway.engine.run import Run
from lookaway.reports.export.rows import write_row_file
from lookaway.reports.failure_rules import CategoryVerdict, FailureRule, apply_rule, rule_rows
from lookaway.reports.memobench.scores import REVISITED, SUITE
from lookaway.reports.numbers import print_json, print_lines, print_rows
from lookaway.reports.scored_rollouts import require_suite, scored_rollouts

CATEGORIES: Final[Mapping[str, str]] = {
    "vanish": "the target does not come back",
    "identity": "what comes back is another target",
    "state": "the target comes back in a state that it should have left",
    "teleport": "the target is in another place than it should be",
    "background": "the surroundings are not those of the reference",
    "camera": "the camera does not take the path of the reference",
}


RULES: Final = (
    FailureRule(category="camera", metric="memobench.corrected.camera_controllability", comparison="<", limit=0.95),
    FailureRule(category="vanish", metric="memobench.corrected.ors", comparison="<", limit=0.3),
    FailureRule(category="identity", metric="further.object_texture", comparison="<", limit=0.9, unless=("vanish",)),
    FailureRule(
        category="state",
        metric="probe_support/hidden_state.progress",
        comparison="<",
        limit=0.5,
        unless=("vanish",),
    ),
    FailureRule(
        category="state",
        metric="memobench.corrected.vqa.continuity_of_memory",
        comparison="<",
        limit=0.5,
        unless=("vanish",),
    ),
    FailureRule(
        category="teleport",
        metric="probe_support/visible_space.position_relation",
        comparison="<",
        limit=0.5,
        unless=("vanish",),
    ),
    FailureRule(category="background", metric="probe_support/visible_space.static_anchors", comparison="<", limit=0.5),
    FailureRule(
        category="background",
        metric="memobench.corrected.reappeared.ssim",
        comparison="<",
        limit=0.93,
        unless=("vanish", "identity", "state", "teleport", "camera"),
    ),
)
"""A category is found where one of its rules finds it. Rules stand after those of the categories that they exclude.

The paper names metrics for its kinds of failure, but no limits. These limits are ours, and set for repaired metrics.
"""
WITHOUT_MEMORY: Final = frozenset({"camera"})
"""Categories that say something of a video that never looks away."""


def judge_failures(values: Mapping[str, float], rules: Sequence[FailureRule] = RULES) -> dict[str, CategoryVerdict]:
    """A verdict on every category, from the scores of one rollout; several may be found.

    Of a video whose camera is known not to have looked away, only its camera is judged. A rule whose score is bad, but
    whose other explanations were not measured, decides nothing.

    >>> judge_failures({"memobench.corrected.camera_controllability": 0.6})["camera"].is_found
    True
    """
    found: dict[str, CategoryVerdict] = {}
    is_untested = values.get(REVISITED) == 0.0
    for category in dict.fromkeys(rule.category for rule in rules):
        if is_untested and category not in WITHOUT_MEMORY:
            found[category] = CategoryVerdict(category=category, is_found=None, why="never looked away")
            continue
        own = [apply_rule(rule, values, found) for rule in rules if rule.category == category]
        found[category] = min(own, key=_strength)
    return {category: found[category] for category in CATEGORIES if category in found}


def _strength(verdict: CategoryVerdict) -> int:
    """What was found decides, then what is only lacking an exclusion, then what was not found."""
    if verdict.is_found is None:
        return 3 if verdict.why.startswith("needs ") else 1
    return 0 if verdict.is_found else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRow:
    """One category of one rollout."""

    model: str
    subset: str
    case: str
    rollout: str
    category: str
    is_found: bool | None
    why: str


def failures(run: Run) -> list[FailureRow]:
    """A row for each rollout and category."""
    require_suite(run, SUITE)
    rollouts = scored_rollouts(run)
    values = {rollout.id: dict(rollout.values) for rollout in rollouts}
    measured = {metric.name for metric in run.metrics}
    for name in dict.fromkeys(rule.metric for rule in RULES):
        metric, _, unit = name.partition("/")
        if unit and metric in measured:
            for row in run.units(metric):
                if row["unit"] == unit and row["status"] == "score":
                    values[row["rollout"]][name] = row["value"]
    return [
        FailureRow(
            model=rollout.model,
            subset=rollout.subset,
            case=rollout.case,
            rollout=rollout.id,
            **asdict(verdict),
        )
        for rollout in rollouts
        for verdict in judge_failures(values[rollout.id]).values()
    ]


SCHEMA: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "subset", "case", "rollout", "category")),
        ("is_found", pa.bool_()),
        ("why", pa.string()),
    ]
)


def write_failures(rows: Sequence[FailureRow], path: Path) -> None:
    """Write all rows; the suffix of the path selects the format."""
    write_row_file(path, SCHEMA, (asdict(row) for row in rows))


def print_failures(rows: Sequence[FailureRow], *, as_json: bool) -> None:
    """How many rollouts of each model show each category, of how many that were judged."""
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    models = dict.fromkeys(row.model for row in rows)
    table: list[dict[str, Any]] = []
    for model in models:
        counts = {
            category: _count([row for row in rows if (row.model, row.category) == (model, category)])
            for category in CATEGORIES
        }
        table.append({"model": model, **counts})
    print_rows(table, as_json=False, right=tuple(CATEGORIES))
    print_lines(_lacking(rows))


def _count(rows: Sequence[FailureRow]) -> str:
    judged = [row.is_found for row in rows if row.is_found is not None]
    return f"{sum(judged)} of {len(judged)}" if judged else "-"


def _lacking(rows: Sequence[FailureRow]) -> Iterator[str]:
    """Why rollouts were not judged."""
    reasons: dict[tuple[str, str], int] = {}
    for row in rows:
        if row.is_found is None:
            reason = row.why.rpartition(", but ")[2]
            reasons[row.category, reason] = reasons.get((row.category, reason), 0) + 1
    for (category, reason), count in reasons.items():
        yield f"note: {category} is not known for {count}: {reason}."


def failure_rule_rows() -> list[dict[str, Any]]:
    """The rules as a table."""
    return rule_rows(RULES, CATEGORIES, head="category")
