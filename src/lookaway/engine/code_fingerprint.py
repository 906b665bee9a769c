"""Which code measured: a fingerprint of the modules that compute a metric, so that an edited checkout is told apart.

The lock has every constant; the code that uses them has a version only. Beside the lock therefore stands, for each
metric, a hash over the source of the classes of the metric, of its recipes and of all that these hold, and of what
their modules import from the same package and from `lookaway`. Imports are read from the source, so that no module is
loaded for it. Names of modules and their bytes are hashed and no paths, so that all machines agree.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lookaway.core import BoundMetric, Json, digest

PACKAGE = "lookaway"
READS_FRAMES = (f"{PACKAGE}.io.decoding",)
"""What every extractor is given its frames by."""
STARTS = {f"{PACKAGE}.perception.isolation.runner": f"{PACKAGE}.perception.isolation.runners"}
"""A module that runs those of a package by name, which no import shows."""
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+[.\w]+[ \t]+import[ \t]+(?:\([^)]*\)|(?:\\\n|[^\n\\(#;])*)"
    r"|import[ \t]+\w(?:\\\n|[^\n\\(#;])*)",
    re.MULTILINE,
)
"""A statement that imports. `ast` takes ten times as long, and that of Python 3.11 fails in several threads at once."""
NOT_A_NAME = re.compile(r"#[^\n]*|[()\\\s]+")
"""What stands between the names of a statement: comments, brackets, line ends."""
FOR_TYPES = re.compile(r"^if (?:typing\.)?TYPE_CHECKING:\n(?:[ \t]+[^\n]*\n|\n)*", re.MULTILINE)
"""A block of imports that only annotations use."""


def code_of(bounds: Iterable[BoundMetric]) -> dict[str, Json]:
    """The installed version, and the fingerprint of each metric whose source is found."""
    prints = {bound.name: code_fingerprint(bound) for bound in bounds}
    return {"version": version(PACKAGE), "metrics": {name: found for name, found in sorted(prints.items()) if found}}


def code_fingerprint(bound: BoundMetric) -> str | None:
    """SHA-256 of the source that computes a metric; `None` where a class has none, such as one typed into a prompt."""
    kinds = frozenset(_kinds([bound.metric, *bound.recipes.values()]))
    return _fingerprint(kinds, reads_frames=bool(bound.recipes))


@cache
def _fingerprint(kinds: frozenset[type], *, reads_frames: bool) -> str | None:
    own = {kind.__module__ for kind in kinds}
    packages = {PACKAGE, *(_top(name) for name in own)}
    bases = {base.__module__ for kind in kinds for base in kind.__mro__ if _top(base.__module__) in packages}
    if any(_source(name) is None for name in own):
        return None
    found = _reached([*bases, *(READS_FRAMES if reads_frames else ())], packages)
    return digest([[name, module.sha256] for name in sorted(found) if (module := _source(name)) is not None])


def _kinds(values: Iterable[Any]) -> Iterator[type]:
    """Classes of all parts of some values: what their fields hold, and what extractors need."""
    for value in values:
        if isinstance(value, Mapping):
            yield from _kinds(value.values())
        elif isinstance(value, tuple | list):
            yield from _kinds(value)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            yield type(value)
            yield from _kinds(getattr(value, entry.name) for entry in dataclasses.fields(value))
            if isinstance(needs := getattr(value, "needs", None), Mapping):
                yield from _kinds(needs.values())


def _reached(names: Iterable[str], packages: set[str]) -> set[str]:
    """Modules of these packages that some modules import, and these modules themselves."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found and _top(name) in packages and _source(name) is not None:
            found.add(name)
            left += _used(name)
            left += _inside(STARTS[name]) if name in STARTS else ()
    return found


@dataclass(frozen=True, slots=True)
class _Source:
    """The source of a module."""

    sha256: str
    is_package: bool
    imports: tuple[tuple[str, str | None], ...] = field(default=())
    """Module and name in it of everything that is imported, apart from what annotations alone use."""
    offers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By the name that it has here, module and name of everything that is imported from another module."""


@cache
def _source(name: str) -> _Source | None:
    """A module by its name, without loading it; `None` where it has no source."""
    path = _path(name)
    if path is None:
        return None
    try:
        content = path.read_bytes()
        text = content.decode().replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError):
        return None
    package = path.name == "__init__.py"
    parent = name if package else name.rpartition(".")[0]
    everything = list(_imports(text, parent))
    return _Source(
        sha256=hashlib.sha256(content).hexdigest(),
        is_package=package,
        imports=tuple(
            dict.fromkeys((module, wanted) for module, wanted, _ in _imports(FOR_TYPES.sub("", text), parent))
        ),
        offers={known: (module, wanted) for module, wanted, known in everything if wanted is not None},
    )


def _imports(text: str, package: str) -> Iterator[tuple[str, str | None, str]]:
    """Module, name in it, and the name that it has here, of each import; without a name, the module itself."""
    for found in IMPORT.finditer(text):
        first, _, rest = NOT_A_NAME.sub(" ", found[0]).strip().partition(" ")
        source, _, names = rest.rpartition("import ") if first == "from" else ("", "", rest)
        for entry in filter(None, map(str.strip, names.split(","))):
            name, *alias = entry.split()
            if alias and (len(alias) != 2 or alias[0] != "as"):
                continue  # a sentence in a docstring
            if first == "import":
                yield name, None, (alias or [name])[-1]
            else:
                path = source.strip()
                module = path.lstrip(".")
                yield _absolute(module, len(path) - len(module), package), name, (alias or [name])[-1]


def _absolute(module: str | None, level: int, package: str) -> str:
    if not level:
        return module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - level + 1], *([module] if module else [])])


@cache
def _used(name: str) -> tuple[str, ...]:
    """Modules that a module imports from; for what a package hands on, the module that has it."""
    module = _source(name)
    return () if module is None else tuple(dict.fromkeys(_defining(*entry) for entry in module.imports))


@cache
def _defining(module: str, name: str | None) -> str:
    """The module in which an imported name is defined.

    An `__init__` that only hands a name on computes nothing: with it, every metric would use all that it hands on.
    """
    if name is None:
        return module
    source = _source(module)
    if source is None or not source.is_package:
        return module
    if _path(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    return _defining(*source.offers[name]) if name in source.offers else module


@cache
def _path(name: str) -> Path | None:
    """The source file of a module, beside that of its package."""
    top, *rest = name.split(".")
    package = sys.modules.get(top)
    if package is None:
        return None
    if not rest and not hasattr(package, "__path__"):
        file = getattr(package, "__file__", None)
        return Path(file) if file and file.endswith(".py") else None
    for folder in getattr(package, "__path__", ()):
        inside = Path(folder).joinpath(*rest)
        for path in (inside / "__init__.py", inside.parent / f"{inside.name}.py"):
            if path.is_file() and (rest or path.name == "__init__.py"):
                return path
    return None


def _inside(package: str) -> list[str]:
    """The modules of a package."""
    path = _path(package)
    return [] if path is None else [f"{package}.{file.stem}" for file in path.parent.glob("*.py") if file != path]


def _top(name: str) -> str:
    return name.partition(".")[0]
