from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hub import empty_hub


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of published weights; nothing can be fetched."""
    empty_hub(tmp_path / "home", monkeypatch)
    return tmp_path / "home"
