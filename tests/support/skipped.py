"""A plugin of pytest: how many tests were skipped for each reason, at the end of a run."""

from __future__ import annotations

from collections import Counter

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each reason: the list by file that pytest prints cannot be taken in at a glance."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    if reasons:
        terminalreporter.section(f"{reasons.total()} skipped tests")
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count:5}  {reason}")
