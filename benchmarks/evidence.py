"""What tests show for each metric: reads the tests, and writes the record that `lookaway metrics` and the site print.

A test shows something for a public name in one of three ways:

- It carries a mark: `@pytest.mark.equation("MBench, equation 7", metrics=["mbencha.environment.spatial_epipolar"])`, or
  `golden`, `weights_run`, `published_table`, each with its source first.
- It is the value of a table in `tests/conformance`, `EQUATIONS = {7: "test_equation_7_is_..."}`, and names the
  metric, in its body or in a constant or function of the file that it uses: `"mbencht.causal.state_progress"`, or
  `f"{prefix}.environment.spatial_epipolar"` for all suites that have it. A key that ends a public name, such as
  `"lcm.mse"`, stands for that name alone. Tables of a file `test_*_code.py` show that it is equal to the code.
- It reads `golden_numbers("mind")` and names the metric in its body.

Run it as `python -m benchmarks.evidence` after a change of such tests, and commit what it writes.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lookaway.calibration.evidence import all_metrics
from lookaway.core import plugins

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "src" / "lookaway" / "calibration" / "evidence.json"
MARKS = {"equation": "equation", "golden": "code", "weights_run": "weights", "published_table": "table"}
"""What a mark shows."""
Record = dict[str, dict[str, dict[str, str]]]
Function = ast.FunctionDef


def public_names() -> tuple[str, ...]:
    """Names of all metrics of all suites, but for those of corrected protocols: no authority has their numbers."""
    bounds = [bound for suite in plugins.names("suites") for bound in all_metrics(suite)]
    return tuple(dict.fromkeys(bound.name for bound in bounds if bound.is_of("published")))


def collect(tests: Path, names: Sequence[str]) -> Record:
    """The record of all tests in a folder."""
    found: Record = {}
    for path in sorted(tests.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        address = path.relative_to(tests.parent).as_posix()
        tables = path.parent.name == "conformance"
        if not tables and not any(f"mark.{mark}(" in text for mark in MARKS) and "golden_numbers(" not in text:
            continue
        for name, kind, source, test in _shown(ast.parse(text), names, address, tables=tables):
            found.setdefault(name, {}).setdefault(kind, {})[source] = f"{address}::{test}"
    return {
        name: {
            kind: dict(sorted(found[name][kind].items(), key=_in_order))
            for kind in MARKS.values()
            if kind in found[name]
        }
        for name in sorted(found)
    }


def _in_order(entry: tuple[str, str]) -> list[tuple[int, str]]:
    """Equation 9 before equation 10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", entry[0])]


def _shown(
    module: ast.Module, names: Sequence[str], address: str, *, tables: bool
) -> Iterator[tuple[str, str, str, str]]:
    """Public name, kind, source and test, for all tests of a file."""
    listed = dict(_listed(module)) if tables else {}
    for test in module.body:
        if not isinstance(test, Function) or not test.name.startswith("test_"):
            continue
        for kind, source, patterns in _marked(test):
            for pattern in patterns:
                matching = [name for name in names if fnmatchcase(name, pattern)]
                if not matching:
                    raise ValueError(f"{address}::{test.name}: no metric is named {pattern!r}; see `lookaway metrics`")
                yield from ((name, kind, source, test.name) for name in matching)
        own = _named(_used(test, module), names)
        kind = "code" if address.endswith("_code.py") else "equation"
        for source in listed.get(test.name, ()):
            yield from ((name, kind, source, test.name) for name in _meant(source, own, names))
        for source in _golden(test):
            yield from ((name, "code", source, test.name) for name in own)


def _listed(module: ast.Module) -> Mapping[str, list[str]]:
    """By test, the keys of the tables of a file that hold names of tests; values that are reasons stay out."""
    found: dict[str, list[str]] = {}
    for statement in module.body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(statement.value, ast.Dict):
            continue
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        what = target.id.removesuffix("S").lower() if isinstance(target, ast.Name) else ""
        for key, value in zip(statement.value.keys, statement.value.values, strict=True):
            if isinstance(key, ast.Constant):
                source = f"{what} {key.value}" if isinstance(key.value, int) else str(key.value)
                for text in (part.value for part in ast.walk(value) if isinstance(part, ast.Constant)):
                    found.setdefault(str(text), []).append(source)
    return found


def _marked(test: Function) -> Iterator[tuple[str, str, list[str]]]:
    """Kind, source and names of every mark of a test."""
    for decorator in test.decorator_list:
        if (
            isinstance(decorator, ast.Call)
            and isinstance(decorator.func, ast.Attribute)
            and decorator.func.attr in MARKS
            and ast.unparse(decorator.func.value) == "pytest.mark"
        ):
            (source,) = decorator.args
            (metrics,) = (keyword.value for keyword in decorator.keywords if keyword.arg == "metrics")
            yield MARKS[decorator.func.attr], ast.literal_eval(source), ast.literal_eval(metrics)


def _meant(source: str, own: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """The names that a key of a table stands for: the one that it ends, else those of its test that end as it does."""
    if whole := [name for name in names if source in (name, name.partition(".")[2])]:
        return whole
    return [name for name in own if name.rpartition(".")[2] == source.rpartition(".")[2]] or own


def _used(test: Function, module: ast.Module) -> list[ast.AST]:
    """All that a test says: itself, and the functions and constants of its file that it uses, directly or not."""
    known: dict[str, ast.AST] = {}
    for statement in module.body:
        if isinstance(statement, Function) and not statement.name.startswith("test_"):
            known[statement.name] = statement
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant | ast.Tuple | ast.List):
            targets = [part for target in statement.targets for part in ast.walk(target)]
            known |= {target.id: statement.value for target in targets if isinstance(target, ast.Name)}
    found: dict[str, ast.AST] = {}
    waiting: list[ast.AST] = [test]
    while waiting:
        names = {node.id for node in ast.walk(waiting.pop()) if isinstance(node, ast.Name)}
        for name in sorted((names & known.keys()) - found.keys()):
            found[name] = known[name]
            waiting.append(known[name])
    return [test, *found.values()]


def _named(said: Sequence[ast.AST], names: Sequence[str]) -> list[str]:
    """The public names in them: whole ones, and `f"{prefix}.environment.spatial_epipolar"` with whatever prefix."""
    nodes = [node for part in said for node in ast.walk(part)]
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    ends = {
        node.values[1].value
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        and [type(part) for part in node.values] == [ast.FormattedValue, ast.Constant]
        and isinstance(node.values[1], ast.Constant)
    }
    return [name for name in names if "." in name and (name in texts or f".{name.partition('.')[2]}" in ends)]


def _golden(test: Function) -> list[str]:
    """Files of golden numbers that a test reads."""
    calls = (ast.unparse(node) for node in ast.walk(test) if isinstance(node, ast.Call))
    return sorted({f"{name[1]}.json" for call in calls if (name := re.fullmatch(r"golden_numbers\('(\w+)'\)", call))})


def written(record: Mapping[str, Any]) -> str:
    """The record as it is committed."""
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    RECORD.write_text(written(collect(ROOT / "tests", public_names())), encoding="utf-8")
