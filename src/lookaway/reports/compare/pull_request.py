"""A comparison for the comment of a pull request: what changed, and the rest folded away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lookaway.reports.compare.comparison import Comparison, Dimension, Verdict
from lookaway.reports.compare.fail_conditions import CheckedCondition
from lookaway.reports.compare.text import (
    RIGHT,
    check_lines,
    clip_row,
    dimension_row,
    legend,
    lock_lines,
    summary,
    why_not,
    worst_title,
)
from lookaway.reports.numbers import amount, folded, markdown_table, verbatim

NAMES = frozenset({"model", "metric", "subset", "rollout", "video"})
SHORT = ("model", "metric", "subset", "difference", "95 %", "q", "verdict")
MAX_ROWS = 50
"""Of each table and list: a comment has room for 65,536 characters."""
MAX_LINES, LONGEST_LINE = 10, 300
MARKS = {Verdict.WORSE: "▼", Verdict.BETTER: "▲"}


def comparison_markdown(comparison: Comparison, checks: Sequence[CheckedCondition]) -> str:
    """A headline, the dimensions that changed, and everything else behind a click."""
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
