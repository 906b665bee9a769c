"""MemoBench's tables: keyframes, prompts and subjects, in the spellings that its files really have."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from lookaway.core import DatasetError, MissingExtra
from lookaway.io.dataset_files import checked, decoded, read_limited

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""Keyframes and prompts of some hundred clips take a hundred kilobytes."""
MAX_UNPACKED_BYTES: Final = 512 * 1024 * 1024
MAX_ROWS: Final = 100_000
MAX_FRAMES: Final = 10_000_000
"""No video has more frames: a larger number is an error."""
SYNTHETIC, REAL = "synthetic", "real"
SYNTHETIC_NAME: Final = re.compile(r"(?P<scene>.+)_(?P<number>\d{1,9})")
REAL_NAME: Final = re.compile(r"(?:real_)?(?P<number>\d{1,9})", re.IGNORECASE)
BANK_NAME: Final = re.compile(r"(?P<scene>.+)-(?P<number>\d{1,9})(?:-questions\.csv|\.json)")
SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "clip": ("video_folder", "id"),
    "exit": ("exit", "exits"),
    "reenter": ("reenter", "re-enter"),
}
"""Names of one column in the tables of the two parts."""

Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = Mapping[str, Any]
Record = TypeVar("Record", bound=BaseModel)


class ClipKey(NamedTuple):
    """A clip, however its name is spelled: `Zen_Garden_005` and `ZenGarden_5` are one, as are `real_007` and `7`."""

    part: str
    scene: str
    number: int


def clip_key(name: str) -> ClipKey | None:
    """The clip that a file or folder is named after; `None` where the name is no clip's.

    >>> clip_key("Zen_Garden_005") == clip_key("ZenGarden_5")
    True
    >>> clip_key("real_007"), clip_key("frames")
    (ClipKey(part='real', scene='', number=7), None)
    """
    if match := REAL_NAME.fullmatch(name):
        return ClipKey(REAL, "", int(match["number"]))
    if match := SYNTHETIC_NAME.fullmatch(name):
        return synthetic_key(match["scene"], int(match["number"]))
    return None


def synthetic_key(scene: str, number: int) -> ClipKey:
    """A synthetic clip by its scene and number."""
    return ClipKey(SYNTHETIC, re.sub(r"[\s_-]", "", scene).lower(), number)


def bank_key(name: str) -> ClipKey | None:
    """The clip that a file of questions is about; `None` where the name is not that of such a file.

    >>> bank_key("Zen_Garden-5-questions.csv") == bank_key("ZenGarden-5.json") == clip_key("ZenGarden_005")
    True
    >>> bank_key("real-7.json") == clip_key("real_007"), bank_key("failure-cases.csv")
    (True, None)
    """
    match = BANK_NAME.fullmatch(name)
    if match is None:
        return None
    scene, number = match["scene"], int(match["number"])
    return ClipKey(REAL, "", number) if scene.lower() == REAL else synthetic_key(scene, number)


