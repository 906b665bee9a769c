"""The check and the audit of a judge on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from lookaway.calibration.judge_audit import AuditReport
from lookaway.core import Estimate
from lookaway.engine.judge_check import ClipCheck
from lookaway.judges.judge_check import Description
from lookaway.judges.question import YesNo
from lookaway.reports.numbers import amount, duration, estimate_interval, fixed, print_json, print_lines, print_rows

FORMS = {"json": "JSON", "yes_no": "yes or no"}
POLARITIES = {True: "a yes is good", False: "a yes is bad", None: "-"}
CLEAN = "none"
SHOWN_CHARACTERS = 400


def print_judge_check(found: ClipCheck, *, as_json: bool) -> None:
    """The model, its capabilities, its answer about one clip, and the cost of a run."""
    check, capabilities = found.check, found.check.capabilities
    described, yes_no = check.described, check.yes_no
    if as_json:
        print_json(
            {
                "model": capabilities.judge.model,
                "reported": capabilities.judge.reported,
                "wording": capabilities.judge.wording,
                "holds_schema": capabilities.holds_schema,
                "gives_log_probabilities": capabilities.gives_log_probabilities,
                "seconds": {"probe": check.probe_seconds, "clip": check.reply_seconds},
                "rollout": found.rollout,
                "frames": list(found.frames),
                "reply": check.reply.text,
                "described": described.model_dump() if isinstance(described, Description) else None,
                "yes_no": asdict(yes_no) if isinstance(yes_no, YesNo) else None,
                "run": {**asdict(found.expected), "money": found.money, "seconds": found.seconds},
            }
        )
        return
    requested, named = capabilities.judge.model, capabilities.judge.reported
    can, cannot = "yes", "no"
    tokens = found.expected.prompt_tokens + found.expected.answer_tokens
    print_lines(
        [
            f"model: {requested}" + (f", which reports itself as {named}" if named != requested else ""),
            f"first answer after {duration(check.probe_seconds)}, "
            f"about {amount(len(found.frames), 'frame')} of {found.rollout} after {duration(check.reply_seconds)}",
            f"follows a JSON schema: {can if capabilities.holds_schema else cannot}",
            f"gives log-probabilities: {can if capabilities.gives_log_probabilities else cannot}",
            f"reply: {check.reply.text[:SHOWN_CHARACTERS]}",
            f"read as {described.frames} frames: {described.description}"
            if isinstance(described, Description)
            else f"not readable: {described}",
            f"p(yes) = {yes_no.p_yes:.4f}" if isinstance(yes_no, YesNo) else f"no p(yes): {yes_no}",
            f"tokens: {check.reply.prompt_tokens:,} in the prompt, {check.reply.answer_tokens:,} in the answer",
            f"a run on this dataset: {amount(found.expected.calls, 'call')}, {tokens:,} tokens, "
            f"about {duration(found.seconds)}" + (f", costs {found.money:.2f}" if found.money else ""),
        ]
    )


def print_judge_audit(report: AuditReport, *, as_json: bool) -> None:
    """Everything that an audit found, as tables or as one JSON object."""
    if as_json:
        print_json(asdict(report))
        return
    audit = report.audit
    print_lines([f"judge {report.judge}: {amount(audit.asked, 'question')} about {amount(audit.scenes, 'scene')}"])
    for title, rows in _tables(report):
        if rows:
            print_lines(["", title])
            print_rows(rows, as_json=False, right=_right(rows))


def _tables(report: AuditReport) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    yield "Answers", list(_answer_rows(report))
    yield "Errors", list(_error_rows(report))
    yield "Faults", list(_fault_rows(report))
    yield "Questions", list(_question_rows(report))
    yield f"Bridge from {report.retired}", list(_bridge_rows(report))
    yield "Rates of yes in runs", list(_rate_rows(report))


def _answer_rows(report: AuditReport) -> Iterator[dict[str, Any]]:
    audit = report.audit
    shares = {
        "repeats agree": audit.repeat_agreement,
        "same answer with frames out of order": audit.order_agreement,
        "effect of the order": audit.order_effect,
        "refused": audit.refusals,
        "first answer not readable": audit.parse_failures,
        "not readable after a correction": audit.unreadable,
        "no reply": audit.failures,
    }
    yield from ({"measure": name, **_value(share)} for name, share in shares.items())
    numbers = {"prompt tokens per question": audit.prompt_tokens, "answer tokens per question": audit.answer_tokens}
    yield from ({"measure": name, "value": fixed(number, 1), "95 %": ""} for name, number in numbers.items())
    if report.money_per_question:
        yield {"measure": "cost per question", "value": fixed(report.money_per_question, 6), "95 %": ""}


def _error_rows(report: AuditReport) -> Iterator[dict[str, Any]]:
    for entry in report.audit.errors:
        yield {
            "answer": FORMS[entry.form],
            "polarity": POLARITIES[entry.is_positive],
            "asked": entry.asked,
            "missed yes": _short(entry.missed),
            "invented yes": _short(entry.invented),
            "yes bias": _short(entry.yes_bias),
            "error rate": _short(entry.error_rate),
            "bias in log-odds": _short(entry.log_odds_bias),
        }


def _fault_rows(report: AuditReport) -> Iterator[dict[str, Any]]:
    for entry in report.audit.faults:
        yield {
            "fault": entry.fault or CLEAN,
            "clips": entry.clips,
            "found": entry.found,
            "missed": entry.missed,
            "share found": _short(entry.found_share),
            "invented": entry.invented,
            "right": entry.right,
            "share invented": _short(entry.invented_share),
        }


def _question_rows(report: AuditReport) -> Iterator[dict[str, Any]]:
    for entry in report.audit.questions:
        yield {
            "question": entry.question,
            "sensitivity": _short(entry.confusion.recall),
            "specificity": _short(entry.confusion.specificity),
            "accuracy": _short(entry.confusion.accuracy),
        }


def _bridge_rows(report: AuditReport) -> Iterator[dict[str, Any]]:
    for entry in report.bridge:
        yield {
            "question": entry.question,
            "compared": entry.compared,
            "agreement": _short(entry.agreement),
            "kappa": fixed(entry.kappa.mean if entry.kappa else None),
            "yes after yes": _short(entry.yes_after_yes),
            "yes after no": _short(entry.yes_after_no),
        }


def _rate_rows(report: AuditReport) -> Iterator[dict[str, Any]]:
    for rate in report.rates:
        yield {
            "model": rate.model,
            "question": rate.question,
            "observed": _short(rate.observed),
            "rate": _short(rate.corrected),
            "how": f"{rate.how}: {rate.why_not}" if rate.why_not else rate.how,
        }


def _value(estimate: Estimate | None) -> dict[str, str]:
    return {"value": fixed(estimate.mean if estimate else None), "95 %": estimate_interval(estimate)}


def _short(estimate: Estimate | None) -> str:
    """The number with its interval in one cell."""
    if estimate is None:
        return "-"
    has_interval = estimate.low is not None
    return f"{fixed(estimate.mean)} {estimate_interval(estimate)}" if has_interval else fixed(estimate.mean)


def _right(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    words = ("measure", "95 %", "answer", "polarity", "fault", "question", "model", "how")
    return tuple(name for name in rows[0] if name not in words)
