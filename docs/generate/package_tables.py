"""What the site says about outcomes, errors, limits, the files of a run, and packages."""

from __future__ import annotations

import ast
import inspect
import tomllib
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import lookaway
from generate.markdown import DOCS, data, escaped, first_line, summary, table
from lookaway.core import Reason, errors
from lookaway.io import limits as io_limits
from lookaway.reports.lock_explanations import TOLERANCES
from lookaway.reports.missing_values import NEXT_STEPS
from lookaway.store import run_folder
from lookaway.store.outcome_rows import SCHEMA


def reasons() -> str:
    """Every typed reason, its meaning, what to do, and whether anything uses it."""
    known = data("meanings.yml")["reasons"]
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in Path(lookaway.__file__ or "").parent.rglob("*.py")
        if path.name != "missing_values.py"
    )
    rows = []
    for reason in Reason:
        given = f"Reason.{reason.name}" in source or f'"{reason.value}"' in source
        step = NEXT_STEPS[reason]
        command = f" `{step.command}`" if step.command else ""
        later = "" if given else " *Reserved: not used yet.*"
        rows.append((f"`{reason.value}`{{ #{reason.value} }}", known[reason.value] + later, f"{step.words}{command}"))
    return table(("Reason", "Meaning", "What to do"), rows)


def error_tree() -> str:
    """The tree of errors as the source draws it."""
    tree = next(text for text in inspect.cleandoc(errors.__doc__ or "").split("\n\n") if "├──" in text)
    return f"```text\n{tree}\n```"


def error_list() -> str:
    """Every error with its first line."""
    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, Exception) and kind.__module__ == errors.__name__
    ]
    ordered = sorted(kinds, key=lambda kind: inspect.getsourcelines(kind)[1])
    return table(("Error", "Meaning"), [(f"`{kind.__name__}`", summary(kind)) for kind in ordered])


def limits() -> str:
    """Every limit on the files of a dataset, with the comment that follows it in the source."""
    body = ast.parse(inspect.getsource(io_limits)).body
    rows = []
    for constant, meaning in pairwise(body):
        if isinstance(constant, ast.AnnAssign) and isinstance(meaning, ast.Expr):
            name = ast.unparse(constant.target)
            rows.append((f"`{name}`", f"{getattr(io_limits, name):,}", escaped(ast.literal_eval(meaning.value))))
    return table(("Limit", "Value", "Of"), rows)


def run_files() -> str:
    """The files of a run as the source lists them."""
    lines = [
        line for line in inspect.cleandoc(run_folder.__doc__ or "").splitlines() if line.strip().startswith("RUN/")
    ]
    return "```text\n" + "\n".join(line.strip() for line in lines) + "\n```"


def outcome_columns() -> str:
    """Columns of the rows of outcomes."""
    known = data("meanings.yml")["outcome_columns"]
    return table(
        ("Column", "Type", "Meaning"), [(f"`{field.name}`", f"`{field.type}`", known[field.name]) for field in SCHEMA]
    )


def rollout_columns() -> str:
    """Columns of the table of rollouts."""
    known = data("meanings.yml")["rollout_columns"]
    return table(("Column", "Meaning"), [(f"`{name}`", known[name]) for name in run_folder.ROLLOUT_COLUMNS])


def environment_tolerances() -> str:
    """Metrics that another environment moves, and how far."""
    rows = [
        (f"`{name}`", f"{entry.value:g}", f"{entry.raw:g}" if entry.raw else "", ", ".join(entry.moved_by))
        for name, entry in sorted(TOLERANCES.items())
    ]
    return table(("Metric", "Score", "Raw value", "Moved by"), rows)


def packages() -> str:
    """The packages in their layers, from the contract that the import linter enforces."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    layers = next(c["layers"] for c in project["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    rows = []
    for number, layer in enumerate(layers, start=1):
        for package in layer.split(" | "):
            module = import_module(f"lookaway.{package}")
            rows.append((str(number), f"`{package}`", escaped(first_line(module.__doc__))))
    return table(("Layer", "Package", "Contents"), rows)
