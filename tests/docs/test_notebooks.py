"""Notebooks show what their cells print, and hold nothing of the machine that ran them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.docs.notebooks import NOTEBOOKS, code_cells, run_notebook, texts
from tests.docs.pages import agrees
from tests.docs.test_pages import MACHINE_PATH

NAMED = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


@NAMED
@pytest.mark.docs
@pytest.mark.merge
def test_cells_print_and_show_what_the_notebook_holds(path: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("LOOKAWAY_HOME", str(tmp_path / "home"))
    folder = tmp_path / "work"
    folder.mkdir()
    for cell, outputs in run_notebook(path, folder):
        held, real = texts(cell["outputs"]), texts(outputs)
        assert [kind for kind, _ in held] == [kind for kind, _ in real], cell["source"]
        for (_, shown), (_, found) in zip(held, real, strict=True):
            assert agrees(shown, found), "\n".join([*cell["source"], "shown:", *shown, "found:", *found])


@NAMED
def test_a_notebook_has_the_form_that_every_viewer_reads(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    counts = [cell["execution_count"] for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    assert not MACHINE_PATH.findall(text)


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS
