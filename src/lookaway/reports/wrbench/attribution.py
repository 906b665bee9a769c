"""Where each rollout of WRBench fails first, by rules on its scores: from the camera to the state after the return."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from lookaway.core import Reason
from lookaway.core.outcomes import OF_THE_MACHINE
from lookaway.engine.run import Run
from lookaway.reports.charts.funnel import FunnelStep, funnel
from lookaway.reports.charts.svg import Chart
from lookaway.reports.export.rows import write_row_file
from lookaway.reports.failure_rules import CategoryVerdict, FailureRule, apply_rule, rule_rows
from lookaway.reports.numbers import fixed, print_json, print_lines, print_rows
from lookaway.reports.scored_rollouts import require_suite
from lookaway.reports.wrbench.dimensions import DIMENSIONS, SUITE, Protocol, held_protocols
from lookaway.statistics.intervals import Proportion, proportion
from lookaway.store.run_folder import RunFolder

GATE: Final = f"{SUITE}.reobserved"
HOLDS: Final = "static"
"""The subset of cases whose camera is asked to stand still."""
CAMERA, UNREADABLE, WRONG_WHILE_VISIBLE = "camera did not move", "unreadable", "event wrong while visible"
NEVER, WRONG_PLACE, WRONG_STATE = "never re-observed", "returned in the wrong place", "returned in the wrong state"
CORRECT, UNKNOWN = "correct", "unknown"
LOST: Final = "subject does not come back"
"""No outcome of its own: the part of `never re-observed` that also explains why an event is not seen to its end."""
NO_RETURN: Final = "no_return"
"""The gate's reason for it."""
OUTCOMES: Final[Mapping[str, str]] = {
    CAMERA: "the camera makes less than a tenth of the requested turn, or turns to the other side",
    UNREADABLE: "the file cannot be decoded, or its pictures fall apart",
    WRONG_WHILE_VISIBLE: "place or state of the event is wrong, and no wrong return explains it",
    NEVER: "the subject is never out of view, or does not come back",
    WRONG_PLACE: "the subject comes back where it should not be",
    WRONG_STATE: "the subject comes back in the right place, in a state that it should not be in",
    CORRECT: "all of it is right",
}
"""From the first that can fail to the last; a rollout has exactly one."""
RULES: Final = (
    FailureRule(category=CAMERA, metric="wrbench.camera_alignment", comparison="<", limit=0.1),
    FailureRule(category=UNREADABLE, metric="wrbench.visual_integrity", comparison="<", limit=0.5),
    FailureRule(category=NEVER, metric=GATE, comparison="<", limit=0.5),
    FailureRule(category=WRONG_PLACE, metric="wrbench.d5.returned_spatial", comparison="<", limit=0.5),
    FailureRule(category=WRONG_STATE, metric="wrbench.d6.returned_state", comparison="<", limit=0.5),
    # D3 and D4 are about all that is seen, also after the return: a wrong return, or none, is wrong while visible, too.
    FailureRule(
        category=WRONG_WHILE_VISIBLE,
        metric="wrbench.d3.visible_spatial",
        comparison="<",
        limit=0.5,
        unless=(WRONG_PLACE, WRONG_STATE, LOST),
    ),
    FailureRule(
        category=WRONG_WHILE_VISIBLE,
        metric="wrbench.d4.visible_state",
        comparison="<",
        limit=0.5,
        unless=(WRONG_PLACE, WRONG_STATE, LOST),
    ),
)
"""An outcome is found where one of its rules finds it. Rules stand after those of the outcomes that they exclude."""


def rules_of(protocol: Protocol) -> tuple[FailureRule, ...]:
    """The rules on the metrics of a protocol."""
    names = {source.metric: source.metric_of(protocol) for source in DIMENSIONS.values()}
    return tuple(replace(rule, metric=names.get(rule.metric, rule.metric)) for rule in RULES)


