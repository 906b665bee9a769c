from __future__ import annotations

import ast
import json
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import lookaway
from lookaway.core import BoundMetric
from lookaway.engine import code_fingerprint as fingerprints
from lookaway.engine.code_fingerprint import code_of
from lookaway.engine.reading import load_suite
from lookaway.reports.lock_explanations import mixed_code
from tests.support.scripted import bound, script
from tests.support.tiny import write_folder

CACHED = (
    fingerprints._fingerprint,
    fingerprints._source,
    fingerprints._used,
    fingerprints._defining,
    fingerprints._path,
)


def forget() -> None:
    for cached in CACHED:
        cached.cache_clear()


@pytest.fixture(autouse=True)
def _fresh():
    forget()
    yield
    forget()


def edit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str) -> None:
    """Let a module of `lookaway` have one more line, in a copy."""
    real = fingerprints._path
    source = real(module) or Path()
    edited = tmp_path / source.name
    edited.write_bytes(source.read_bytes() + b"\nEDITED = 1\n")
    forget()
    monkeypatch.setattr(fingerprints, "_path", lambda name: edited if name == module else real(name))


def metrics() -> tuple[BoundMetric, ...]:
    found = {bound.name: bound for bound in load_suite("memobench").metrics({})}
    return tuple(found.values())


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    assert before.keys() == after.keys()
    return {name for name in before if before[name] != after[name]}


def test_every_metric_of_a_suite_has_a_fingerprint_and_the_same_twice():
    found = code_of(metrics())
    assert found["metrics"].keys() == {bound.name for bound in metrics()}
    assert found["version"]
    forget()
    assert code_of(metrics()) == found


def test_workers_that_ask_at_once_get_the_same():
    bounds = metrics()
    expected = code_of(bounds)
    forget()
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: code_of(bounds), range(8))) == [expected] * 8


def test_an_edited_module_changes_the_metrics_that_use_it_and_no_other(monkeypatch, tmp_path):
    before = code_of(metrics())["metrics"]
    module = type(metrics()[0].metric).__module__
    uses = {entry.name for entry in metrics() if type(entry.metric).__module__ == module}
    edit(monkeypatch, tmp_path, module)
    found = changed(before, code_of(metrics())["metrics"])
    assert uses <= found < before.keys()


def test_an_edited_extractor_changes_the_metrics_whose_recipes_hold_it(monkeypatch, tmp_path):
    before = code_of(metrics())["metrics"]
    recipe = next(recipe for entry in metrics() for recipe in entry.recipes.values())
    module = type(recipe).__module__
    uses = {
        entry.name
        for entry in metrics()
        if module in {kind.__module__ for kind in fingerprints._kinds([entry.metric, *entry.recipes.values()])}
    }
    edit(monkeypatch, tmp_path, module)
    found = changed(before, code_of(metrics())["metrics"])
    assert uses <= found < before.keys()


@pytest.mark.parametrize("module", ["lookaway.core.outcomes", "lookaway.io.decoding"])
def test_what_all_of_them_use_changes_all(module, monkeypatch, tmp_path):
    before = code_of(metrics())["metrics"]
    edit(monkeypatch, tmp_path, module)
    assert changed(before, code_of(metrics())["metrics"]) == {entry.name for entry in metrics() if entry.recipes}


@pytest.mark.parametrize("module", ["lookaway", "lookaway.core", "lookaway.engine.session", "lookaway.reports.table"])
def test_what_computes_no_metric_changes_none(module, monkeypatch, tmp_path):
    before = code_of(metrics())["metrics"]
    edit(monkeypatch, tmp_path, module)
    assert not changed(before, code_of(metrics())["metrics"])


def test_a_constant_belongs_to_the_lock_and_not_to_the_code():
    (one, *_) = (entry for entry in metrics() if entry.recipes)
    assert fingerprints.code_fingerprint(one) == fingerprints.code_fingerprint(replace(one, name="another"))


