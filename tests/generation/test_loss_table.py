"""The table of losses in the docs is what the adapters give for six requests."""

from __future__ import annotations

from pathlib import Path

from lookaway.core import plugins
from lookaway.generation.adapter import ControlPlan
from tests.generation.golden import arrays, request

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "generate.md"
REQUESTS = ("yaw60_return", "yaw30", "forward_back", "strafe_back", "orbit", "yaw360")


def cell(planned) -> str:
    """Errors of the peak and of the end in degrees, and of the end in units where there is one."""
    if not isinstance(planned, ControlPlan):
        return "refused"
    loss = planned.loss
    if loss.return_error_deg is None:
        return "not known"
    moved = f", {loss.return_error_trans:.2f} u" if loss.return_error_trans >= 0.005 else ""
    return f"{loss.peak_angle_error_deg:.1f} / {loss.return_error_deg:.1f}{moved}"


def table() -> list[str]:
    """The rows of the table."""
    rows = []
    for name in plugins.names("adapters"):
        if name != "world":
            adapter = plugins.load("adapters", name)()
            cells = [cell(adapter.plan(request(arrays()[f"request__{what}"]), 0)) for what in REQUESTS]
            rows.append(f"| `{name}` | {' | '.join(cells)} |")
    return rows


def test_the_table_of_the_page_is_what_the_adapters_give():
    text = PAGE.read_text(encoding="utf-8")
    assert [row for row in table() if row not in text] == []
