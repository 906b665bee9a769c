"""JSON files that hold one checked record."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from lookaway.core import DatasetError
from lookaway.io.files import read_json

Model = TypeVar("Model", bound=BaseModel)


def read_record(path: Path, model: type[Model]) -> Model:
    """The record in a JSON file, or a `DatasetError` that says what was found and what was expected."""
    value = read_json(path)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(step) for step in first["loc"]) or "the record"
        raise DatasetError(f"{path}: {place}: {first['msg']}; found {_shown(first['input'])}.") from error


def _shown(value: object) -> str:
    try:
        return f"{value!r:.80}"
    except ValueError:  # a number of more digits than Python spells out
        return "a number of thousands of digits"
