from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lookaway.core import Compute
from lookaway.judges.local.network import Network, load_network
from tests.support.tiny_vlm import make_tiny_vlm


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny model; tests leave it as it is."""
    return make_tiny_vlm(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def network(published: Path) -> Network:
    return load_network(published, Compute())


@pytest.fixture
def another(published: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(published, tmp_path / "tiny"))


@pytest.fixture
def load_again(another: Path) -> Callable[[], Network]:
    return lambda: load_network(another, Compute())
