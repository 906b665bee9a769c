"""Text of datasets inside Markdown, where it is neither markup nor a column, a link or a call to somebody."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lookaway.reports.text import visible

HARMLESS = frozenset(" ./,-=_→…")
LIVE = re.compile(r"(?<![^\W_])_|_(?![^\W_])|(?<=www)\.")
"""Signs that are harmless inside a word alone: an underscore begins or ends emphasis, and `www.` is linked."""
MOST_CHARACTERS = 80


def verbatim(text: object, most: int = MOST_CHARACTERS) -> str:
    """Text in the type of code, shown as it is; long text loses its end.

    Signs are spelled as HTML entities, which no reader of Markdown takes for markup. Inside code nobody is mentioned
    and nothing is linked.

    >>> verbatim("a|b @you <b>")
    '<code>a&#124;b &#64;you &#60;b&#62;</code>'
    """
    shown = visible(text)
    if len(shown) > most:
        shown = f"{shown[:most]}…"
    spelled = "".join(c if c.isalnum() or c in HARMLESS else _entity(c) for c in shown)
    return f"<code>{LIVE.sub(lambda found: _entity(found[0]), spelled)}</code>"


def _entity(sign: str) -> str:
    return f"&#{ord(sign)};"


def markdown_table(rows: Sequence[Mapping[str, str]], *, right: Sequence[str] = ()) -> str:
    """Rows with the same keys; keys and values are Markdown already."""
    header = list(rows[0])
    return markdown_lines(header, [list(row.values()) for row in rows], [name in right for name in header])


def markdown_lines(header: Sequence[str], rows: Sequence[Sequence[str]], is_right: Sequence[bool]) -> str:
    """A table of Markdown texts; some columns are aligned to the right."""
    rule = ["---:" if right else "---" for right in is_right]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *rows))


def folded(summary: str, content: str) -> str:
    """Content that is shown when it is asked for."""
    return f"<details>\n<summary>{summary}</summary>\n\n{content}\n\n</details>"
