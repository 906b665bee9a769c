"""The one way to the files of a dataset: inside its root, regular, and within `limits` before they are read.

Messages about a file name its fields and their types, and never quote its content: a link may lead to a secret.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from lookaway.core import DatasetError, Json, Problem, Reason, Unmeasurable, UnsafePath
from lookaway.io.files import parse_json
from lookaway.io.limits import MAX_INVALID_RECORDS, MAX_JSON_BYTES, MAX_LINE_BYTES, MAX_LINES, MAX_LINES_BYTES

Model = TypeVar("Model", bound=BaseModel)
SHOWN_PATH = 200
"""Characters of a path in a message."""


def inside(root: Path, path: str, *, base: Path | None = None, allow_outside: bool = False) -> Path:
    """The file that a dataset names; raises an `UnsafePath` if it lies outside the dataset's root.

    Links are resolved first. Relative paths start from `base`.
    """
    if not path:
        raise UnsafePath(Reason.UNSAFE_PATH, "the path is empty.")
    named = os.path.join(base or root, path)
    try:
        os.lstat(named)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # the reader of the file will say so
    except (OSError, ValueError) as error:  # too long, a ring of links, NUL, half a surrogate pair
        raise UnsafePath(Reason.UNSAFE_PATH, f"the path {path[:80]!r} is not a valid path ({_why(error)}).") from error
    if allow_outside:
        return Path(os.path.normpath(named))
    real = Path(os.path.realpath(named))
    if not real.is_relative_to(os.path.realpath(root)):
        raise UnsafePath(
            Reason.UNSAFE_PATH,
            f"the path {path[:SHOWN_PATH]!r} leads out of the dataset. Move the file into it, or allow it with "
            "--allow-outside.",
        )
    return real


def open_regular(path: Path, max_bytes: int) -> BinaryIO:
    """Open a file for reading; an `OSError` if it is not a regular file, or larger than `max_bytes`."""
    # Without O_NONBLOCK, opening a pipe waits for its writer.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb")
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        file.close()
        raise OSError("not a regular file")
    if found.st_size > max_bytes:
        file.close()
        raise OSError(f"it has {found.st_size:,} bytes, and at most {max_bytes:,} are read")
    return file


def read_limited(path: Path, max_bytes: int, where: str = "") -> bytes:
    """The content of a file that is regular and not too large, or a `DatasetError`; `where` names it in messages."""
    where = where or str(path)
    try:
        with open_regular(path, max_bytes) as file:
            return file.read(os.fstat(file.fileno()).st_size)
    except FileNotFoundError as error:
        raise DatasetError(f"{where}: there is no such file.") from error
    except OSError as error:
        raise DatasetError(f"{where}: cannot be read: {_why(error)}.") from error


def read_limited_lines(path: Path) -> bytes:
    """The content of a file of one record a line, or a `DatasetError`."""
    return _with_few_lines(read_limited(path, MAX_LINES_BYTES), str(path))


def _with_few_lines(content: bytes, where: str) -> bytes:
    count = content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n")
    if count > MAX_LINES:
        raise DatasetError(f"{where}: it has {count:,} lines, and at most {MAX_LINES:,} are read.")
    return content


def decoded(content: bytes, where: str) -> str:
    """UTF-8 as text, or a `DatasetError`."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{where}: cannot be read as text: byte {error.start} is not UTF-8.") from error


def read_dataset_json(path: Path) -> Json:
    """The content of a JSON file of a dataset, or a `DatasetError`."""
    return parse_json(decoded(read_limited(path, MAX_JSON_BYTES), str(path)), str(path))


def read_record(path: Path, model: type[Model]) -> Model:
    """The record in a JSON file, or a `DatasetError` with the field, and what was found and expected."""
    return checked(model, read_dataset_json(path), str(path))