def _whole(value: object) -> object:
    """Spreadsheets store whole numbers as 40.0, CSV files as text."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}(\.0+)?", value.strip()):
        return int(float(value))
    return value


def _text(value: object) -> object:
    """An empty cell is no text; the published code makes it the word nan."""
    if value is None:
        return ""
    return str(_whole(value)).strip() if isinstance(value, str | int | float) else value


FrameNumber = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=MAX_FRAMES)]
Text = Annotated[str, BeforeValidator(_text), Field(max_length=100_000)]
Name = Annotated[Text, Field(min_length=1, max_length=200)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class Keyframes(_Record):
    """A row of `Synthetic_ExitReenter.xlsx` or `Real_ExitReenter.xlsx`, in frames of the reference video from 0 on."""

    clip: Name
    exit: FrameNumber
    """The first frame in which the target has left the view."""
    reenter: FrameNumber
    """The first frame in which it is back."""
    prompt: Text = ""
    skip: Text = ""

    @model_validator(mode="after")
    def _is_ordered(self) -> Keyframes:
        if not 0 < self.exit <= self.reenter:
            raise ValueError(
                f"the target leaves at frame {self.exit} and is back at {self.reenter}, expected 0 < exit <= reenter"
            )
        return self

    @property
    def is_skipped(self) -> bool:
        """Whether the table leaves the clip out."""
        return self.skip.lower() == "yes"


class Subject(_Record):
    """A row of `synthetic_metadata.csv` or `real_metadata.csv`."""

    video_id: FrameNumber
    subject: Name
    prompt: Text = ""
    scene: Text = ""
    """Empty in the table of the real part."""

    @property
    def key(self) -> ClipKey:
        """The clip that it is about."""
        return synthetic_key(self.scene, self.video_id) if self.scene else ClipKey(REAL, "", self.video_id)


def read_keyframes(path: Path) -> Iterator[tuple[int, Keyframes | str]]:
    """Number and content of each row; a text where a row is wrong."""
    for number, row in read_rows(path, SPELLINGS):
        yield number, _valid(Keyframes, row, f"{path.name}:{number}")


def read_subjects(path: Path) -> Iterator[tuple[int, Subject | str]]:
    """Number and content of each row; a text where a row is wrong."""
    for number, row in read_rows(path, {name: (name,) for name in ("video_id", "subject")}):
        yield number, _valid(Subject, row, f"{path.name}:{number}")


def _valid(kind: type[Record], row: Row, where: str) -> Record | str:
    try:
        return checked(kind, row, where)
    except DatasetError as error:
        return str(error).removeprefix(f"{where}: ").removesuffix(".")


def read_rows(path: Path, columns: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[int, Row]]:
    """Number and cells of each row that is not empty, of a `.csv` or `.xlsx` table with a head.

    Columns are named in lower case, and those of `columns`, which must be there, by their key.
    """
    content = read_limited(path, MAX_FILE_BYTES, path.name)
    rows = _spreadsheet(path.name, content) if path.suffix == ".xlsx" else _csv(path.name, content)
    head = [str(cell or "").strip().lower() for cell in next(rows, ())]
    known = {spelling: name for name, spellings in columns.items() for spelling in spellings}
    names = [known.get(cell, cell) for cell in head]
    for name, spellings in columns.items():
        if names.count(name) != 1:
            raise DatasetError(
                f"{path.name}: expected one column {' or '.join(spellings)}, found {names.count(name)} among "
                f"{len(head)}."
            )
    for number, cells in enumerate(rows, start=2):
        if number > MAX_ROWS:
            raise DatasetError(f"{path.name}: it has more than {MAX_ROWS} rows, too many for a table of clips.")
        if any(cell not in (None, "") for cell in cells):
            yield number, {name: cell for name, cell in zip(names, cells, strict=False) if name}


def _csv(name: str, content: bytes) -> Iterator[Sequence[Cell]]:
    try:
        yield from csv.reader(io.StringIO(decoded(content, name).removeprefix("\ufeff"), newline=""), strict=True)
    except csv.Error as error:
        raise DatasetError(f"{name}: it cannot be read as CSV ({error}).") from error


def _spreadsheet(name: str, content: bytes) -> Iterator[Sequence[Cell]]:
    """The rows of the first sheet."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise MissingExtra("Keyframes in a spreadsheet", "world") from error
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > MAX_UNPACKED_BYTES:
            raise DatasetError(f"{name}: it unpacks to {unpacked} bytes, too many for a table of clips.")
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        try:
            yield from book.worksheets[0].iter_rows(values_only=True)
        finally:
            book.close()
    except DatasetError:
        raise
    except Exception as error:
        # openpyxl raises whatever the XML inside makes it stumble over.
        raise DatasetError(f"{name}: it cannot be read as a spreadsheet ({type(error).__name__}).") from error
