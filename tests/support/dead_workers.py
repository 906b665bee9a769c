"""A test process that dies ends the run, with the name of the test that killed it.

The controller learns of a death by the end of a pipe, and whatever the dead process forked keeps that pipe open: it
would wait for ever. So the process itself is watched too.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

SECONDS_TO_READ = 3.0
"""For what the process has said before it died; without this, another test would be named."""
HELD: list[Any] = []
"""Dead processes whose pipe is open."""
STATUS = pytest.StashKey[int]()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodeready(node: Any) -> None:
    """Watch a test process from the moment that it runs."""
    threading.Thread(target=_report_death, args=(node,), daemon=True).start()


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: pytest.TestReport) -> None:
    """Name the test at once: the other processes may have some minutes of tests left."""
    reporter = report.node.config.pluginmanager.getplugin("terminalreporter")  # type: ignore[attr-defined]
    said = f"{crashitem} killed its test process; what the others have been given is still run."
    reporter.write_line(f"\n{said}", red=True)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remember how the run ends."""
    session.config.stash[STATUS] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave without waiting for a pipe that nobody will close."""
    if HELD:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.stash.get(STATUS, 1))


def _report_death(node: Any) -> None:
    from xdist.workermanage import Marker

    with suppress(ChildProcessError):  # it has ended and was waited for already
        os.waitid(os.P_PID, node.gateway._rinfo().pid, os.WEXITED | os.WNOWAIT)
    time.sleep(SECONDS_TO_READ)
    if not node._down:
        HELD.append(node)
        node.process_from_remote(Marker.END)
