"""Writes files whole or not at all, and reads JSON without surprises."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from lookaway.core import DatasetError, Json


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file so that a reader, or a crash, sees either all of it or none of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write text whole or not at all."""
    write_whole(path, lambda file: file.write(text.encode()))


def write_json(path: Path, value: Json) -> None:
    """Write JSON whole or not at all, in a form that people can read and compare."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Json:
    """Read a JSON file; NaN and infinity are refused, since they are not JSON."""
    return parse_json(_read_text(path), str(path))


def parse_json(text: str | bytes, where: str) -> Json:
    """Parse JSON from a named place."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: not valid JSON: {error}.") from error


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DatasetError(f"{path}: there is no such file.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: cannot be read as text: {error}.") from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