def checked(model: type[Model], value: object, where: str) -> Model:
    """A parsed record, or a `DatasetError` about its first invalid field."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise DatasetError(f"{where}: {_first_error(error, model)}.") from error


def _first_error(error: ValidationError, model: type[BaseModel]) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    steps, known = first["loc"], _field_names(model)
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        close = get_close_matches(str(steps[-1]), sorted(known), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(model.model_fields)}"
        return f"an unknown field; {hint}{more}"
    name = ".".join(str(step) if isinstance(step, int) or step in known else "*" for step in steps) or "the record"
    found = "" if first["type"] == "missing" else f", found {type_of(first['input'])}"
    return f"{name}: {first['msg']}{found}{more}"


@cache
def _field_names(model: type[BaseModel]) -> frozenset[str]:
    """Names of the fields of a model and of the models in it; all other steps of a location are content."""
    names = set(model.model_fields)
    waiting = [field.annotation for field in model.model_fields.values()]
    while waiting:
        annotation = waiting.pop()
        waiting.extend(get_args(annotation))
        if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation is not model:
            names |= _field_names(annotation)
    return frozenset(names)


def type_of(value: object) -> str:
    """The type of a parsed value, in words.

    >>> type_of({"key": "sk-1234"}), type_of(3), type_of(None)
    ('a mapping', 'a number', 'null')
    """
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return name
    return "null" if value is None else f"a {type(value).__name__}"


_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "text"),
    (bool, "a boolean"),
    ((int, float), "a number"),
    ((list, tuple), "a list"),
    (dict, "a mapping"),
)


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@dataclass(frozen=True, slots=True)
class DatasetTree:
    """The folders and files below the root of a dataset; what cannot be listed is a problem."""

    root: Path
    problems: list[Problem] = field(default_factory=list)
    allow_outside: bool = False

    def path(self, relative: str, *, base: Path | None = None) -> Path:
        """A file or folder, whether it exists or not; or an `UnsafePath`."""
        return inside(self.root, relative, base=base, allow_outside=self.allow_outside)

    def has(self, relative: str) -> bool:
        """Whether there is such a folder inside the root."""
        try:
            return os.path.isdir(self.path(relative or "."))
        except Unmeasurable:
            return False

    def folders(self, relative: str) -> list[str]:
        """Sorted names of the folders in a folder; none if there is no such folder."""
        return [name for name in self._names(relative) if os.path.isdir(self.root / relative / name)]

    def files(self, relative: str) -> list[str]:
        """Sorted names of everything else in a folder."""
        return [name for name in self._names(relative) if not os.path.isdir(self.root / relative / name)]

    def read(self, relative: str, max_bytes: int) -> bytes:
        """The content of a file, or a `DatasetError`."""
        try:
            path = self.path(relative)
        except UnsafePath as error:
            raise DatasetError(f"{self.root / relative}: {error}") from error
        return read_limited(path, max_bytes, str(self.root / relative))

    def read_lines(self, relative: str) -> bytes:
        """The content of a file of one record a line, or a `DatasetError`."""
        return _with_few_lines(self.read(relative, MAX_LINES_BYTES), str(self.root / relative))

    def json(self, relative: str) -> Json:
        """The content of a JSON file, or a `DatasetError`."""
        where = str(self.root / relative)
        return parse_json(decoded(self.read(relative, MAX_JSON_BYTES), where), where)

    def records(self, relative: str, model: type[Model]) -> Iterator[tuple[str, Model]]:
        """Every line of JSON that holds a valid record, with its place; all others are problems."""
        return self.valid(relative, self.lines(relative), model)

    def valid(
        self, relative: str, found: Iterable[tuple[str, Json | DatasetError]], model: type[Model]
    ) -> Iterator[tuple[str, Model]]:
        """What is a valid record of a file, with its place; all others are problems, and too many an error."""
        invalid = 0
        for where, entry in found:
            try:
                if isinstance(entry, DatasetError):
                    raise entry
                record = checked(model, entry, where)
            except DatasetError as error:
                invalid += 1
                if invalid > MAX_INVALID_RECORDS:
                    raise DatasetError(
                        f"{self.root / relative}: more than {MAX_INVALID_RECORDS:,} records are invalid, and the rest "
                        "is not read. `lookaway validate` lists the first ones."
                    ) from error
                self.report(where, str(error).removeprefix(f"{where}: ").removesuffix("."))
            else:
                yield where, record

    def lines(self, relative: str) -> Iterator[tuple[str, Json | DatasetError]]:
        """Place and content of every line of JSON, or why it is none."""
        for number, text in enumerate(self.read_lines(relative).splitlines(), start=1):
            if not text.strip():
                continue
            where = f"{relative}:{number}"
            try:
                yield where, _parsed(text, where)
            except DatasetError as error:
                yield where, error

    def report(self, relative: str, message: str) -> None:
        """Add a problem."""
        self.problems.append(Problem(where=_shown(relative) or ".", message=message))

    def _names(self, relative: str) -> list[str]:
        try:
            found = sorted(os.listdir(self.path(relative or ".")))
        except FileNotFoundError:
            return []
        except (Unmeasurable, OSError) as error:
            reason = error if isinstance(error, Unmeasurable) else f"cannot be listed: {error.strerror}"
            self.report(relative, str(reason))
            return []
        names = []
        for name in found:
            if _shown(name) != name:
                self.report(os.path.join(relative, name), "the name is not UTF-8; left out")
            elif not name.startswith("."):
                names.append(name)
        return names


def _parsed(text: bytes, where: str) -> Any:
    if len(text) > MAX_LINE_BYTES:
        raise DatasetError(f"{where}: it has {len(text):,} bytes, and at most {MAX_LINE_BYTES:,} are read.")
    return parse_json(text, where)


def _shown(name: str) -> str:
    """Show names that are not valid UTF-8 with escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
