"""Departures are data that fits a schema, name tests and metrics that exist, and become a table for each benchmark."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, REPOSITORY
from tests.support.published import published

sys.path.insert(0, str(DOCS))

from generate.departure_tables import FOLDER, TITLES, departures, read_departures

FILES = sorted(FOLDER.glob("*.yml"))
ROW = """
- row: MB1
  topic: Scale of the twist
  text: "Equations 16 and 17: the twist is not scaled."
  published: The twist as it is.
  corrected: |
    Each part is divided
    by its extent.
  names: [mbencha.causal.camera_interaction]
  settled: as in the paper
  moves: 0.75 | 1.00
  tests: [tests/docs/test_departures.py::test_a_table_for_each_benchmark]
"""


def test_every_file_is_of_a_benchmark_of_the_page():
    assert {path.stem for path in FILES} <= TITLES.keys()


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_rows_fit_the_schema_and_name_tests_and_metrics_that_exist(path: Path):
    rows = read_departures(path)
    assert [row for row, count in Counter(row.row for row in rows).items() if count > 1] == []
    for row in rows:
        for name in row.names:
            assert published(name).name == name, row.row
        for address in row.tests:
            file, _, name = address.partition("::")
            module = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
            functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
            assert name.partition("[")[0] in functions, f"{row.row}: {address}"


def test_a_table_for_each_benchmark(tmp_path):
    (tmp_path / "mbench.yml").write_text(ROW)
    second = ROW.replace("MB1", "MI2").replace("as in the paper", "open, pinned").partition("  corrected")[0]
    rest = "  settled: open, pinned\n  code: Twice.\n"
    (tmp_path / "mind.yml").write_text(second + rest)
    text = departures(tmp_path)
    assert text.startswith("## MBench { #mbench }\n\n1 row: 1 as in the paper.\n\n| Row | Topic |")
    assert "## MIND { #mind }\n\n1 row: 1 open, pinned." in text
    assert "| Each part is divided by its extent. | 0.75 \\| 1.00 |" in text
    assert "| Twice. | The twist as it is.<br>*open, pinned* | the same | not measured |" in text
    assert "| none released, or silent | The twist as it is.<br>*as in the paper* |" in text
    assert all(line.count(" | ") == 6 for line in text.splitlines() if line.startswith('| <span id="m'))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  moves:", "  effect:"),
        ("as in the paper", "as we like it"),
        ("  topic: Scale of the twist\n", ""),
        ("row: MB1", "row: first"),
        ("published: The twist as it is.", 'published: ""'),
    ],
    ids=["an unknown field", "settled otherwise", "no topic", "a row without a number", "an empty reading"],
)
def test_what_does_not_fit_is_refused(tmp_path, old, new):
    path = tmp_path / "mbench.yml"
    assert old in ROW
    path.write_text(ROW.replace(old, new))
    with pytest.raises(ValueError, match="validation error"):
        read_departures(path)
