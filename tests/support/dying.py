"""A process that dies at a chosen step of writing to a disk or to object storage."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from lookaway.io import object_storage

When = Literal["before", "torn"]


class Died(BaseException):
    """The process is dead: whatever it tries to write from now on is not written."""


@dataclass(frozen=True, slots=True)
class Point:
    """The step before which, or in the middle of which, the process dies."""

    number: int
    when: When
    step: str


@dataclass(slots=True)
class Writes:
    """Counts the steps of writing, and dies at one of them."""

    point: Point | None = None
    steps: list[str] = field(default_factory=list)
    is_dead: bool = False

    def do(self, step: str, act: Callable[[], Any], tear: Callable[[], Any] | None = None) -> Any:
        if self.is_dead:
            raise Died
        number = len(self.steps)
        self.steps.append(step)
        if self.point is None or self.point.number != number:
            return act()
        self.is_dead = True
        if self.point.when == "torn" and tear is not None:
            tear()
        raise Died

    def points(self) -> list[Point]:
        """Every point at which the process could have died: before each step, and in the middle of each write."""
        before = [Point(number, "before", step) for number, step in enumerate(self.steps)]
        return before + [Point(point.number, "torn", point.step) for point in before if point.step == "write"]


class _File:
    """An open file whose writes are steps."""

    def __init__(self, file: Any, writes: Writes) -> None:
        self._file, self._writes = file, writes

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, content: bytes) -> Any:
        half = content[: len(content) // 2]
        return self._writes.do("write", lambda: self._file.write(content), lambda: self._file.write(half))

    def writelines(self, lines: Iterator[bytes]) -> None:
        for line in lines:
            self.write(line)


@contextmanager
def writing(point: Point | None = None) -> Iterator[Writes]:
    """Trace all writes, or die at a point of them."""
    writes = Writes(point)
    opened = pathlib.Path.open

    def open_file(path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        if not set(mode) & set("xaw"):
            return opened(path, mode, *arguments, **options)
        return _File(writes.do("open", lambda: opened(path, mode, *arguments, **options)), writes)

    def step(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **options: writes.do(name, lambda: call(*arguments, **options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pathlib.Path, "open", open_file)
        for name in ("unlink", "rename", "mkdir"):
            patch.setattr(pathlib.Path, name, step(name, getattr(pathlib.Path, name)))
        for name in ("fsync", "replace"):
            patch.setattr(os, name, step(name, getattr(os, name)))
        for name in ("write_object", "remove_object"):
            patch.setattr(object_storage, name, step(name, getattr(object_storage, name)))
        yield writes


def die_at(point: Point, act: Callable[[], object]) -> None:
    """Do something until the process dies."""
    with writing(point) as writes, suppress(Died):
        act()
    assert writes.is_dead
    assert writes.steps[-1] == point.step
