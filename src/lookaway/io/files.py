"""Writes files whole or not at all, and reads JSON without surprises."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from lookaway.core import DatasetError, Json


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file so that a reader, or a crash, sees either all of it or none of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{uuid4().hex}.partial")
    try:
        with partial.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
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
    """Parse JSON from a named place; numbers are finite and text can be written again."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
        if isinstance(text, bytes) or "\\u" in text:
            _refuse_half_characters(value)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: not valid JSON: {error}.") from error
    return value


def _read_text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise OSError("not a regular file")  # a pipe would keep its reader waiting for ever
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DatasetError(f"{path}: there is no such file.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: cannot be read as text: {error}.") from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _refuse_half_characters(value: Json) -> None:
    """Escapes can spell one half of a surrogate pair, which no file could hold again."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("an escape stands for half a character") from error
