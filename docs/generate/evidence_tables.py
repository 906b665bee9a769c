"""What the site says has been shown for metrics: by tests, with weights, and by cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from generate.markdown import escaped, table
from lookaway.calibration.evidence import CARD, KINDS, Shown, all_metrics, shown_for
from lookaway.calibration.run_cards import shipped_cards
from lookaway.core import BoundMetric, plugins

HEADS = ("Name", *(text.capitalize() for text in KINDS.values()), CARD.capitalize())


def shown_table(bounds: Sequence[BoundMetric], *, link: str = "") -> str:
    """A row for each public name; gates score nothing and have none."""
    distinct = {bound.name: bound for bound in bounds if not bound.is_gate}
    rows = []
    for name, bound in distinct.items():
        shown = shown_for(bound, shipped_cards())
        head = f"[`{name}`]({link.format(bound.metric.name)})" if link else f"`{name}`"
        rows.append((head, *(_cell(kind, shown) for kind in KINDS), "yes" if shown.has_card else "no"))
    return table(HEADS, rows)


def _cell(kind: str, shown: Shown) -> str:
    if kind == "weights" and not shown.needs_weights:
        return "needs none"
    return _sources(shown.tests.get(kind, {})) or "no"


def _sources(tests: Mapping[str, str]) -> str:
    """What was compared with; the test is told where the pointer rests."""
    return "<br>".join(
        f'<span title="{test.replace("[", "&#91;")}">{escaped(source)}</span>' for source, test in tests.items()
    )


def evidence() -> str:
    """All metrics of all suites."""
    parts = []
    for name in plugins.names("suites"):
        parts += [f"## {name} {{ #{name} }}", shown_table(all_metrics(name), link="metrics/{}.md")]
    return "\n\n".join(parts)
