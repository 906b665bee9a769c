"""Finds numbers in the code that can move a result although the lock stays the same: each is changed, one at a time.

    python -m benchmarks.locked_constants             goes on from the committed table; exits with 1 where it finds one
    python -m benchmarks.locked_constants --only TEXT  those whose name contains a text, measured again

A constant is a number at module level, an entry of a tuple of numbers there, or the numeric default of a parameter, in
functions and classes of `lookaway.metrics`, `perception`, `judges`, `core` and `io` that metrics and extractors of the
clips use, directly or through others. It is doubled, halved and negated, a count also made one larger and one smaller,
a zero 1e-3 and 1; after each change, clips that execute code which reads it are measured again: those that read least
beside it, and at most `MOST_CLIPS`. A field of a metric or recipe must move the lock; any other number must not move a
score. A change that raises an exception is loud and counts as no move. A number that no clip reads needs a clip, or a
reason in `constants/reasons.json`.

The table `constants/found.json` has a row for each constant, with a hash of the file that defines it and of the clips:
rows whose hash is still right are not measured again, so that the command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import importlib
import inspect
import json
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

from benchmarks.constant_clips import CLIPS, Clip
from benchmarks.constant_sets import SetClip, staged
from lookaway.core import BoundMetric, describe, plugins
from lookaway.io.files import read_json, write_json

FOLDER = Path(__file__).parent / "constants"
FOUND, REASONS = FOLDER / "found.json", FOLDER / "reasons.json"
LAYERS = tuple(f"lookaway.{layer}" for layer in ("metrics", "perception", "judges", "core", "io"))
MODULE, DEFAULT, FIELD = "module", "default", "field"
SLOW = 20
"""Times the usual time after which a changed constant is taken for one that hangs, which is loud."""
MOST_CLIPS = 3
SAVED_AFTER = 5

Symbol = tuple[str, str]
"""Module and name of what it defines."""
AnyClip = Clip | SetClip


@dataclass(frozen=True, order=True, slots=True)
class Constant:
    """One number, and where it stands."""

    module: str
    name: str
    """`NAME` of a module, `function.parameter`, or `Class.field`."""
    kind: str
    entry: int = -1
    """Which entry of a tuple; -1 for a number."""

    @property
    def key(self) -> str:
        """As it is called in the tables."""
        return f"{self.module}:{self.name}" + (f"[{self.entry}]" if self.entry >= 0 else "")

    @property
    def owner(self) -> str:
        """The name in its module that has it."""
        return self.name if self.kind == MODULE else self.name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class _Source:
    """What a module defines, and what its names mean."""

    definitions: Mapping[str, ast.stmt]
    imports: Mapping[str, Symbol]


@cache
def _source(module: str) -> _Source:
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    definitions: dict[str, ast.stmt] = {}
    imports: dict[str, Symbol] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            definitions |= {name.id: node for name in names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("lookaway"):
            imports |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    return _Source(definitions, imports)


def meaning(module: str, name: str) -> Symbol | None:
    """Where a name of a module is defined, through as many imports as it takes; `None` outside this package."""
    source = _source(module)
    if name in source.definitions:
        return module, name
    return meaning(*source.imports[name]) if name in source.imports else None


def reached(starts: Iterable[Symbol]) -> set[Symbol]:
    """All that definitions use, in the layers that measure; annotations use nothing."""
    waiting, found = list(starts), set[Symbol]()
    while waiting:
        symbol = waiting.pop()
        if symbol in found or not symbol[0].startswith(LAYERS):
            continue
        found.add(symbol)
        for name in _names(_source(symbol[0]).definitions[symbol[1]]):
            with suppress(OSError, TypeError, ModuleNotFoundError):  # a module without source, such as a package
                if (used := meaning(symbol[0], name)) is not None:
                    waiting.append(used)
    return found


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _names(child)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def find_constants(symbols: Iterable[Symbol], described: Iterable[type]) -> list[Constant]:
    """The constants of definitions; those of `described` classes are fields, which the lock has."""
    kinds = {(kind.__module__, kind.__name__) for kind in described}
    found: list[Constant] = []
    for module, name in symbols:
        value = getattr(importlib.import_module(module), name, None)
        if (module, name) in kinds:
            entries = {f"{name}.{entry.name}": entry.default for entry in fields(value)}  # type: ignore[arg-type]
            found += _entries(module, FIELD, entries)
        elif isinstance(value, FunctionType | type):
            for function in _functions(value, module):
                found += _entries(module, DEFAULT, dict(_defaults(function)))
        else:
            found += _entries(module, MODULE, {name: value})
    return sorted(set(found))


def _entries(module: str, kind: str, values: Mapping[str, object]) -> Iterator[Constant]:
    for name, value in values.items():
        if _is_number(value):
            yield Constant(module, name, kind)
        elif isinstance(value, tuple) and value and all(map(_is_number, value)):
            yield from (Constant(module, name, kind, entry) for entry in range(len(value)))


def _functions(value: FunctionType | type, module: str) -> Iterator[FunctionType]:
    if isinstance(value, FunctionType):
        yield value
        return
    for entry in vars(value).values():
        function = getattr(entry, "__func__", entry)
        if isinstance(function, FunctionType) and function.__module__ == module:
            yield function


def _defaults(function: FunctionType) -> Iterator[tuple[str, object]]:
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            yield f"{function.__qualname__}.{name}", parameter.default


def variants(value: float) -> list[float]:
    """The numbers that a constant is changed to.

    >>> variants(10), variants(0.5), variants(0.0), variants(0)
    ([20, 5, -10, 11, 9], [1.0, 0.25, -0.5], [0.001, 1.0], [1])
    """
    if value == 0:
        return [1] if isinstance(value, int) else [1e-3, 1.0]
    others: list[float] = [2 * value, value / 2, -value]
    if isinstance(value, int):
        others = [2 * value, value // 2, -value, value + 1, value - 1]
    return list(dict.fromkeys(others))


def value_of(constant: Constant) -> float:
    """The number as it stands."""
    whole = _whole(constant)
    number: float = whole[constant.entry] if constant.entry >= 0 else whole
    return number


def _whole(constant: Constant) -> Any:
    module = importlib.import_module(constant.module)
    if constant.kind == MODULE:
        return getattr(module, constant.name)
    if constant.kind == FIELD:
        return next(entry.default for entry in fields(getattr(module, constant.owner)) if _is(constant, entry.name))
    return dict(_defaults(_function(constant)))[constant.name]


def _with(constant: Constant, value: float) -> Any:
    before = _whole(constant)
    return value if constant.entry < 0 else (*before[: constant.entry], value, *before[constant.entry + 1 :])


def _is(constant: Constant, field: str) -> bool:
    return constant.name == f"{constant.owner}.{field}"


def _function(constant: Constant) -> FunctionType:
    value: Any = importlib.import_module(constant.module)
    for part in constant.owner.split("."):
        value = inspect.getattr_static(value, part)
    return getattr(value, "__func__", value)  # type: ignore[no-any-return]


@contextmanager
def changed(constant: Constant, value: float) -> Iterator[None]:
    """The constant has another value, wherever it was imported, and nothing that was computed before is remembered."""
    before, whole = _whole(constant), _with(constant, value)
    put = _put_default if constant.kind == DEFAULT else _put_name
    try:
        put(constant, whole)
        _forget()
        yield
    finally:
        put(constant, before)
        _forget()


def _put_name(constant: Constant, value: Any) -> None:
    for module, local in importers(constant):
        setattr(module, local, value)


@cache
def importers(constant: Constant) -> list[tuple[ModuleType, str]]:
    """Modules that have the constant, under which name."""
    found = [(sys.modules[constant.module], constant.name)]
    for name, module in list(sys.modules.items()):
        if name.startswith(LAYERS) and hasattr(module, "__file__"):
            for local in _source(name).imports:
                if meaning(name, local) == (constant.module, constant.name):
                    found.append((module, local))
    return found


def _put_default(constant: Constant, value: Any) -> None:
    function, parameter = _function(constant), constant.name.rpartition(".")[2]
    if parameter in (function.__kwdefaults__ or {}):
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), parameter: value}
        return
    names = inspect.getfullargspec(function).args
    defaults = list(function.__defaults__ or ())
    defaults[names.index(parameter) - len(names)] = value
    function.__defaults__ = tuple(defaults)


@cache
def _caches() -> list[Any]:
    return [
        value
        for name, module in list(sys.modules.items())
        if name.startswith(LAYERS)
        for value in vars(module).values()
        if callable(getattr(value, "cache_clear", None)) and getattr(value, "__module__", "").startswith(LAYERS)
    ]


def _forget() -> None:
    for each in _caches():
        each.cache_clear()


def parts(value: object) -> Iterator[Any]:
    """All dataclasses in a metric or recipe, with itself."""
    if isinstance(value, tuple):
        for entry in value:
            yield from parts(entry)
    elif is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in fields(value):
            yield from parts(getattr(value, field.name))


def parts_of(bounds: Iterable[BoundMetric]) -> list[Any]:
    """All dataclasses in metrics and their recipes."""
    return [part for bound in bounds for whole in (bound.metric, *bound.recipes.values()) for part in parts(whole)]


def field_moves_lock(constant: Constant) -> bool:
    """Whether another value of a field is another entry of the lock, in an object that has nothing else."""
    kind = getattr(importlib.import_module(constant.module), constant.owner)
    empty: Any = type(kind.__name__, (kind,), {"__slots__": ()})
    empty.__abstractmethods__ = frozenset()
    part, field = object.__new__(empty), constant.name.rpartition(".")[2]
    for entry in fields(kind):
        object.__setattr__(part, entry.name, None)
    entries = []
    for value in (_whole(constant), _with(constant, 2 * value_of(constant) + 1)):
        object.__setattr__(part, field, value)
        entries.append(describe(part))
    return bool(entries[0] != entries[1])


def reads(clip: AnyClip) -> tuple[set[Symbol], str]:
    """Names that the code which a clip executes reads, and the functions themselves; and what the clip gives."""
    codes = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    _forget()
    sys.setprofile(note)
    try:
        given = clip.measure(clip.bounds())
    finally:
        sys.setprofile(None)
    by_file = {getattr(module, "__file__", None): name for name, module in list(sys.modules.items())}
    found = set[Symbol]()
    for code in codes:
        module = by_file.get(code.co_filename)
        if module is not None and module.startswith(LAYERS):
            found.add((module, code.co_qualname))
            found |= {used for name in code.co_names if (used := meaning(module, name)) is not None}
    return found, given


class _Loud(Exception):
    """A changed constant hangs."""


def _result(clip: AnyClip, seconds: int) -> tuple[str, str] | tuple[None, None]:
    """What a clip gives, and its lock; nothing where it fails or hangs."""

    def stop(*_: object) -> None:
        raise _Loud

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        bounds = clip.bounds()
        return clip.measure(bounds), clip.lock(bounds)
    except Exception:  # noqa: BLE001 - whatever a wrong constant leads to
        return None, None
    finally:
        signal.alarm(0)


@dataclass(slots=True)
class Check:
    """Measures the clips with each constant changed."""

    clips: Sequence[AnyClip]
    readers: Mapping[str, set[Symbol]]
    usual: Mapping[str, str]
    locks: Mapping[str, str]

    @classmethod
    def of(cls, clips: Sequence[AnyClip]) -> Check:
        """With what the clips read and give as things stand."""
        readers, usual, locks = {}, {}, {}
        for clip in clips:
            readers[clip.name], usual[clip.name] = reads(clip)
            bounds = clip.bounds()
            locks[clip.name] = clip.lock(bounds)
            if clip.measure(bounds) != usual[clip.name]:
                raise AssertionError(f"the clip {clip.name} gives other numbers when it is measured again.")
        return cls(clips, readers, usual, locks)

    def constants(self) -> list[Constant]:
        """Those that installed metrics and extractors use, and what the clips hold beside these."""
        held = {type(part) for part in parts_of(bound for clip in self.clips for bound in clip.bounds())}
        held |= {plugins.load(group, name) for group in ("metrics", "extractors") for name in plugins.names(group)}
        bases = {base for kind in held for base in kind.__mro__}
        kinds = {base for base in bases if base.__module__.startswith(LAYERS) and is_dataclass(base)}
        return find_constants(reached({(kind.__module__, kind.__name__) for kind in kinds}), kinds)

    def row(self, constant: Constant) -> dict[str, Any]:
        """What is found about one constant."""
        row: dict[str, Any] = {"value": value_of(constant), "kind": constant.kind, "of": fingerprint(constant)}
        if constant.kind == FIELD:
            return {**row, "locked": field_moves_lock(constant)}
        symbol = (constant.module, constant.owner.removesuffix(".__init__"))  # that of a dataclass has no file
        reading = [clip for clip in self.clips if symbol in self.readers[clip.name]]
        reading = sorted(reading, key=lambda clip: len(self.readers[clip.name]))[:MOST_CLIPS]
        row["clips"] = [clip.name for clip in reading]
        for clip in reading:
            for value in variants(value_of(constant)):
                with changed(constant, value):
                    result, lock = _result(clip, SLOW * clip.seconds)
                if result in (None, self.usual[clip.name]):
                    continue
                row |= {"moved_by": [clip.name, value], "locked": lock != self.locks[clip.name]}
                if not row["locked"]:
                    return row
        return row


def fingerprint(constant: Constant) -> str:
    """Hash of the file that defines a constant, and of the clips."""
    modules = (constant.module, Clip.__module__, SetClip.__module__, __name__)
    files = [sys.modules[name].__file__ for name in modules]
    return hashlib.sha256(b"".join(Path(str(file)).read_bytes() for file in files)).hexdigest()[:16]


def problems(rows: Mapping[str, Mapping[str, Any]], reasons: Mapping[str, str]) -> list[str]:
    """What is wrong, each in a line."""
    found = []
    for key, row in rows.items():
        if row["kind"] == FIELD:
            if not row["locked"]:
                found.append(f"{key} is a field, and the lock does not have it.")
        elif "moved_by" in row and not row["locked"]:
            clip, value = row["moved_by"]
            found.append(f"{key} = {row['value']} is in no lock, and with {value} the clip {clip} gives other numbers.")
        elif not row["clips"] and key.partition("[")[0] not in reasons:
            found.append(f"{key} is read by no clip: add one, or a reason to {REASONS.name}.")
    gone = sorted(name for name in reasons if not any(key.partition("[")[0] == name for key in rows))
    return found + [f"{name} has a reason, but is no constant any more." for name in gone]


def summary(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """How many constants there are, and how many of them move a number."""
    of_fields = [row for row in rows.values() if row["kind"] == FIELD]
    others = [row for row in rows.values() if row["kind"] != FIELD]
    moving = [row for row in others if "moved_by" in row]
    return (
        f"{len(rows)} constants: {len(of_fields)} fields, which the lock has, and {len(others)} others; of these, "
        f"{len(moving)} move a number, {sum(not row['locked'] for row in moving)} of them outside the lock, "
        f"{sum(bool(row['clips']) for row in others) - len(moving)} move none, "
        f"{sum(not row['clips'] for row in others)} are read by no clip"
    )


def run(only: str, found: Path, say: Callable[[str], None] = print) -> int:
    """Check all constants; 1 where something is wrong."""
    with staged() as sets:
        return _run([*CLIPS, *sets], only, found, say)


def _run(clips: Sequence[AnyClip], only: str, found: Path, say: Callable[[str], None]) -> int:
    known: dict[str, dict[str, Any]] = read_json(found) if found.exists() else {}
    check = Check.of(clips)
    constants = {constant.key: constant for constant in check.constants()}
    rows: dict[str, dict[str, Any]] = {}
    waiting = []
    for key, constant in constants.items():
        if key in known and known[key]["of"] == fingerprint(constant) and not (only and only in key):
            rows[key] = known[key]
        else:
            waiting.append(key)
    for number, key in enumerate(waiting, 1):
        if only and only not in key:
            continue
        rows[key] = check.row(constants[key])
        say(f"{number}/{len(waiting)} {key}: {json.dumps(rows[key])}")
        if number % SAVED_AFTER == 0:
            write_json(found, {**known, **rows})
        gc.collect()
    latest = {**known, **rows}
    kept = {key: latest[key] for key in constants if key in latest}
    write_json(found, kept)
    wrong = problems(kept, read_json(REASONS) if REASONS.exists() else {})
    say("\n".join([*wrong, summary(kept)]))
    return int(bool(wrong))


def main() -> None:
    """Check, and say what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names that contain this text")
    parser.add_argument("--found", type=Path, default=FOUND, help="the table")
    arguments = parser.parse_args()
    sys.exit(run(arguments.only, arguments.found))


if __name__ == "__main__":
    main()
