"""What every test may rely on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.support import dead_workers, skipped
from tests.support.made_once import CACHE

# A shell that starts the tests in the background may have them ignore Ctrl-C, and so would every command they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples everywhere, however slow the machine: a test that fails here fails elsewhere too. New examples are
# looked for with `--hypothesis-profile default`.
settings.register_profile("same_everywhere", derandomize=True, deadline=None, database=None)
settings.load_profile("same_everywhere")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(dead_workers)
    config.pluginmanager.register(skipped)


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every run adds to the table of measured costs, which must not be that of the user; what costs time is shared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOKAWAY_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("LOOKAWAY_NO_PROGRESS", "1")  # how fast lines come depends on the machine
        # A process of several has its folder in one that all of them share.
        own = tmp_path_factory.getbasetemp()
        shared = own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own
        if not os.environ.get(CACHE):
            patch.setenv(CACHE, str(shared / "made_once"))
        yield