def test_imports_are_found_as_by_a_parser():
    root = Path(lookaway.__file__).parent
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        package = ".".join(parts[:-1])
        text, expected = path.read_text(), set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                expected |= {(entry.name, None) for entry in node.names}
            elif isinstance(node, ast.ImportFrom):
                module = fingerprints._absolute(node.module, node.level, package)
                expected |= {(module, entry.name) for entry in node.names}
        found = {(module, name) for module, name, _ in fingerprints._imports(text, package)}
        if not (is_package and len(parts) == 2):  # its docstring shows an import of itself
            assert found == expected, path


def test_a_plugin_has_the_modules_of_its_own_package_and_what_it_takes_from_lookaway(tmp_path):
    program = """
        import json, sys
        from lookaway.core import BoundMetric
        from lookaway.engine import code_fingerprint as fingerprints
        from plugin.metric import Mine
        bound = BoundMetric(name="mine", metric=Mine())
        loaded = set(sys.modules)
        found = fingerprints.code_fingerprint(bound)
        reached = fingerprints._reached(["plugin.metric"], {"plugin", "lookaway"})
        print(json.dumps([found, sorted(reached), sorted(set(sys.modules) - loaded)]))
    """
    package = tmp_path / "plugin"
    package.mkdir()
    (package / "__init__.py").write_text("raise_nothing = True\n")
    (package / "arithmetic.py").write_text("FACTOR = 2\n")
    (package / "beside.py").write_text("FACTOR = 3\n")
    (package / "metric.py").write_text(
        "from dataclasses import dataclass\nfrom lookaway import MetricBase, Score\n\n"
        "@dataclass(frozen=True)\nclass Mine(MetricBase):\n    name: str = 'mine'\n\n"
        "    def measure(self, rollout, features):\n"
        "        from .arithmetic import FACTOR\n        return Score(FACTOR)\n"
    )

    def run() -> tuple[str, list[str], list[str]]:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return tuple(json.loads(done.stdout))

    found, reached, loaded = run()
    assert {"plugin.metric", "plugin.arithmetic", "lookaway.core.metric_base", "lookaway.core.outcomes"} <= set(reached)
    assert not {"plugin.beside", "lookaway.engine.evaluate", "lookaway"} & set(reached)
    assert not [name for name in loaded if name.startswith(("plugin", "lookaway"))]
    (package / "beside.py").write_text("FACTOR = 4\n")
    assert run()[0] == found
    (package / "arithmetic.py").write_text("FACTOR = 4\n")
    assert run()[0] != found


@dataclass(frozen=True)
class Typed:
    name: str = "typed"


def test_a_class_without_source_has_no_fingerprint(monkeypatch):
    monkeypatch.setattr(Typed, "__module__", "typed_in")
    typed = BoundMetric(name="typed", metric=Typed())  # type: ignore[arg-type]
    assert fingerprints.code_fingerprint(typed) is None
    assert code_of([typed])["metrics"] == {}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", cases=2)


def test_a_run_records_its_code_beside_the_hash_and_other_code_adds_its_own(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted", limit=1)
    (own,) = run.lock.code
    assert own == code_of([bound()])
    whole = lookaway.evaluate(root, tmp_path / "whole", suite="scripted").lock.sha256
    edit(monkeypatch, tmp_path, type(bound().metric).__module__)
    again = lookaway.evaluate(root, tmp_path / "run", suite="scripted", limit=1)
    assert again.lock.code == (own,)  # nothing was measured
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted")
    assert run.lock.code == (own, code_of([bound()]))
    assert run.lock.code[0] != run.lock.code[1]
    assert run.lock.sha256 == whole


def test_a_merged_run_keeps_the_code_of_all_its_parts_and_says_so(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    lookaway.evaluate(root, tmp_path / "1", suite="scripted", shard=lookaway.Shard(1, 2))
    edit(monkeypatch, tmp_path, type(bound().metric).__module__)
    lookaway.evaluate(root, tmp_path / "2", suite="scripted", shard=lookaway.Shard(2, 2))
    merged = lookaway.merge([tmp_path / "1", tmp_path / "2"], tmp_path / "merged")
    assert len(merged.lock.code) == 2
    (note,) = mixed_code(merged.lock, "merged")
    assert note.startswith("other code: merged was measured in parts, with lookaway")
