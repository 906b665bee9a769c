"""Environments that the tests of one run share, in a home of their own."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory):
    """Where environments are made. Wheels that pip finds on this machine, uv finds too."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOKAWAY_HOME", str(folder))
        if os.environ.get("PIP_FIND_LINKS"):
            patch.setenv("UV_FIND_LINKS", os.environ["PIP_FIND_LINKS"])
        yield folder
