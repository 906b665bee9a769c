"""The site is built once and the pages are run once for all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, REPOSITORY, Ran, Runner, has_examples
from tests.docs.site import Site


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The built site; a link that leads nowhere stops the build."""
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: it would hide the warnings that --strict counts.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode == 0, done.stdout
    return Site(folder)


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Ran | Exception]:
    """What the commands of all pages really print."""
    return Runner(tmp_path_factory.mktemp("pages")).run_all(filter(has_examples, PAGES))
