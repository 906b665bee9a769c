"""The check of a judge on the terminal."""

from __future__ import annotations

from dataclasses import asdict

from lookaway.engine.judge_check import ClipCheck
from lookaway.judges.judge_check import Description
from lookaway.judges.question import YesNo
from lookaway.reports.numbers import amount, duration, print_json, print_lines

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
