"""A plugin of pytest: a test that failed runs once more, alone; where it passes then, it is flaky and the run goes on.

A loaded machine must not fail a run of many thousand tests by one of them, and no such test may hide. Each is named on
the last lines before the summary, so that it is mended next. Used by `make test-all`, and so by `.ci/run`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MOST = 5
"""More tests than these do not fail by chance."""
FAILED: dict[str, None] = {}
"""Node ids, in the order in which they failed."""
WHOLE: list[str] = []
"""Why tests that failed would not be all that is wrong: what could not be collected, and what killed its process."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember a test that failed, or that could not be set up or torn down."""
    if report.failed:
        FAILED[report.nodeid] = None


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Tests of a file that cannot be read did not run."""
    if report.failed:
        WHOLE.append(f"{report.nodeid} could not be collected")


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str) -> None:
    """What a dead process had left did not run."""
    WHOLE.append(f"{crashitem} killed its test process")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> object:
    """Outermost, so that the test processes have ended, and the summary line can say so."""
    del exitstatus
    session.config.pluginmanager.register(_Summary(session))
    return (yield)


class _Summary:
    """Runs after all other parts of the summary but its last line."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> object:
        result = yield
        session = self.session
        if hasattr(session.config, "workerinput") or session.exitstatus != pytest.ExitCode.TESTS_FAILED:
            return result
        if reason := _reason_against(session):
            terminalreporter.section("not run once more", yellow=True)
            terminalreporter.line(reason)
            return result
        passed = {name: passes_alone(name, session.config.rootpath) for name in FAILED}
        terminalreporter.section("run once more, alone", yellow=True)
        for name in (name for name, is_flaky in passed.items() if not is_flaky):
            terminalreporter.line(f"failed again: {name}", red=True)
        for name in (name for name, is_flaky in passed.items() if is_flaky):
            terminalreporter.line(f"flaky: {name}: failed in the run, passed alone", yellow=True)
        if all(passed.values()):
            session.exitstatus = pytest.ExitCode.OK
        return result


def _reason_against(session: pytest.Session) -> str:
    """Why passing alone would not show that a run is good, or nothing."""
    if WHOLE:
        return WHOLE[0]
    if session.shouldstop or session.shouldfail:
        return f"the run was ended early: {session.shouldstop or session.shouldfail}"
    if len(FAILED) > MOST:
        return f"{len(FAILED)} tests failed, more than {MOST}"
    return "" if FAILED else "no test failed, and yet the run did"


def passes_alone(name: str, folder: Path) -> bool:
    """Whether one test, in a process of its own and of whatever tier, passes; being skipped is not passing."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider", "-p", "no:xdist", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode == 0 and (done.stdout.splitlines() or [""])[-1].startswith("1 passed")
