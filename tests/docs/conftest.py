"""The site is built once for all tests, and its pages share a folder to run in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import REPOSITORY, Runner
from tests.docs.site import Site
from tests.support.made_once import copy_of, key_of


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The built site; a link that leads nowhere stops the build."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    return Site(copy_of(key_of("site", run), tmp_path_factory.mktemp("docs") / "site", _build))


def _build(folder: Path) -> None:
    # Not --quiet: it would hide the warnings that --strict counts.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Runs pages."""
    return Runner(tmp_path_factory.mktemp("pages"))
