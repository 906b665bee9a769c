"""A comparison as text: on the terminal, as JSON, and as the comment of a pull request."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from lookaway.reports.compare.comparison import FALSE_FINDINGS, ChangedClip, Comparison, Dimension, NotCompared, Verdict
from lookaway.reports.compare.fail_conditions import CheckedCondition
from lookaway.reports.numbers import (
    amount,
    digits_for,
    estimate_interval,
    fixed,
    folded,
    markdown_table,
    print_json,
    print_lines,
    print_rows,
    probability,
    signed,
    verbatim,
)

RIGHT = ("before", "after", "difference", "95 %", "p", "q", "detectable", "pairs", "unpaired")


def print_comparison(comparison: Comparison, checks: Sequence[CheckedCondition]) -> None:
    """Every dimension, then the clips that got worse, the metrics left out, and the conditions."""
    print_rows([dimension_row(entry) for entry in comparison.dimensions], as_json=False, right=RIGHT)
    print_lines([why for entry in comparison.dimensions if (why := why_not(entry))])
    print_lines(["", summary(comparison), *legend(comparison)])
    if comparison.worst:
        print_lines(["", worst_title(comparison)])
        print_rows([clip_row(clip) for clip in comparison.worst], as_json=False, right=RIGHT)
    for entry in comparison.not_compared:
        print_lines(["", f"not compared: {entry.metric}: {entry.why}", *(f"  {line}" for line in lock_lines(entry))])
    print_lines([f"note: {note}" for note in comparison.notes])
    print_lines([line for check in checks for line in check_lines(check)])


def print_comparison_json(comparison: Comparison, checks: Sequence[CheckedCondition]) -> None:
    """Everything unrounded, for programs."""
    print_json({**asdict(comparison), "checks": [{**asdict(check), "failed": check.failed} for check in checks]})


def dimension_row(entry: Dimension) -> dict[str, str]:
    """One row, as people read it."""
    estimate = entry.difference
    known = [value for value in (entry.before, entry.after) if value is not None]
    digits = digits_for(known)
    return {
        "model": entry.model,
        "metric": entry.metric,
        "subset": entry.subset,
        "before": fixed(entry.before, digits),
        "after": fixed(entry.after, digits),
        "difference": signed(estimate.mean if estimate else None, digits),
        "95 %": estimate_interval(estimate, digits),
        "p": probability(entry.p),
        "q": probability(entry.q),
        "detectable": fixed(entry.detectable, digits),
        "pairs": str(entry.pairs),
        "unpaired": f"{entry.only_before}+{entry.only_after}",
        "verdict": entry.verdict.value,
    }


def why_not(entry: Dimension) -> str:
    """Why a dimension is not estimable; empty where it is."""
    return entry.why and f"{entry.metric} of {entry.subset} ({entry.model}): {entry.why}"


def clip_row(clip: ChangedClip) -> dict[str, str]:
    """One pair of clips, as people read it."""
    digits = digits_for([clip.before, clip.after])
    return {
        "rollout": clip.rollouts[0] if len(clip.rollouts) == 1 else f"{clip.case}, mean of {len(clip.rollouts)} seeds",
        "metric": clip.metric,
        "before": fixed(clip.before, digits),
        "after": fixed(clip.after, digits),
        "difference": signed(clip.difference, digits),
        "video": clip.video,
    }


def summary(comparison: Comparison) -> str:
    """How many dimensions have which verdict."""
    counts = Counter(entry.verdict.value for entry in comparison.dimensions)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]) or "nothing to compare"


def legend(comparison: Comparison) -> list[str]:
    """What the columns mean."""
    pairs, alone = _pair_counts(comparison.dimensions)
    return [
        f"pairs: clips of the same case and seed, {pairs} in all; unpaired: scored on one side only (before+after), "
        f"{alone} in all",
        "before, after: every clip counts once, as in `lookaway show`, over the clips that both have",
        "difference: above zero is better; 95 % intervals and sign-flip p over scenes; q: Benjamini-Hochberg over "
        f"{amount(comparison.family, 'test')}, at most {FALSE_FINDINGS} for better or worse",
        "detectable: the smallest true difference that this many scenes would detect 4 times in 5",
    ]


def worst_title(comparison: Comparison) -> str:
    """How many clips got worse, and how many of them are shown."""
    pairs, _ = _pair_counts(comparison.dimensions)
    shown = "" if len(comparison.worst) == comparison.got_worse else f", the worst {len(comparison.worst)} first"
    return f"worse on {comparison.got_worse} of {amount(pairs, 'pair')}{shown}:"


def lock_lines(entry: NotCompared) -> list[str]:
    """Where two locks differ."""
    return [
        f"{path}: {reprlib.repr(before)} before, {reprlib.repr(after)} after"
        for path, before, after in entry.lock_differences
    ]


def check_lines(check: CheckedCondition) -> list[str]:
    """The result of a condition."""
    text = check.condition.text
    lines = [f"failed: {text}: {_met_by(check, entry)}" for entry in check.met]
    lines += [f"failed: {text}: cannot be decided: {why}" for why in check.undecided]
    return lines or [f"passed: {text}"]


def _met_by(check: CheckedCondition, entry: Dimension) -> str:
    number = check.condition.number(entry)
    digits = digits_for([check.condition.bound if number is None else number, check.condition.bound])
    return f"{entry.metric} of {entry.subset} is {signed(number, digits)} ({entry.model})"


def _pair_counts(entries: Iterable[Dimension]) -> tuple[int, int]:
    rows: list[Any] = [(entry.pairs, entry.only_before + entry.only_after) for entry in entries]
    return sum(pairs for pairs, _ in rows), sum(alone for _, alone in rows)


NAMES = frozenset({"model", "metric", "subset", "rollout", "video"})
SHORT = ("model", "metric", "subset", "difference", "95 %", "q", "verdict")
MAX_ROWS = 50
"""The most rows of a table or list: a comment is limited to 65,536 characters."""
MAX_LINES, LONGEST_LINE = 10, 300
MARKS = {Verdict.WORSE: "▼", Verdict.BETTER: "▲"}


def comparison_markdown(comparison: Comparison, checks: Sequence[CheckedCondition]) -> str:
    """A headline, the dimensions that changed, and everything else folded."""
    changed = [entry for entry in comparison.dimensions if entry.verdict in MARKS]
    changed.sort(key=lambda entry: entry.verdict is Verdict.BETTER)
    parts = [f"### {summary(comparison)}"]
    parts += [f"- {_mark(check)} {verbatim(line, LONGEST_LINE)}" for check in checks for line in check_lines(check)]
    if changed:
        parts.append(_dimensions(changed, SHORT))
    if comparison.dimensions:
        whole = _dimensions(comparison.dimensions, None)
        why = [
            f"- {verbatim(line, LONGEST_LINE)}"
            for entry in comparison.dimensions[:MAX_ROWS]
            if (line := why_not(entry))
        ]
        parts.append(folded(f"All {amount(len(comparison.dimensions), 'dimension')}", _joined([whole, *why])))
    if comparison.worst:
        rows = [_safe(clip_row(clip)) for clip in comparison.worst[:MAX_ROWS]]
        parts.append(folded(worst_title(comparison).rstrip(":").capitalize(), markdown_table(rows, right=RIGHT)))
    if comparison.not_compared:
        parts.append(folded(f"{amount(len(comparison.not_compared), 'metric')} not compared", _left_out(comparison)))
    parts += [
        f"<sub>{'<br>'.join(legend(comparison))}</sub>",
        *(f"Note: {verbatim(note, LONGEST_LINE)}" for note in comparison.notes),
    ]
    return _joined(parts) + "\n"


def _dimensions(entries: Sequence[Dimension], columns: Sequence[str] | None) -> str:
    rows = []
    for entry in entries[:MAX_ROWS]:
        row = _safe(dimension_row(entry))
        row["verdict"] = f"{MARKS.get(entry.verdict, '')} {row['verdict']}".strip()
        rows.append({name: row[name] for name in columns or row})
    table = markdown_table(rows, right=RIGHT)
    return table if len(entries) <= MAX_ROWS else f"{table}\n\nand {len(entries) - MAX_ROWS} more"


def _left_out(comparison: Comparison) -> str:
    lines = []
    for entry in comparison.not_compared[:MAX_ROWS]:
        lines.append(f"- {verbatim(entry.metric)}: {entry.why}")
        lines += [f"  - {verbatim(line, LONGEST_LINE)}" for line in lock_lines(entry)[:MAX_LINES]]
    return "\n".join(lines)


def _safe(row: dict[str, str]) -> dict[str, str]:
    return {name: verbatim(value) if name in NAMES else value.replace("<", "&lt;") for name, value in row.items()}


def _mark(check: CheckedCondition) -> str:
    return "❌" if check.failed else "✅"


def _joined(parts: Iterable[str]) -> str:
    """Paragraphs; items of one list stay together."""
    text = ""
    for part in parts:
        together = part.startswith("- ") and text.rpartition("\n")[2].startswith("- ")
        text += ("\n" if together else "\n\n") + part if text else part
    return text
