from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lookaway.engine.run import Run
from lookaway.reports.runs import load_runs
from lookaway.reports.site import building
from lookaway.reports.site.building import build_site
from tests.reports.site.page import Node, read_page
from tests.support.browser import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def build_index(tmp_path, monkeypatch) -> Callable[..., Node]:
    """Builds the index of some runs without the pages of cases, into `tmp_path / "site"` where no folder is given."""
    monkeypatch.setattr(building, "write_items", lambda runs, output: {})

    def build(*runs: Run, output: Path | None = None, title: str | None = None, controls: tuple[str, ...] = ()) -> Node:
        index = build_site(load_runs([run.path for run in runs], controls), output or tmp_path / "site", title=title)
        return read_page(index.read_text())

    return build
