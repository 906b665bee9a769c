"""Runs the cells of a notebook in one namespace, as a notebook does, and keeps what they print and show.

    python -m tests.docs.notebooks    runs all notebooks, and writes what their cells print and show into them

There is no server and no kernel, so tests need nothing but Python.
"""

from __future__ import annotations

import ast
import io
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

from tests.docs.pages import DOCS

NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))


def run_notebook(path: Path, folder: Path) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Every code cell with its real outputs, from an empty folder."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with chdir(folder):
        for number, cell in enumerate(code_cells(json.loads(path.read_text(encoding="utf-8"))), start=1):
            yield cell, _outputs("".join(cell["source"]), namespace, number)


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that are run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _outputs(source: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    body = ast.parse(source).body
    shown = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), namespace)
        if shown is not None:
            value = eval(compile(shown, "cell", "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(text)})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": _lines(value._repr_html_()), **data}
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def texts(outputs: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Every output as its kind and its lines."""
    return [
        (kind, "".join(lines).splitlines())
        for output in outputs
        for kind, lines in output.get("data", {"stdout": output.get("text", [])}).items()
    ]


def main() -> None:
    """Write what the cells of all notebooks print and show into them."""
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["LOOKAWAY_HOME"] = str(Path(folder, "home"))
            Path(folder, "work").mkdir()
            found = [outputs for _, outputs in run_notebook(path, Path(folder, "work"))]
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for number, (cell, outputs) in enumerate(zip(code_cells(notebook), found, strict=True), start=1):
            cell.update(execution_count=number, outputs=outputs)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
