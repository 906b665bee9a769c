"""Numbers and tables as text. The only module that rounds."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lookaway.core import Estimate

MIN_DIGITS, SHOWN_OF_LARGEST = 3, 3
SMALLEST_PROBABILITY = 0.001


def fixed(value: float | None, digits: int = 3) -> str:
    """A number with a fixed number of digits, or a dash where there is none.

    >>> fixed(0.12345), fixed(None), fixed(-1e-17)
    ('0.123', '-', '0.000')
    """
    return "-" if value is None else f"{value:z.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """A difference, with its sign.

    >>> signed(0.12345), signed(-0.5), signed(-1e-17), signed(None)
    ('+0.123', '-0.500', '+0.000', '-')
    """
    return "-" if value is None else f"{value:+z.{digits}f}"


def probability(value: float | None) -> str:
    """A p- or q-value; one that rounds to nothing is only known to be small.

    >>> probability(0.0451), probability(0.00002), probability(None)
    ('0.045', '<0.001', '-')
    """
    if value is None:
        return "-"
    return f"<{SMALLEST_PROBABILITY}" if value < SMALLEST_PROBABILITY else fixed(value)


def digits_for(values: Sequence[float]) -> int:
    """As many digits as show three figures of the largest value, and no fewer than three.

    >>> digits_for([0.5, 12.0]), digits_for([0.000123]), digits_for([])
    (3, 6, 3)
    """
    largest = max((abs(value) for value in values), default=0.0)
    return MIN_DIGITS if largest == 0 else max(MIN_DIGITS, SHOWN_OF_LARGEST - 1 - math.floor(math.log10(largest)))


def estimate_interval(estimate: Estimate | None, digits: int = 3) -> str:
    """The 95 % interval of an estimate; with too few scenes for one, the means of the scenes.

    >>> estimate_interval(Estimate(mean=0.5, low=0.4, high=0.6, scored=9, scenes=9))
    '[0.400, 0.600]'
    >>> estimate_interval(Estimate(mean=0.5, low=None, high=None, scored=2, scenes=2, scene_means=(0.4, 0.6)))
    'scenes 0.400 0.600'
    """
    if estimate is None:
        return "-"
    if estimate.low is not None and estimate.high is not None:
        return f"[{fixed(estimate.low, digits)}, {fixed(estimate.high, digits)}]"
    return scene_values(estimate, digits) or "-"


def scene_values(estimate: Estimate, digits: int = 3) -> str:
    """The means of the scenes of an estimate that has no interval; empty where they are not known."""
    if estimate.scenes == 1:
        return "one scene"
    means = [fixed(mean, digits) for mean in estimate.scene_means]
    if len(means) == 1:
        return f"all {estimate.scenes} scenes {means[0]}"
    return f"scenes {' '.join(means)}" if means else ""


def counts(reasons: Mapping[str, int], failures: int = 0) -> str:
    """Reasons with their counts.

    >>> counts({"missing_video": 2}, failures=1)
    'failed 1, missing_video 2'
    """
    parts = [f"failed {failures}"] if failures else []
    return ", ".join(parts + [f"{reason} {count}" for reason, count in reasons.items()])


def duration(seconds: float) -> str:
    """A duration in the unit that fits it.

    >>> duration(42), duration(5400), duration(200_000)
    ('42 s', '1.5 h', '2.3 d')
    """
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size or (unit == "d" and seconds >= size):
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def size(count: float) -> str:
    """A number of bytes in the unit that fits it.

    >>> size(1500), size(3.2e9)
    ('1.5 kB', '3.2 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def amount(count: int, noun: str) -> str:
    """A number of things.

    >>> amount(1, "model"), amount(3, "model")
    ('1 model', '3 models')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


WIDEST_LINE = 10_000


def console() -> Console:
    """A console that wraps nothing where the output is not a terminal, so that pipes and files keep whole lines."""
    return _Console() if sys.stdout.isatty() else _Console(width=WIDEST_LINE, soft_wrap=True)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let the command line handle a closed pipe; Rich would exit with 1."""
        raise BrokenPipeError


def visible(text: object) -> str:
    r"""Text in one line, with every character that a terminal would act upon spelled out.

    >>> print(visible("a\x1b[31mb\nc é"))
    a\x1b[31mb\nc é
    """
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in plain)


def print_json(value: Any) -> None:
    """JSON on standard output; control characters are escaped, other letters are not."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    print("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def print_lines(lines: Iterable[str]) -> None:
    """Lines as they are: text of datasets is neither markup nor a terminal command."""
    for line in lines:
        console().print(Text(visible(line)))


def print_rows(rows: Sequence[Mapping[str, Any]], *, as_json: bool, right: Sequence[str] = ()) -> None:
    """Rows with the same keys as a table; text of datasets is neither markup nor a terminal command."""
    if as_json:
        print_json(list(rows))
        return
    if not rows:
        print_lines(["nothing"])
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in rows[0]:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(value)) for value in row.values()))
    console().print(table)


HARMLESS = frozenset(" ./,-=_→…")
LIVE = re.compile(r"(?<![^\W_])_|_(?![^\W_])|(?<=www)\.")
"""Signs that are harmless inside a word alone: an underscore begins or ends emphasis, and `www.` is linked."""
MAX_CHARACTERS = 80


def verbatim(text: object, most: int = MAX_CHARACTERS) -> str:
    """Text as inline code, shown as it is; long text is cut.

    Special characters become HTML entities, which Markdown does not read as markup. Inside code nobody is mentioned
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
    """Content that is shown on a click."""
    return f"<details>\n<summary>{summary}</summary>\n\n{content}\n\n</details>"