NOT_REQUIRED: Final = frozenset({CAMERA, UNREADABLE})
"""Outcomes that are passed over where a run, or the machine of a run, has not what their rules need."""
PASSES: Final = frozenset({Reason.GATE_CLOSED.value, Reason.NOT_APPLICABLE.value})
"""Reasons for no score that say that a rule does not apply."""
BROKEN_FILE: Final = frozenset(
    reason.value
    for reason in (
        Reason.EMPTY_FILE,
        Reason.NOT_A_VIDEO,
        Reason.AUDIO_ONLY,
        Reason.NO_FRAMES,
        Reason.ZERO_SIZE,
        Reason.TRUNCATED,
        Reason.UNDECODABLE,
    )
)
MACHINE: Final = frozenset(reason.value for reason in OF_THE_MACHINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Where one rollout fails first, or that it does not."""

    outcome: str
    why: str
    """The comparison that decided, or what is missing."""


def attribute(
    scores: Mapping[str, float],
    reasons: Mapping[str, str],
    closed: str | None = None,
    rules: Sequence[FailureRule] = RULES,
) -> Attribution:
    """The one outcome of a rollout, from its scores by metric, and from the reasons why metrics have none.

    `closed` is what the gate says is missing.

    >>> attribute({"wrbench.camera_alignment": 0.02}, {}).outcome
    'camera did not move'
    """
    broken = next((reason for reason in reasons.values() if reason in BROKEN_FILE), None)
    if broken is not None:
        return Attribution(outcome=UNREADABLE, why=broken)
    is_lost = closed == NO_RETURN
    found = {LOST: CategoryVerdict(category=LOST, is_found=is_lost, why=closed or "the gate does not say so")}
    for category in dict.fromkeys(rule.category for rule in rules):
        own = [_verdict(rule, scores, reasons, found) for rule in rules if rule.category == category]
        # One failure is enough; that there is none takes all rules.
        found[category] = min(own, key=lambda verdict: (True, None, False).index(verdict.is_found))
    for outcome, verdict in ((outcome, found[outcome]) for outcome in OUTCOMES if outcome in found):
        if verdict.is_found:
            return Attribution(outcome=outcome, why=verdict.why)
        if verdict.is_found is None and not _is_passed_over(outcome, reasons, rules):
            return Attribution(outcome=UNKNOWN, why=verdict.why)
    return Attribution(outcome=CORRECT, why="no rule finds a failure")


def _verdict(
    rule: FailureRule, scores: Mapping[str, float], reasons: Mapping[str, str], found: Mapping[str, CategoryVerdict]
) -> CategoryVerdict:
    reason = reasons.get(rule.metric)
    if rule.metric in scores or reason is None:
        return apply_rule(rule, scores, found)
    is_found = False if reason in PASSES else None
    return CategoryVerdict(category=rule.category, is_found=is_found, why=f"{rule.metric} {reason}")


def _is_passed_over(outcome: str, reasons: Mapping[str, str], rules: Sequence[FailureRule]) -> bool:
    """Whether an outcome that is not known can be left out: nothing, or nothing on this machine, measures it."""
    own = [reasons.get(rule.metric) for rule in rules if rule.category == outcome]
    return outcome in NOT_REQUIRED and all(reason is None or reason in MACHINE for reason in own)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionRow:
    """The outcome of one rollout."""

    model: str
    subset: str
    case: str
    rollout: str
    outcome: str
    why: str


@dataclass(slots=True)
class _Measured:
    """What a run has of one rollout, by metric."""

    scores: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    closed: str | None = None
    """What the gate says is missing."""

    def attribution(self, rules: Sequence[FailureRule]) -> Attribution:
        """Its outcome; one that the gate decides has the gate's reason."""
        found = attribute(self.scores, self.reasons, self.closed, rules)
        is_explained = found.outcome == NEVER and self.closed is not None
        return replace(found, why=f"{found.why}, {self.closed}") if is_explained else found


def attributions(run: Run, protocol: Protocol | None = None) -> list[AttributionRow]:
    """A row for each rollout, in the order of models and cases; by the published metrics where the run has them."""
    require_suite(run, SUITE)
    rules = rules_of(protocol or held_protocols(run)[0])
    rollouts = {row["rollout"]: row for row in RunFolder(run.path).rollouts().to_pylist()}
    measured = {name: _Measured() for name in rollouts}
    for row in run.items():
        own = measured[row["rollout"]]
        if row["status"] == "score":
            own.scores[row["metric"]] = row["value"]
            if row["metric"] == GATE:
                own.closed = json.loads(row["detail"] or "{}").get("reason")
        else:
            own.reasons[row["metric"]] = row["reason"]
    rows = [
        AttributionRow(
            model=row["model"],
            subset=row["subset"],
            case=row["case"],
            rollout=name,
            **asdict(measured[name].attribution(rules)),
        )
        for name, row in rollouts.items()
    ]
    return sorted(rows, key=lambda row: (row.model, row.subset, row.case, row.rollout))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeShare:
    """How many rollouts of a model have an outcome, of those whose outcome is known."""

    model: str
    outcome: str
    share: Proportion
    left: float
    """Share of rollouts that have this outcome or come further."""


def outcome_shares(rows: Sequence[AttributionRow]) -> list[OutcomeShare]:
    """The shares of each model in the order of outcomes, with Wilson's intervals; models without any are left out."""
    shares = []
    for model in dict.fromkeys(row.model for row in rows):
        counts = Counter(row.outcome for row in rows if row.model == model and row.outcome != UNKNOWN)
        total = left = counts.total()
        for outcome in OUTCOMES:
            share = proportion(counts[outcome], total)
            if share is not None:
                shares.append(OutcomeShare(model=model, outcome=outcome, share=share, left=left / total))
            left -= counts[outcome]
    return shares


def funnels(rows: Sequence[AttributionRow]) -> list[Chart]:
    """A funnel for each model: from all rollouts whose outcome is known to those that are correct."""
    shares = outcome_shares(rows)
    return [
        funnel(
            f"{model}: from all rollouts to correct ones",
            [FunnelStep(label=own.outcome, share=own.share) for own in shares if own.model == model],
        )
        for model in dict.fromkeys(own.model for own in shares)
    ]


SCHEMA: Final = pa.schema([(name, pa.string()) for name in ("model", "subset", "case", "rollout", "outcome", "why")])


def write_attributions(rows: Sequence[AttributionRow], path: Path) -> None:
    """Write all rows; the suffix of the path selects the format."""
    write_row_file(path, SCHEMA, (asdict(row) for row in rows))


def print_attributions(rows: Sequence[AttributionRow], *, as_json: bool) -> None:
    """How many rollouts of each model have each outcome, with 95 % intervals, and how many are left before it."""
    shares = outcome_shares(rows)
    if as_json:
        print_json(
            {
                "shares": [{**asdict(own), "share": asdict(own.share)} for own in shares],
                "rollouts": [asdict(row) for row in rows],
            }
        )
        return
    table = [
        {
            "model": own.model,
            "outcome": own.outcome,
            "rollouts": f"{own.share.hits} of {own.share.total}",
            "share": fixed(own.share.share),
            "95 %": f"[{fixed(own.share.low)}, {fixed(own.share.high)}]",
            "left": fixed(own.left),
        }
        for own in shares
    ]
    if table:
        print_rows(table, as_json=False, right=("rollouts", "share", "95 %", "left"))
    print_lines(attribution_notes(rows))


def attribution_notes(rows: Sequence[AttributionRow]) -> Iterator[str]:
    """Why outcomes are not known, and how many rollouts could not be re-observed."""
    if held := sum(row.outcome == NEVER and row.subset == HOLDS for row in rows):
        yield f"note: {held} of those never re-observed were asked to hold the camera still."
    for why, count in Counter(row.why for row in rows if row.outcome == UNKNOWN).items():
        yield f"note: the outcome is not known for {count}: {why}."


def attribution_rule_rows(protocol: Protocol) -> list[dict[str, Any]]:
    """The rules as a table, in the order of outcomes."""
    ordered = sorted(rules_of(protocol), key=lambda rule: list(OUTCOMES).index(rule.category))
    return rule_rows(ordered, OUTCOMES, head="outcome")
